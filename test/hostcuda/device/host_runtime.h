//===- host_runtime.h - what runtime/*.cpp gives to kernels ---------------------===//
//
// Behind CUDA's names (cuda_environment.h) and the library's headers of
// instructions (ptx_*.cuh, cp_async.cuh, ldmatrix.cuh).
//
//===----------------------------------------------------------------------===//
#pragma once

namespace hostcuda {

struct Index3 {
  unsigned x, y, z;
};

// The same for a thread as long as it lives.
__attribute__((const)) Index3 threadIndex();
__attribute__((const)) Index3 blockIndex();
__attribute__((const)) Index3 blockSize();
__attribute__((const)) Index3 gridSize();

/// What lanes do together: gets the operand of every lane of the mask.
using WarpFunction = void (*)(void *const (&operands)[32], unsigned mask);
/// Waits until all lanes of `mask` have come with the same function; the last to come calls it.
void meetWarp(WarpFunction function, unsigned mask, void *operand);
void meetBlock();

/// Nothing: lanes only wait for each other.
void onlyMeet(void *const (&operands)[32], unsigned mask);
struct Shuffle {
  unsigned long long bits;
  int from; ///< The lane whose bits to take.
};
void shuffle(void *const (&operands)[32], unsigned mask);
__attribute__((const)) int laneOfThread();

/// The value that lane `from` of the warp has; its own where there is no such lane.
template <class T> T valueOfLane(unsigned mask, T value, int from) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "shuffles move 32 or 64 bits");
  Shuffle mine{0, from >= 0 && from < 32 ? from : laneOfThread()};
  __builtin_memcpy(&mine.bits, &value, sizeof value);
  meetWarp(&shuffle, mask, &mine);
  __builtin_memcpy(&value, &mine.bits, sizeof value);
  return value;
}

// The instructions behind the library's ptx_*.cuh, cp_async.cuh and ldmatrix.cuh.
unsigned sharedAddress(const void *p);
void copyAsync(unsigned shared, const void *global);
void commitAsync();
void waitAsync(int pending);
void loadMatrices(unsigned (&r)[4], unsigned rowAddress, bool isTransposed);
unsigned transposeMatrix(unsigned pair);
enum class Operands { Bfloats, Halves };
void multiply(float *c, const unsigned (&a)[4], const unsigned (&b)[2], Operands type);

// sm_90. Barriers are known by their address; copies to one are done when somebody waits for it.
void initBarrier(unsigned address, int arrivals);
void arrive(unsigned address, int announcedBytes);
void waitForPhase(unsigned address, int parity);
void copyBulk(unsigned shared, const void *global, int bytes, unsigned barrier);

/// A warp's rows of a wgmma: d[16 x columns] = a[16 x 16] b[16 x columns] + (keep ? d : 0), done at the wait.
struct WarpgroupProduct {
  float *d;
  const unsigned *a;
  unsigned long long b; ///< A matrix descriptor.
  int columns;
  bool isColumnMajor; ///< The columns of b lie side by side ("N-major").
  bool keep;
  Operands type;
};
void startProduct(WarpgroupProduct product);
void commitProducts();
void waitForProducts(int pending);

__attribute__((const)) unsigned short halfFromFloat(float value);
__attribute__((const)) float floatFromHalf(unsigned short bits);
__attribute__((const)) unsigned short bfloatFromFloat(float value);

template <class Index, Index...> struct Indices {};
// Reads the launch's memory, not the kernel's.
template <class... P, int... i>
__attribute__((no_sanitize("thread"))) void call(void (*kernel)(P *...), const unsigned long long *parameters,
                                                 Indices<int, i...>) {
  kernel(reinterpret_cast<P *>(parameters[i])...);
}
/// Calls a kernel, whose parameters are pointers.
template <class... P> void invoke(void (*kernel)(P *...), const unsigned long long *parameters) {
  call(kernel, parameters, __make_integer_seq<Indices, int, sizeof...(P)>{});
}

} // namespace hostcuda
