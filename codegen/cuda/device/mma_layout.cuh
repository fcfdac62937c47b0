//===- mma_layout.cuh - tiles that lie in mma accumulators -------------------===//
//
// Layouts (tile.cuh) of what mma.cuh leaves in registers. With warp w, lane = 4 g + q:
//
//   MmaLanes<W>: weights were the A operand, so mma's rows are the tile's LANES.
//     Warp w owns lanes [w N/W, (w+1) N/W). Element i = ((p * M/8) + j) * 4 + e:
//       row = 8 j + 2 q + (e & 1)      (token)
//       col = w N/W + 16 p + g + 8 (e >> 1)      (weight row)
//
//   MmaRows<WM>: mma's rows are the tile's ROWS (attention).
//     Warp w owns rows [w M/WM, (w+1) M/WM). Element i = ((s * N/8) + j) * 4 + e:
//       row = w M/WM + 16 s + g + 8 (e >> 1)
//       col = 8 j + 2 q + (e & 1)
//
// A tile of M x 1 holds one value per row the thread touches, 1 x N per column:
// rowSlot and colSlot say which goes with element i. So a layout's full tiles
// have M >= 8 (MmaLanes) or M >= 16 (MmaRows): pad, and mask when storing.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mma.cuh"
#include "tile.cuh"

namespace fusec {

__device__ __forceinline__ int warpIndex() { return static_cast<int>(threadIdx.x) >> 5; }

/// Blocks of 8 in an extent; extents of 1 have none, but their branches are compiled too.
template <int Extent> inline constexpr int eights = Extent < 8 ? 1 : Extent / 8;

template <int Warps> struct MmaLanes {
  static constexpr int threads = 32 * Warps;
  template <int N> static constexpr int panels = N / Warps / 16; ///< mma row blocks per warp.

  template <int M, int N> static constexpr __device__ int count() {
    static_assert(N == 1 || N % (16 * Warps) == 0, "each warp holds whole blocks of 16 lanes");
    static_assert(M == 1 || M % 8 == 0, "rows come in eights: pad");
    if (N == 1)
      return M == 1 ? 1 : M / 4;
    return M == 1 ? 2 * panels<N> : panels<N> * (M / 8) * 4;
  }
  template <int M, int N> static __device__ __forceinline__ int row(int i) {
    if (M == 1)
      return 0;
    int j = N == 1 ? i / 2 : i / 4 % eights<M>, odd = N == 1 ? i % 2 : i & 1;
    return 8 * j + 2 * mmaLane().q + odd;
  }
  template <int M, int N> static __device__ __forceinline__ int col(int i) {
    if (N == 1)
      return 0;
    int p = M == 1 ? i / 2 : i / 4 / eights<M>, upper = M == 1 ? i % 2 : i >> 1 & 1;
    return warpIndex() * (N / Warps) + 16 * p + 8 * upper + mmaLane().g;
  }
  /// Column tiles (M x 1) are repeated in the lanes that differ in g, and in every warp.
  template <int M, int N> static __device__ __forceinline__ bool owns(int) {
    if (N == 1)
      return mmaLane().g == 0 && warpIndex() == 0;
    return M != 1 || mmaLane().q == 0;
  }
  template <int M, int N> static constexpr __device__ int rowSlot(int i) {
    return M == 1 ? 0 : N == 1 ? i : i / 4 % eights<M> * 2 + (i & 1);
  }
  template <int M, int N> static constexpr __device__ int colSlot(int i) {
    return N == 1 ? 0 : M == 1 ? i : i / 4 / eights<M> * 2 + (i >> 1 & 1);
  }
};

template <int WarpsM> struct MmaRows {
  static constexpr int threads = 32 * WarpsM;
  template <int M> static constexpr int strips = M / WarpsM / 16; ///< mma row blocks per warp.

  template <int M, int N> static constexpr __device__ int count() {
    static_assert(M == 1 || M % (16 * WarpsM) == 0, "each warp holds whole blocks of 16 rows: pad");
    static_assert(N == 1 || N % 8 == 0, "lanes come in eights");
    if (M == 1)
      return N == 1 ? 1 : N / 4;
    return N == 1 ? 2 * strips<M> : strips<M> * (N / 8) * 4;
  }
  template <int M, int N> static __device__ __forceinline__ int row(int i) {
    if (M == 1)
      return 0;
    int s = N == 1 ? i / 2 : i / 4 / eights<N>, upper = N == 1 ? i % 2 : i >> 1 & 1;
    return warpIndex() * (M / WarpsM) + 16 * s + 8 * upper + mmaLane().g;
  }
  template <int M, int N> static __device__ __forceinline__ int col(int i) {
    if (N == 1)
      return 0;
    int j = M == 1 ? i / 2 : i / 4 % eights<N>, odd = M == 1 ? i % 2 : i & 1;
    return 8 * j + 2 * mmaLane().q + odd;
  }
  template <int M, int N> static __device__ __forceinline__ bool owns(int) {
    if (N == 1)
      return mmaLane().q == 0;
    return M != 1 || (mmaLane().g == 0 && warpIndex() == 0);
  }
  template <int M, int N> static constexpr __device__ int rowSlot(int i) {
    return M == 1 ? 0 : N == 1 ? i : i / 4 / eights<N> * 2 + (i >> 1 & 1);
  }
  template <int M, int N> static constexpr __device__ int colSlot(int i) {
    return N == 1 ? 0 : M == 1 ? i : i / 4 % eights<N> * 2 + (i & 1);
  }
};

} // namespace fusec
