//===- mma_rows.cuh - tiles in mma accumulators, rows first (attention) --------===//
//
// What a kernel does with tiles of layout MmaRows (mma_layout.cuh):
//
//   auto q = loadRows<Bfloat, 64, 128, MmaRows<4>>([&](int row, int k) { return ...; });   // A operand, f32 -> bf16
//   Tile<float, 64, 64, MmaRows<4>> s{};
//   dot<Bfloat>(s, q, keys);                      // += q[64 x 128] keys[128 x 64], keys a SharedTile
//   auto m = reduce(exchange, maximum, s);        // Tile<float, 64, 1, MmaRows<4>>; rows folded by the fixed tree
//   auto p = map<64, 64, MmaRows<4>>([](float s, float m) { return exp(s - m); }, s, m);
//   dot<Bfloat>(o, asRows<Bfloat>(p), values);    // += p[64 x 64] values[64 x 128]
//
// Accumulators become an A operand without leaving their registers: C's lane
// (g, q) holds columns 2q, 2q+1 of two blocks of 8, which is what A wants of 16.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ldmatrix.cuh"
#include "mma_layout.cuh"
#include "parked_tile.cuh"
#include "reduce.cuh"
#include "shared_tile.cuh"

namespace fusec {

/// An M x K matrix as mma's A operand, each warp the rows of layout L; k in natural order.
template <int M, int K, class L> struct RowFragments {
  static_assert(K % 16 == 0, "k goes in steps of 16");
  FragmentA f[L::template strips<M>][K / 16];
};

/// f(row, k) is rounded to Operand.
template <class Operand, int M, int K, class L, class F>
__device__ __forceinline__ RowFragments<M, K, L> loadRows(F f) {
  RowFragments<M, K, L> a;
#pragma unroll
  for (int s = 0; s < L::template strips<M>; ++s)
#pragma unroll
    for (int t = 0; t < K / 16; ++t)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int row = L::template row<M, 1>(2 * s + (i & 1)), k = 16 * t + 8 * (i >> 1) + 2 * mmaLane().q;
        a.f[s][t].r[i] = packPair<Operand>(f(row, k), f(row, k + 1));
      }
  return a;
}

/// The tile's values rounded to Operand.
template <class Operand, int M, int N, class L>
__device__ __forceinline__ RowFragments<M, N, L> asRows(const Tile<float, M, N, L> &tile) {
  RowFragments<M, N, L> a;
#pragma unroll
  for (int s = 0; s < L::template strips<M>; ++s)
#pragma unroll
    for (int t = 0; t < N / 16; ++t)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float *c = tile.r + ((s * (N / 8)) + 2 * t + (i >> 1)) * 4 + (i & 1) * 2;
        a.f[s][t].r[i] = packPair<Operand>(c[0], c[1]);
      }
  return a;
}

/// sum += a's steps of 16 k times b, one step after the other; `fragment(s, t)` gives strip s of step t.
template <class Operand, int unrolled, int M, int N, int K, class L, class F>
__device__ __forceinline__ void dotSteps(Tile<float, M, N, L> &sum, F fragment, const SharedTile<K, N> &b) {
  static_assert(N % 16 == 0, "ldmatrix brings 16 columns at a time");
  constexpr int strips = L::template strips<M>;
  // Lanes 0-15 point at the 16 rows of the left 8 columns, lanes 16-31 at those of the right 8.
  const int lane = static_cast<int>(threadIdx.x) & 31, row = lane & 15, right = lane >> 4;
#pragma unroll unrolled
  for (int t = 0; t < K / 16; ++t) {
    FragmentA a[strips];
#pragma unroll
    for (int s = 0; s < strips; ++s)
      a[s] = fragment(s, t);
#pragma unroll
    for (int j = 0; j < N / 16; ++j) {
      unsigned r[4];
      loadMatricesTransposed(r, b.address(16 * t + row, 2 * j + right));
#pragma unroll
      for (int s = 0; s < strips; ++s) {
        float *c = sum.r + (s * (N / 8) + 2 * j) * 4;
        mma<Operand>(c, a[s], FragmentB{{r[0], r[1]}});
        mma<Operand>(c + 4, a[s], FragmentB{{r[2], r[3]}});
      }
    }
  }
}

