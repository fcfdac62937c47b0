//===- tile.cuh - tiles in registers and what kernels do with them ---------===//
//
// The library that emitted kernels are written in. A value is a Tile: M rows of
// N lanes spread over the registers of the block's threads as its layout says.
//
//   using L = Lanes<64>;                                       // 64 threads, a lane each
//   const auto x = load<float, 1, 64, L>([=](int, int col) { return input[col]; });
//   const auto y = map<1, 64, L>([=](float x) { return x * scale; }, x);
//   store(y, [=](int, int col, float y) { output[col] = y; });
//
// Layouts: layout.cuh. Sums over lanes: reduce.cuh. Products: dot.cuh. Memory:
// panel.cuh (packed weights), paged.cuh (caches).
//
// Compile with --fmad=false: a contraction happens only where fused() is written.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "layout.cuh"
#include "scalar.cuh"

namespace fusec {

template <class T, int M, int N, class L> struct Tile {
  using Scalar = T;
  using Layout = L;
  static constexpr int rows = M, lanes = N;
  static constexpr int count = L::template count<M, N>();
  T r[count];
};

/// Register of `tile` that goes with register i of an M x N tile: rows and lanes of extent 1 are spread.
template <int M, int N, class T, int m, int n, class L>
__device__ const T &element(const Tile<T, m, n, L> &tile, int i) {
  static_assert((m == M || m == 1) && (n == N || n == 1), "a tile has the result's extents, or 1");
  if constexpr (m == M && n == N)
    return tile.r[i];
  else if constexpr (m == 1 && n == 1)
    return tile.r[0];
  else if constexpr (n == 1)
    return tile.r[L::template rowSlot<M, N>(i)];
  else
    return tile.r[L::template colSlot<M, N>(i)];
}

/// result[row, col] = f(row, col, tiles[row, col]...).
template <int M, int N, class L, class F, class... Tiles> __device__ auto mapAt(F f, const Tiles &...tiles) {
  using T = decltype(f(0, 0, tiles.r[0]...));
  Tile<T, M, N, L> result;
#pragma unroll
  for (int i = 0; i < result.count; ++i)
    result.r[i] = f(L::template row<M, N>(i), L::template col<M, N>(i), element<M, N>(tiles, i)...);
  return result;
}

/// result[row, col] = f(tiles[row, col]...).
template <int M, int N, class L, class F, class... Tiles> __device__ auto map(F f, const Tiles &...tiles) {
  using T = decltype(f(tiles.r[0]...));
  Tile<T, M, N, L> result;
#pragma unroll
  for (int i = 0; i < result.count; ++i)
    result.r[i] = f(element<M, N>(tiles, i)...);
  return result;
}

/// result[row, col] = f(row, col), which reads memory. Consecutive threads ask for consecutive lanes.
template <class T, int M, int N, class L, class F> __device__ Tile<T, M, N, L> load(F f) {
  Tile<T, M, N, L> result;
#pragma unroll
  for (int i = 0; i < result.count; ++i)
    result.r[i] = f(L::template row<M, N>(i), L::template col<M, N>(i));
  return result;
}

/// f(row, col, value) once for every element.
template <class T, int M, int N, class L, class F> __device__ void store(const Tile<T, M, N, L> &tile, F f) {
#pragma unroll
  for (int i = 0; i < tile.count; ++i)
    if (L::template owns<M, N>(i))
      f(L::template row<M, N>(i), L::template col<M, N>(i), tile.r[i]);
}

template <class T, int M, int N, class L> __device__ Tile<T, M, N, L> splat(T value) {
  Tile<T, M, N, L> result;
#pragma unroll
  for (int i = 0; i < result.count; ++i)
    result.r[i] = value;
  return result;
}

/// Each value rounded to nearest even to the type R, exact in T again.
template <class R, class T, int M, int N, class L> __device__ Tile<T, M, N, L> roundedTo(const Tile<T, M, N, L> &tile) {
  return map<M, N, L>([](T value) { return static_cast<T>(R(value)); }, tile);
}

/// The only element of a 1 x 1 tile, which every thread has.
template <class T, class L> __device__ T scalar(const Tile<T, 1, 1, L> &tile) { return tile.r[0]; }

/// Row `row` of a tile.
template <int row, class T, int M, int N, int P>
__device__ Tile<T, 1, N, Lanes<P>> rowOf(const Tile<T, M, N, Lanes<P>> &tile) {
  Tile<T, 1, N, Lanes<P>> result;
#pragma unroll
  for (int j = 0; j < result.count; ++j)
    result.r[j] = tile.r[row * result.count + j];
  return result;
}

/// Element [row, col] of a tile, for every thread.
template <int row, int col, class Exchange, class T, int M, int N, int P>
__device__ T elementOf(Exchange &exchange, const Tile<T, M, N, Lanes<P>> &tile) {
  constexpr int perRow = Lanes<P>::template perRow<N>();
  if constexpr (N == 1) {
    return tile.r[row];
  } else {
    T *const shared = exchange.template next<T, sizeof(T)>();
    if (threadIdx.x == col % P)
      *shared = tile.r[row * perRow + col / P];
    barrier<Lanes<P>>();
    return *shared;
  }
}

} // namespace fusec

#include "dot.cuh"
#include "paged.cuh"
#include "panel.cuh"
#include "reduce.cuh"
