//===- HostWarpgroup.cpp - wgmma, warp by warp, when it is waited for -------------===//
//
// Each warp of a group has 16 rows of the product and needs nothing of the others
// but the shared operand, so warps are taken one by one. From its start to its
// wait a product's sums hold NaN, and operands are read at the wait: what touches
// them too early has another result or is an uninitialised read.
//
//===----------------------------------------------------------------------===//
#include "test/hostcuda/runtime/HostBlock.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace hostcuda {

namespace {

/// The 16 bytes at which unit `unit` of 8 elements begins: k 8u .. of a column, or columns 8u .. of a k. Offsets as in
/// wgmma.cuh; the swizzle exchanges the 16-byte units of 128 bytes by the number of those 128 bytes, mod 8.
unsigned addressOf(unsigned long long descriptor, bool isColumnMajor, int k, int column) {
  const auto field = [&](int bit) { return static_cast<unsigned>(descriptor >> bit & 0x3fff) << 4; };
  const unsigned start = field(0), leading = field(16), stride = field(32);
  const auto part = [](int value, int by) { return static_cast<unsigned>(value / by); };
  const unsigned at = isColumnMajor ? part(column, 64) * leading + part(k, 8) * stride + part(k % 8, 1) * 128 +
                                          part(column % 64, 8) * 16
                                    : part(k, 8) * leading + part(column, 8) * stride + part(column % 8, 1) * 16;
  const unsigned address = start + at;
  return descriptor >> 62 & 1 ? address ^ (address >> 3 & 0x70) : address;
}

/// b[k][column] as floats.
std::vector<float> operandOf(const WarpgroupProduct &product, const void *code) {
  const int columns = product.columns;
  std::vector<float> b(static_cast<size_t>(16 * columns));
  const int kStep = product.isColumnMajor ? 1 : 8, columnStep = product.isColumnMajor ? 8 : 1;
  for (int k = 0; k < 16; k += kStep)
    for (int column = 0; column < columns; column += columnStep) {
      const unsigned char *unit = sharedBytes(addressOf(product.b, product.isColumnMajor, k, column), 16, 16, "wgmma");
      checkRead(unit, 16, code);
      for (int i = 0; i < 8; ++i) {
        uint16_t bits;
        std::memcpy(&bits, unit + 2 * i, 2);
        const int at = product.isColumnMajor ? k * columns + column + i : (k + i) * columns + column;
        b[static_cast<size_t>(at)] = valueOf(bits, 0, product.type);
      }
    }
  return b;
}

/// The product of the warp's 16 rows; the sums of one d that several products share go on to the next of them.
void finish(WarpProducts &warp, PendingProduct &product) {
  const WarpgroupProduct &first = product.of[0];
  const std::vector<float> b = operandOf(first, product.code);
  float a[16][16];
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i)
      for (int upper = 0; upper < 2; ++upper)
        a[lane / 4 + i % 2 * 8][lane % 4 * 2 + i / 2 * 8 + upper] = valueOf(product.a[lane][i], upper, first.type);
  const int perLane = first.columns / 2;
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < perLane; ++i) {
      const int row = lane / 4 + i % 4 / 2 * 8, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
      float &sum = product.sums[static_cast<size_t>(lane * perLane + i)];
      if (!first.keep)
        sum = 0;
      for (int k = 0; k < 16; ++k)
        sum += a[row][k] * b[static_cast<size_t>(k * first.columns + column)];
    }
  for (PendingProduct &later : warp.pending)
    if (&later > &product && later.of[0].d == first.d) {
      later.sums = product.sums;
      return;
    }
  for (int lane = 0; lane < 32; ++lane)
    std::copy_n(&product.sums[static_cast<size_t>(lane * perLane)], perLane, product.of[lane].d);
}

struct Start {
  WarpgroupProduct product;
  const void *code;
};

void startTogether(void *const (&operands)[32], unsigned) {
  WarpProducts &warp = block.products[block.thread->index / 32];
  PendingProduct pending;
  pending.group = warp.openGroup;
  pending.code = static_cast<Start *>(operands[0])->code;
  for (int lane = 0; lane < 32; ++lane) {
    pending.of[lane] = static_cast<Start *>(operands[lane])->product;
    std::copy_n(pending.of[lane].a, 4, pending.a[lane]);
  }
  const WarpgroupProduct &first = pending.of[0];
  const bool isInFlight = std::any_of(warp.pending.begin(), warp.pending.end(),
                                      [&](const PendingProduct &other) { return other.of[0].d == first.d; });
  for (int lane = 0; lane < 32 && !isInFlight; ++lane) {
    float *const d = pending.of[lane].d;
    pending.sums.insert(pending.sums.end(), d, d + first.columns / 2);
    std::fill_n(d, first.columns / 2, std::numeric_limits<float>::quiet_NaN());
  }
  warp.pending.push_back(std::move(pending));
}

void commitTogether(void *const (&)[32], unsigned) { ++block.products[block.thread->index / 32].openGroup; }

void waitTogether(void *const (&operands)[32], unsigned) {
  WarpProducts &warp = block.products[block.thread->index / 32];
  const int end = warp.openGroup - *static_cast<int *>(operands[0]);
  size_t done = 0;
  for (; done < warp.pending.size() && warp.pending[done].group < end; ++done)
    finish(warp, warp.pending[done]);
  warp.pending.erase(warp.pending.begin(), warp.pending.begin() + static_cast<std::ptrdiff_t>(done));
}

} // namespace

void startProduct(WarpgroupProduct product) {
  Start start{product, __builtin_return_address(0)};
  meetWarp(&startTogether, ~0u, &start);
}

void commitProducts() { meetWarp(&commitTogether, ~0u, nullptr); }

void waitForProducts(int pending) { meetWarp(&waitTogether, ~0u, &pending); }

} // namespace hostcuda
