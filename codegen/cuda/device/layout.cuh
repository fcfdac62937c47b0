//===- layout.cuh - which thread holds which element of a tile -------------===//
//
// A layout is a type with static members that, for a tile of M x N and the
// calling thread's register i, fold to constants once loops are unrolled:
//
//   threads              threads that share the tile
//   count<M, N>()        registers per thread
//   row<M, N>(i), col<M, N>(i)   the element's coordinates
//   owns<M, N>(i)        false for a further copy of an element, which is never stored
//   rowSlot<M, N>(i)     register of a Tile<T, M, 1> that goes with register i
//   colSlot<M, N>(i)     register of a Tile<T, 1, N> that goes with register i
//
// Every register holds an element of the tile, if only a copy of another one:
// code on registers needs no masks.
//
//===----------------------------------------------------------------------===//
#pragma once

namespace fusec {

/// Lane l lives on thread l % P, in register l / P of its row; each row has its own registers. With fewer lanes than
/// threads, thread t holds a copy of lane t % N: row values (N = 1) are known to all threads.
template <int P> struct Lanes {
  static constexpr int threads = P;

  template <int N> static constexpr __device__ int perRow() { return (N + P - 1) / P; }
  template <int M, int N> static constexpr __device__ int count() { return M * perRow<N>(); }

  template <int M, int N> static __device__ int row(int i) { return i / perRow<N>(); }
  template <int M, int N> static __device__ int col(int i) { return colOf<N>(i % perRow<N>()); }
  template <int M, int N> static __device__ bool owns(int i) { return ownsCol<N>(i % perRow<N>()); }
  template <int M, int N> static constexpr __device__ int rowSlot(int i) { return i / perRow<N>(); }
  template <int M, int N> static constexpr __device__ int colSlot(int i) { return i % perRow<N>(); }

  /// The lane in a row's register j.
  template <int N> static __device__ int colOf(int j) {
    const int thread = static_cast<int>(threadIdx.x);
    if constexpr (N == 1)
      return 0;
    else if constexpr (N == P)
      return thread;
    else if constexpr (N < P)
      return thread % N;
    else if constexpr (N % P == 0)
      return j * P + thread;
    else
      return j * P + thread < N ? j * P + thread : N - 1;
  }
  template <int N> static __device__ bool ownsCol(int j) {
    const int thread = static_cast<int>(threadIdx.x);
    if constexpr (N % P == 0)
      return true;
    else
      return j * P + thread < N;
  }
};

/// Waits for the threads that share tiles of layout L; what they wrote to memory is visible afterwards.
template <class L> __device__ void barrier() {
  if constexpr (L::threads == 32)
    __syncwarp();
  else
    __syncthreads();
}

/// Shared memory through which threads pass values. Two halves in turn: whoever writes one has passed the barrier that
/// ends the reads of its last use, so that one barrier per use is enough.
template <int bytes> struct Exchange {
  unsigned char *memory;
  int half = 0;

  __device__ explicit Exchange(unsigned char *memory) : memory(memory) {}
  /// Room for `need` bytes, until the next but one call.
  template <class T, int need> __device__ T *next() {
    static_assert(2 * need <= bytes, "the exchange area is too small");
    half ^= 1;
    return reinterpret_cast<T *>(memory + half * (bytes / 2));
  }
};

} // namespace fusec
