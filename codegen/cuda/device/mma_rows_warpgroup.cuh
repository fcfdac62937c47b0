//===- mma_rows_warpgroup.cuh - products of row tiles by wgmma (sm_90a) ---------===//
//
// dotWarpgroup does what dot does in mma_rows.cuh, four warps at a time: layout
// MmaRows<4> or MmaRows<8>, one strip of 16 rows per warp. The right operand is a
// SharedTile of a multiple of 64 columns at a multiple of 1024 bytes.
//
//   startDot<Bfloat>(s, q, keys);  startDot<Bfloat>(o, p, values);
//   finishDots<1>(s, q);                   // the first is done, the second under way
//   finishDots<0>(o, p);
//
// Until its finishDots neither sum nor operand of a product may be touched. So
// the scores of the next page are multiplied while this page's are exponentiated.
//
// Which of dot and dotWarpgroup runs is the caller's choice: both chain steps of
// 16 k in ascending order, but whether hardware adds the products of one step in
// the same way in both is not documented. A kernel family that promises the same
// bits for any number of rows uses one of them.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mma_rows.cuh"
#include "wgmma.cuh"

namespace fusec {

/// Starts sum += a * b.
template <class Operand, int M, int N, int K, int WarpsM>
__device__ __forceinline__ void startDot(Tile<float, M, N, MmaRows<WarpsM>> &sum,
                                         RowFragments<M, K, MmaRows<WarpsM>> &a, const SharedTile<K, N> &b) {
  static_assert(WarpsM % 4 == 0 && M == 16 * WarpsM, "a warpgroup multiplies 64 rows");
  static_assert(N % 64 == 0, "b is made of slabs of 64 columns");
  constexpr int width = N % 128 == 0 ? 128 : 64, slabBytes = K * 128;
  const unsigned address = sharedAddress(b.memory);
  settle(sum.r);
#pragma unroll
  for (int t = 0; t < K / 16; ++t)
    settle(a.f[0][t]);
  wgmmaFence();
#pragma unroll
  for (int n = 0; n < N; n += width)
#pragma unroll
    for (int t = 0; t < K / 16; ++t)
      wgmma<Operand, width, Major::N>(sum.r + n / 2, a.f[0][t],
                                      matrixDescriptor(address + n / 64 * slabBytes + t * 2048, slabBytes, 1024, true),
                                      true);
  wgmmaCommit();
}

/// Waits until at most `pending` products are under way; `sum` and `a` belong to the last one that is done.
template <int pending, int M, int N, int K, int WarpsM>
__device__ __forceinline__ void finishDots(Tile<float, M, N, MmaRows<WarpsM>> &sum,
                                           RowFragments<M, K, MmaRows<WarpsM>> &a) {
  wgmmaWait<pending>();
  settle(sum.r);
#pragma unroll
  for (int t = 0; t < K / 16; ++t)
    settle(a.f[0][t]);
}

/// sum += a * b.
template <class Operand, int M, int N, int K, int WarpsM>
__device__ __forceinline__ void dotWarpgroup(Tile<float, M, N, MmaRows<WarpsM>> &sum,
                                             RowFragments<M, K, MmaRows<WarpsM>> a, const SharedTile<K, N> &b) {
  startDot<Operand>(sum, a, b);
  finishDots<0>(sum, a);
}

} // namespace fusec