/// sum += a * b, a in registers, b in shared memory row by row (k).
template <class Operand, int M, int N, int K, class L>
__device__ __forceinline__ void dot(Tile<float, M, N, L> &sum, const RowFragments<M, K, L> &a,
                                    const SharedTile<K, N> &b) {
  dotSteps<Operand, K / 16>(sum, [&](int s, int t) { return a.f[s][t]; }, b);
}

/// sum += a * b, both in shared memory: for wide heads, whose queries would fill the registers.
template <class Operand, int M, int N, int K, class L>
__device__ __forceinline__ void dot(Tile<float, M, N, L> &sum, const SharedTile<M, K> &a, const SharedTile<K, N> &b) {
  constexpr int strips = L::template strips<M>;
  const int lane = static_cast<int>(threadIdx.x) & 31, row = lane & 15, right = lane >> 4;
  dotSteps<Operand, 2>( // addresses of more steps at once would take the sums' registers
      sum,
      [&](int s, int t) {
        FragmentA f;
        loadMatrices(f.r, a.address(16 * (warpIndex() * strips + s) + row, 2 * t + right));
        return f;
      },
      b);
}

__device__ inline Pack<> shuffledPack(const Pack<> &, int) { return {}; }
template <class T, class... Rest> __device__ Pack<T, Rest...> shuffledPack(const Pack<T, Rest...> &p, int mask) {
  return {shuffleXor(p.first, mask), shuffledPack(p.rest, mask)};
}

/// Components c and following of the carriers of all rows, as tiles of M x 1.
template <int c, int M, class L, class First, class... Rest, class Carrier>
__device__ Pack<Tile<First, M, 1, L>, Tile<Rest, M, 1, L>...> rowTiles(const Carrier *carriers) {
  Tile<First, M, 1, L> tile;
#pragma unroll
  for (int slot = 0; slot < tile.count; ++slot)
    tile.r[slot] = get<c>(carriers[slot]);
  if constexpr (sizeof...(Rest) == 0)
    return {tile, {}};
  else
    return {tile, rowTiles<c + 1, M, L, Rest...>(carriers)};
}

/// Folds each row by halves, lane i with lane i + n/2 (reduce.cuh): blocks of 8 lanes lie in registers, then lanes 4
/// and 2 apart in neighbour threads, then 1 apart in registers. `exchange` is not used: a row never leaves its warp.
template <class Exchange, class Combine, int M, int N, int WarpsM, class... T>
__device__ auto reduce(Exchange &, Combine combine, const Tile<T, M, N, MmaRows<WarpsM>> &...tiles) {
  static_assert(N >= 8 && (N & (N - 1)) == 0, "a fold by halves needs a power of two");
  using L = MmaRows<WarpsM>;
  constexpr int slots = L::template count<M, 1>(), blocks = N / 8;
  Pack<T...> result[slots];
  const auto merge = [&](const Pack<T...> &a, const Pack<T...> &b) -> Pack<T...> {
    return asPack(apply(combine, a, b));
  };
#pragma unroll
  for (int slot = 0; slot < slots; ++slot) {
    Pack<T...> v[blocks][2];
#pragma unroll
    for (int j = 0; j < blocks; ++j)
#pragma unroll
      for (int e = 0; e < 2; ++e)
        v[j][e] = pack(tiles.r[((slot / 2 * blocks) + j) * 4 + slot % 2 * 2 + e]...);
#pragma unroll
    for (int n = blocks / 2; n >= 1; n /= 2)
#pragma unroll
      for (int j = 0; j < n; ++j)
#pragma unroll
        for (int e = 0; e < 2; ++e)
          v[j][e] = merge(v[j][e], v[j + n][e]);
#pragma unroll
    for (int apart = 2; apart >= 1; apart /= 2)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const Pack<T...> mine = v[0][e], other = shuffledPack(mine, apart);
        v[0][e] = threadIdx.x & apart ? merge(other, mine) : merge(mine, other);
      }
    result[slot] = merge(v[0][0], v[0][1]);
  }
  const auto parts = rowTiles<0, M, L, T...>(result);
  if constexpr (sizeof...(T) == 1)
    return parts.first;
  else
    return parts;
}

/// The same by its own name for the arguments: rows need no exchange.
template <class Combine, int M, int N, int WarpsM, class... T>
__device__ auto reduce(Combine combine, const Tile<T, M, N, MmaRows<WarpsM>> &...tiles) {
  int none = 0;
  return reduce(none, combine, tiles...);
}

} // namespace fusec
