//===- dot.cuh - products of tiles on the SIMT units -----------------------===//
//
// sum[m, n] += lhs[m, k] * rhs[k, n], one fused multiply-add per k, k ascending:
// the same bits whatever the tile's shape. Operands are read as the sum
// advances; they never exist as a whole.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "flat_layout.cuh"
#include "tile.cuh"

namespace fusec {

/// A K x N tile in registers as a right operand: each thread has its lanes of all rows.
template <class T, int K, int N, int P> struct RegisterRows {
  const Tile<T, K, N, Lanes<P>> &tile;
  __device__ T at(int k, int j) const { return tile.r[k * Lanes<P>::template perRow<N>() + j]; }
};
template <class T, int K, int N, int P>
__device__ RegisterRows<T, K, N, P> rowsOf(const Tile<T, K, N, Lanes<P>> &tile) {
  return {tile};
}

/// An M x K tile as a left operand that every thread can read, in shared memory.
template <class T, int K> struct SharedRows {
  const T *shared;
  __device__ T operator()(int m, int k) const { return shared[m * K + k]; }
};
template <class Exchange, class T, int M, int K, int P>
__device__ SharedRows<T, K> spread(Exchange &exchange, const Tile<T, M, K, Lanes<P>> &tile) {
  T *const shared = exchange.template next<T, M * K *static_cast<int>(sizeof(T))>();
  store(tile, [=](int m, int k, T value) { shared[m * K + k] = value; });
  barrier<Lanes<P>>();
  return {shared};
}

template <int N, class L, class F> __device__ auto rhsElement(const F &f, int k, int j) {
  return f(k, L::template colOf<N>(j));
}
template <int N, class L, class T, int K, int P>
__device__ T rhsElement(const RegisterRows<T, K, N, P> &rows, int k, int j) {
  return rows.at(k, j);
}

/// sum += lhs * rhs over K. `lhs(m, k)` is the same for all threads; `rhs` is a function (k, n) or rowsOf(a tile).
template <int K, class T, int M, int N, int P, class Lhs, class Rhs>
__device__ void dot(Tile<T, M, N, Lanes<P>> &sum, const Lhs &lhs, const Rhs &rhs) {
  constexpr int perRow = Lanes<P>::template perRow<N>();
#pragma unroll(K <= 64 ? K : 16)
  for (int k = 0; k < K; ++k)
#pragma unroll
    for (int j = 0; j < perRow; ++j) {
      const T right = rhsElement<N, Lanes<P>>(rhs, k, j);
#pragma unroll
      for (int m = 0; m < M; ++m)
        sum.r[m * perRow + j] = fused(static_cast<T>(lhs(m, k)), right, sum.r[m * perRow + j]);
    }
}

/// The sum over all k below K, in slices of Slice that the warps of the block share out: a slice's products are added
/// in ascending k, the slices' sums in ascending order, as a loop of dots over slices does.
///   lhs(m, k)        the same for all threads of a warp
///   rhs(k, i, n)     the element at k + i, where Step divides k and 0 <= i < Step
///   scratch          Warps * M * N floats of shared memory, free again after a barrier
template <int M, int N, int K, int Slice, int Step, int Warps, class Lhs, class Rhs>
__device__ Tile<float, M, N, Flat<32 * Warps>> spreadDots(const Lhs &lhs, const Rhs &rhs, void *scratch) {
  static_assert(K % Step == 0 && Slice % Step == 0, "slices are whole steps");
  using L = Flat<32 * Warps>;
  constexpr int slices = (K + Slice - 1) / Slice, perRow = (N + 31) / 32;
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  float *const parts = static_cast<float *>(scratch);
  Tile<float, M, N, L> total{};
#pragma unroll 1
  for (int round = 0; round < slices; round += Warps) {
    const int first = (round + warp) * Slice, end = first + Slice < K ? first + Slice : K;
    float sum[M * perRow] = {};
#pragma unroll 1
    for (int k = first; k < end; k += Step)
#pragma unroll
      for (int i = 0; i < Step; ++i)
#pragma unroll
        for (int j = 0; j < perRow; ++j) {
          const float right = rhs(k, i, j * 32 + lane < N ? j * 32 + lane : N - 1);
#pragma unroll
          for (int m = 0; m < M; ++m)
            sum[m * perRow + j] = fused(lhs(m, k + i), right, sum[m * perRow + j]);
        }
#pragma unroll
    for (int i = 0; i < M * perRow; ++i)
      if (i % perRow * 32 + lane < N)
        parts[(warp * M + i / perRow) * N + i % perRow * 32 + lane] = sum[i];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < total.count; ++i)
      for (int s = 0; s < Warps && round + s < slices; ++s)
        total.r[i] += parts[(s * M + L::template row<M, N>(i)) * N + L::template col<M, N>(i)];
    if (round + Warps < slices)
      __syncthreads();
  }
  return total;
}

} // namespace fusec
