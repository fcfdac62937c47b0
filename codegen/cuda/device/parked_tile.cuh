//===- parked_tile.cuh - a tile that waits in shared memory --------------------===//
//
// Accumulators that a loop carries but rarely touches need not take registers. A
// parked tile is an operand of map() like any other; every thread reads and
// writes its own elements only, so no barrier is needed.
//
//   Parked<float, 64, 256, Rows> all(shared);     // Parked<...>::bytes
//   all = splat<float, 64, 256, Rows>(0.0f);
//   all = map<64, 256, Rows>([](float a, float b) { return a + b; }, all, part);
//
// Element i of thread t lies at i * threads + t: no two threads meet a bank.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tile.cuh"

namespace fusec {

template <class T, int M, int N, class L> struct Parked {
  struct Elements {
    T *own;
    __device__ __forceinline__ T &operator[](int i) const { return own[i * L::threads]; }
  };
  static constexpr int count = L::template count<M, N>();
  static constexpr int bytes = count * L::threads * static_cast<int>(sizeof(T));

  Elements r;

  __device__ explicit Parked(unsigned char *memory) : r{reinterpret_cast<T *>(memory) + threadIdx.x} {}
  __device__ __forceinline__ void operator=(const Tile<T, M, N, L> &tile) {
#pragma unroll
    for (int i = 0; i < count; ++i)
      r[i] = tile.r[i];
  }
};

template <int M, int N, class T, class L>
__device__ __forceinline__ const T &element(const Parked<T, M, N, L> &tile, int i) {
  return tile.r[i];
}

} // namespace fusec
