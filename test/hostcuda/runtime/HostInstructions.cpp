//===- HostInstructions.cpp - what PTX instructions do, after the PTX ISA ---------===//
//
// Copies of cp.async happen at the wait: until then their destination holds NaN
// and counts as unwritten, so that a wait for too few groups is found.
//
//===----------------------------------------------------------------------===//
#include "test/hostcuda/runtime/HostBlock.h"

#include "runtime/base/Float16.h"

#include <cstring>

namespace hostcuda {

//===----------------------------------------------------------------------===//
// Lanes
//===----------------------------------------------------------------------===//

void onlyMeet(void *const (&)[32], unsigned) {}

void shuffle(void *const (&operands)[32], unsigned mask) {
  unsigned long long bits[32] = {};
  for (int lane = 0; lane < 32; ++lane)
    if (mask >> lane & 1)
      bits[lane] = static_cast<Shuffle *>(operands[lane])->bits;
  for (int lane = 0; lane < 32; ++lane)
    if (mask >> lane & 1)
      if (auto *own = static_cast<Shuffle *>(operands[lane]); mask >> own->from & 1)
        own->bits = bits[own->from];
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

unsigned short halfFromFloat(float value) { return fusec::floatToHalf(value); }
float floatFromHalf(unsigned short bits) { return fusec::halfToFloat(bits); }
unsigned short bfloatFromFloat(float value) { return fusec::floatToBfloat(value); }

//===----------------------------------------------------------------------===//
// Matrices
//===----------------------------------------------------------------------===//

float valueOf(unsigned pair, int upper, Operands type) {
  const auto bits = static_cast<uint16_t>(pair >> 16 * upper);
  return type == Operands::Bfloats ? fusec::bfloatToFloat(bits) : fusec::halfToFloat(bits);
}

namespace {

struct Product {
  float *c;
  const unsigned *a, *b;
};

/// mma.m16n8k16 with f32 sums; one product after the other, k ascending.
template <Operands type> void multiplyTogether(void *const (&operands)[32], unsigned) {
  float a[16][16], b[16][8];
  for (int lane = 0; lane < 32; ++lane) {
    const auto &own = *static_cast<Product *>(operands[lane]);
    const int g = lane / 4, q = lane % 4;
    for (int upper = 0; upper < 2; ++upper) {
      for (int i = 0; i < 4; ++i)
        a[g + i % 2 * 8][2 * q + i / 2 * 8 + upper] = valueOf(own.a[i], upper, type);
      for (int i = 0; i < 2; ++i)
        b[2 * q + i * 8 + upper][g] = valueOf(own.b[i], upper, type);
    }
  }
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i) {
      const int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
      float &sum = static_cast<Product *>(operands[lane])->c[i];
      for (int k = 0; k < 16; ++k)
        sum += a[row][k] * b[k][column];
    }
}

/// movmatrix.m8n8.trans.
void transposeTogether(void *const (&operands)[32], unsigned) {
  uint16_t matrix[8][8];
  for (int lane = 0; lane < 32; ++lane)
    for (int upper = 0; upper < 2; ++upper)
      matrix[lane / 4][lane % 4 * 2 + upper] =
          static_cast<uint16_t>(*static_cast<unsigned *>(operands[lane]) >> 16 * upper);
  for (int lane = 0; lane < 32; ++lane)
    *static_cast<unsigned *>(operands[lane]) =
        matrix[lane % 4 * 2][lane / 4] | static_cast<unsigned>(matrix[lane % 4 * 2 + 1][lane / 4]) << 16;
}

struct MatrixLoad {
  unsigned *r;
  const unsigned char *row; ///< Of matrix lane / 8, row lane % 8.
  bool isTransposed;
};

/// ldmatrix.m8n8.x4.
void loadTogether(void *const (&operands)[32], unsigned) {
  uint16_t matrix[4][8][8];
  for (int lane = 0; lane < 32; ++lane)
    std::memcpy(matrix[lane / 8][lane % 8], static_cast<MatrixLoad *>(operands[lane])->row, 16);
  for (int lane = 0; lane < 32; ++lane) {
    const auto &own = *static_cast<MatrixLoad *>(operands[lane]);
    const int g = lane / 4, q = lane % 4;
    for (int m = 0; m < 4; ++m)
      own.r[m] = own.isTransposed ? matrix[m][2 * q][g] | static_cast<unsigned>(matrix[m][2 * q + 1][g]) << 16
                                  : matrix[m][g][2 * q] | static_cast<unsigned>(matrix[m][g][2 * q + 1]) << 16;
  }
}

} // namespace

void multiply(float *c, const unsigned (&a)[4], const unsigned (&b)[2], Operands type) {
  Product own{c, a, b};
  meetWarp(type == Operands::Bfloats ? &multiplyTogether<Operands::Bfloats> : &multiplyTogether<Operands::Halves>, ~0u,
           &own);
}

unsigned transposeMatrix(unsigned pair) {
  meetWarp(&transposeTogether, ~0u, &pair);
  return pair;
}

void loadMatrices(unsigned (&r)[4], unsigned rowAddress, bool isTransposed) {
  const unsigned char *const row = sharedBytes(rowAddress, 16, 16, "ldmatrix");
  checkRead(row, 16, __builtin_return_address(0));
  MatrixLoad own{r, row, isTransposed};
  meetWarp(&loadTogether, ~0u, &own);
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

unsigned sharedAddress(const void *p) {
  const auto offset = static_cast<const unsigned char *>(p) - shared;
  if (offset < 0 || offset > static_cast<std::ptrdiff_t>(block.launch->sharedBytes))
    fault("the address of something that is not in shared memory", __builtin_return_address(0));
  return static_cast<unsigned>(offset);
}

unsigned char *sharedBytes(unsigned address, size_t bytes, size_t alignment, const char *instruction) {
  if (address % alignment != 0)
    fault(std::string("misaligned access: ") + instruction + " at " + std::to_string(address) + " of shared memory");
  if (address + bytes > block.launch->sharedBytes)
    fault(std::string("access out of bounds: ") + instruction + " of " + std::to_string(bytes) + " bytes, " +
          std::to_string(address) + " bytes into shared memory of " + std::to_string(block.launch->sharedBytes) +
          " bytes");
  return shared + address;
}

void copyAsync(unsigned address, const void *global) {
  unsigned char *const to = sharedBytes(address, 16, 16, "cp.async");
  if (reinterpret_cast<uintptr_t>(global) % 16 != 0)
    fault("misaligned access: cp.async from an address that is no multiple of 16", __builtin_return_address(0));
  if (global)
    checkRead(global, 16, __builtin_return_address(0));
  poisonShared(to, 16);
  block.thread->copies.push_back({to, global, block.thread->openGroup});
}

void commitAsync() { ++block.thread->openGroup; }

void finishCopies(Thread &thread, int pending) {
  size_t done = 0;
  for (; done < thread.copies.size() && thread.copies[done].group < thread.openGroup - pending; ++done) {
    const PendingCopy &copy = thread.copies[done];
    if (copy.global)
      std::memcpy(copy.shared, copy.global, 16);
    else
      std::memset(copy.shared, 0, 16);
    markWritten(copy.shared, 16);
  }
  thread.copies.erase(thread.copies.begin(), thread.copies.begin() + static_cast<std::ptrdiff_t>(done));
}

void waitAsync(int pending) { finishCopies(*block.thread, pending); }

} // namespace hostcuda
