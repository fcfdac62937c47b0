//===- WarpgroupProducts.cpp - wgmma in flight -------------------------------===//

#include "runtime/device/virtual/sm90/WarpgroupProducts.h"
#include "runtime/device/virtual/exec/Block.h"
#include "runtime/device/virtual/ops/FloatFormats.h"

#include <cstring>
#include <limits>

namespace fusec::virtualgpu {

constexpr uint32_t rows = 16, depth = 16; ///< Of one warp's part and of one instruction.

MatrixDescriptor MatrixDescriptor::parse(uint64_t bits) {
  constexpr uint32_t rowBytes[] = {16, 128, 64, 32};
  auto field = [bits](int from) { return static_cast<uint32_t>(bits >> from & 0x3fff) << 4; };
  return {field(0), field(16), field(32), rowBytes[bits >> 62 & 3]};
}

/// The canonical layouts: blocks of 8 rows of `rowBytes`, in which 16-byte units are exchanged by the row's number.
/// K-major: a row is a column n of the matrix, and 8 of them repeat at `stride`; units of 8 k lie in the row, without
/// swizzle at `leading`. N-major: a row is a k, 8 repeat at `stride`; units of 8 n lie in the row, what does not fit in
/// it at `leading`. Without swizzle these two change places.
uint32_t MatrixDescriptor::offset(uint32_t k, uint32_t n, bool kMajor) const {
  const uint32_t row = kMajor ? n : k, along = (kMajor ? k : n) * 2;
  const uint32_t beyond = along / rowBytes, inRow = along % rowBytes;
  const bool exchanged = rowBytes == 16 && !kMajor;
  const uint32_t byte = start + row / 8 * (exchanged ? leading : stride) + beyond * (exchanged ? stride : leading) +
                        row % 8 * rowBytes + inRow;
  const uint32_t swizzled = rowBytes / 16 - 1; // Bits of the unit that are exchanged.
  return byte ^ ((byte >> 7 & swizzled) << 4);
}

void WarpgroupProducts::reset(uint32_t count) {
  warps.resize(count);
  for (State &state : warps)
    state = {};
}

void WarpgroupProducts::issue(Warp &warp, Product product) {
  State &state = warps[warp.index];
  product.group = state.committed;
  const AsyncPolicy policy = warp.block.grid.settings.asyncPolicy;
  const uint32_t *slots = warp.program.lists.data() + product.list;
  const uint32_t registers = product.columns / 2;
  bool chained = false, allComputed = true;
  for (const Product &earlier : state.products) {
    chained |= !earlier.computed && warp.program.lists[earlier.list] == slots[0];
    allComputed &= earlier.computed;
  }
  if (!chained) {
    product.sums.resize(registers * warpLanes);
    for (uint32_t i = 0; i < registers; ++i)
      std::memcpy(&product.sums[i * warpLanes], warp.lanes<float>(slots[i]), sizeof(float) * warpLanes);
  }
  if (policy == AsyncPolicy::AtIssue ||
      (policy == AsyncPolicy::Random && allComputed && warp.block.random.below(2) == 0)) {
    product.computed = true;
    compute(warp, product);
  }
  for (uint32_t i = 0; i < registers && !product.computed; ++i)
    std::fill_n(warp.lanes<float>(slots[i]), warpLanes, std::numeric_limits<float>::quiet_NaN());
  state.products.push_back(std::move(product));
}

void WarpgroupProducts::commit(Warp &warp) { ++warps[warp.index].committed; }

void WarpgroupProducts::wait(Warp &warp, uint32_t pending) {
  State &state = warps[warp.index];
  size_t done = 0;
  while (done < state.products.size() && state.products[done].group + pending < state.committed) {
    const Product &product = state.products[done++];
    if (!checkOperands(warp, product))
      return;
    if (!product.computed)
      compute(warp, product);
  }
  state.products.erase(state.products.begin(), state.products.begin() + static_cast<ptrdiff_t>(done));
}

/// Operands are charged when the product is waited for, whenever it was computed: by then nobody may have
/// written them unordered.
bool WarpgroupProducts::checkOperands(Warp &warp, const Product &p) {
  BlockChecker *checker = warp.block.checker.get();
  if (!checker)
    return true;
  const uint64_t size = warp.block.shared.size();
  auto charge = [&](const MatrixDescriptor &matrix, uint32_t first, uint32_t count, bool kMajor) {
    for (uint32_t k = 0; k < depth; k += kMajor ? 8 : 1)
      for (uint32_t n = first; n < first + count; n += kMajor ? 1 : 8) {
        const uint32_t at = matrix.offset(k, n, kMajor) & ~15u;
        if (at + 16 <= size && !checker->asyncRead(warp, at))
          return false;
      }
    return true;
  };
  return charge(p.b, 0, p.columns, p.bKMajor) &&
         (p.aInRegisters || charge(p.a, warp.index % 4 * rows, rows, p.aKMajor));
}

static float element(uint16_t bits, bool isHalf) { return isHalf ? toFloat(Half{bits}) : toFloat(Brain{bits}); }

/// False with a fault when a descriptor leads out of shared memory.
static bool sharedElement(Warp &warp, uint32_t at, bool isHalf, const char *which, float &value) {
  if (at + 2 > warp.block.shared.size()) {
    warp.fault(FaultKind::OutOfBounds,
               std::string("the descriptor of wgmma's ") + which + " leads past the end of the block's shared memory",
               -1, at);
    return false;
  }
  uint16_t bits;
  std::memcpy(&bits, warp.block.shared.data() + at, 2);
  value = element(bits, isHalf);
  return true;
}

void WarpgroupProducts::compute(Warp &warp, const Product &p) {
  float a[rows][depth];
  std::vector<float> b(depth * p.columns), sums(rows * p.columns);
  const uint32_t *slots = warp.program.lists.data() + p.list, registers = p.columns / 2;
  for (uint32_t k = 0; k < depth; ++k)
    for (uint32_t n = 0; n < p.columns; ++n)
      if (!sharedElement(warp, p.b.offset(k, n, p.bKMajor), p.isHalf, "B", b[k * p.columns + n]))
        return;
  for (uint32_t row = 0; row < rows; ++row)
    for (uint32_t k = 0; k < depth; ++k) {
      const uint32_t lane = row % 8 * 4 + k % 8 / 2, reg = row / 8 + k / 8 * 2;
      if (p.aInRegisters)
        a[row][k] = element(static_cast<uint16_t>(warp.lanes<uint32_t>(slots[registers + reg])[lane] >> 16 * (k % 2)),
                            p.isHalf);
      else if (!sharedElement(warp, p.a.offset(k, warp.index % 4 * rows + row, p.aKMajor), p.isHalf, "A", a[row][k]))
        return;
    }
  auto place = [&](uint32_t i, uint32_t lane) {
    return (lane / 4 + 8 * (i / 2 % 2)) * p.columns + i / 4 * 8 + lane % 4 * 2 + i % 2;
  };
  for (uint32_t i = 0; i < registers; ++i)
    for (uint32_t lane = 0; lane < warpLanes; ++lane)
      sums[place(i, lane)] = !p.keeps         ? 0.0f
                             : p.sums.empty() ? warp.lanes<float>(slots[i])[lane]
                                              : p.sums[i * warpLanes + lane];
  const float sign = p.negatesA == p.negatesB ? 1.0f : -1.0f;
  for (uint32_t row = 0; row < rows; ++row)
    for (uint32_t k = 0; k < depth; ++k)
      for (uint32_t n = 0; n < p.columns; ++n)
        sums[row * p.columns + n] = __builtin_fmaf(sign * a[row][k], b[k * p.columns + n], sums[row * p.columns + n]);
  for (uint32_t i = 0; i < registers; ++i)
    for (uint32_t lane = 0; lane < warpLanes; ++lane)
      warp.lanes<float>(slots[i])[lane] = sums[place(i, lane)];
}

} // namespace fusec::virtualgpu
