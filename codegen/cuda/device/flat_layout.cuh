//===- flat_layout.cuh - elements dealt out to threads in row-major order -----===//
//
// For elementwise work after a fold in shared memory: element e = i * P + t of
// the row-major M x N tile is register i of thread t. Past the end, copies of
// the last element. Row and column values (M x 1, 1 x N) are tiles of their own
// here, not operands of a larger one: rowSlot and colSlot exist for M or N = 1 only.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "layout.cuh"

namespace fusec {

template <int P> struct Flat {
  static constexpr int threads = P;

  template <int M, int N> static constexpr __device__ int count() { return (M * N + P - 1) / P; }
  template <int M, int N> static __device__ int row(int i) { return at<M, N>(i) / N; }
  template <int M, int N> static __device__ int col(int i) { return at<M, N>(i) % N; }
  template <int M, int N> static __device__ bool owns(int i) {
    return M * N % P == 0 || i * P + static_cast<int>(threadIdx.x) < M * N;
  }

private:
  template <int M, int N> static __device__ int at(int i) {
    const int e = i * P + static_cast<int>(threadIdx.x);
    return M * N % P == 0 || e < M * N ? e : M * N - 1;
  }
};

} // namespace fusec
