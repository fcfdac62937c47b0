//===- reduce.cuh - folding the lanes of a tile by a fixed tree ------------===//
//
// The order is part of a kernel's meaning: lane i is merged with lane i + n/2,
// then n is halved, until one lane is left; the lower lane is the first
// argument. Registers of a thread come first (lanes P apart), then lanes of
// different warps through shared memory, then the lanes of a warp by shuffles.
// Every thread ends up with the result.
//
// A carrier may have several components: combine takes the scalars of one
// carrier, then those of the other, and returns a Pack.
//
//   const auto best = reduce(exchange, [](float a, int ai, float b, int bi) {
//     return a >= b ? pack(a, ai) : pack(b, bi); }, values, indices);
//   get<1>(best)   // Tile<int, M, 1, L>
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tile.cuh"

namespace fusec {

//===----------------------------------------------------------------------===//
// Pack: a few values of different types
//===----------------------------------------------------------------------===//

template <class... T> struct Pack {};
template <class T, class... Rest> struct Pack<T, Rest...> {
  T first;
  Pack<Rest...> rest;
};

__device__ inline Pack<> pack() { return {}; }
template <class T, class... Rest> __device__ Pack<T, Rest...> pack(T first, Rest... rest) {
  return {first, pack(rest...)};
}

template <int i, class T, class... Rest> __device__ auto &get(Pack<T, Rest...> &p) {
  if constexpr (i == 0)
    return p.first;
  else
    return get<i - 1>(p.rest);
}
template <int i, class T, class... Rest> __device__ const auto &get(const Pack<T, Rest...> &p) {
  if constexpr (i == 0)
    return p.first;
  else
    return get<i - 1>(p.rest);
}

/// f(a's values..., b's values...).
template <class F, class... Before> __device__ auto apply(F f, const Pack<> &, const Pack<> &, Before... before) {
  return f(before...);
}
template <class F, class T, class... Rest, class... Before>
__device__ auto apply(F f, const Pack<> &, const Pack<T, Rest...> &b, Before... before) {
  return apply(f, Pack<>{}, b.rest, before..., b.first);
}
template <class F, class T, class... Rest, class Second, class... Before>
__device__ auto apply(F f, const Pack<T, Rest...> &a, const Second &b, Before... before) {
  return apply(f, a.rest, b, before..., a.first);
}

template <class... T> __device__ Pack<T...> asPack(const Pack<T...> &p) { return p; }
template <class T> __device__ Pack<T> asPack(const T &value) { return {value, {}}; }

//===----------------------------------------------------------------------===//
// Lanes
//===----------------------------------------------------------------------===//

template <class T> __device__ T shuffleXor(T value, int mask) {
  constexpr unsigned warp = 0xffffffffu;
  if constexpr (requires { value.bits; }) { // Half, Bfloat
    return fromBits<T>(static_cast<unsigned short>(__shfl_xor_sync(warp, static_cast<int>(value.bits), mask)));
  } else if constexpr (sizeof(T) >= 4) {
    return __shfl_xor_sync(warp, value, mask);
  } else {
    return static_cast<T>(__shfl_xor_sync(warp, static_cast<int>(value), mask));
  }
}

template <class Exchange, class Combine, int P, int M, int N, class... T> struct LaneFold {
  using Carrier = Pack<T...>;
  using L = Lanes<P>;
  static constexpr int perRow = L::template perRow<N>();
  static constexpr bool isPowerOfTwo = (perRow & (perRow - 1)) == 0;
  /// Lanes that are left when each thread has folded its registers.
  static constexpr int left = N <= P || (N % P == 0 && isPowerOfTwo) ? (N < P ? N : P) : N;
  static constexpr int leftPerRow = (left + P - 1) / P;
  /// Bytes of shared memory for one component of all rows.
  template <class C> static constexpr int bytesOf = (M * left * static_cast<int>(sizeof(C)) + 15) / 16 * 16;
  static constexpr int bytes = (bytesOf<T> + ... + 0);

  Combine combine;

  __device__ Carrier merge(const Carrier &a, const Carrier &b) const { return asPack(apply(combine, a, b)); }

  /// Lanes that lie in one thread: register j with register j + perRow / 2.
  __device__ void foldRegisters(Carrier *v) const {
    if constexpr (left <= P)
#pragma unroll
      for (int n = perRow / 2; n >= 1; n /= 2)
#pragma unroll
        for (int row = 0; row < M; ++row)
#pragma unroll
          for (int j = 0; j < n; ++j)
            v[row * perRow + j] = merge(v[row * perRow + j], v[row * perRow + j + n]);
  }

  /// Lanes of different warps: thread x of each warp folds the lanes x + 32 j.
  __device__ void foldWarps(Exchange &exchange, Carrier *v) const {
    unsigned char *const shared = exchange.template next<unsigned char, bytes>();
#pragma unroll
    for (int row = 0; row < M; ++row)
#pragma unroll
      for (int j = 0; j < leftPerRow; ++j)
        if (j * P + static_cast<int>(threadIdx.x) < left)
          put(shared, row * left + j * P + static_cast<int>(threadIdx.x), v[row * perRow + j]);
    barrier<L>();
#pragma unroll
    for (int row = 0; row < M; ++row) {
      Carrier lanes[left / 32];
#pragma unroll
      for (int j = 0; j < left / 32; ++j)
        take(shared, row * left + 32 * j + static_cast<int>(threadIdx.x) % 32, lanes[j]);
#pragma unroll
      for (int n = left / 64; n >= 1; n /= 2)
#pragma unroll
        for (int j = 0; j < n; ++j)
          lanes[j] = merge(lanes[j], lanes[j + n]);
      v[row * perRow] = lanes[0];
    }
  }

  /// Lanes of one warp; every lane gets the result.
  __device__ void foldWarp(Carrier *v) const {
    constexpr int width = left < 32 ? left : 32;
#pragma unroll
    for (int n = width / 2; n >= 1; n /= 2) {
      const bool isUpper = threadIdx.x & n;
#pragma unroll
      for (int row = 0; row < M; ++row) {
        const Carrier mine = v[row * perRow], other = shuffled(mine, n);
        v[row * perRow] = isUpper ? merge(other, mine) : merge(mine, other);
      }
    }
  }

  static __device__ Pack<> shuffled(const Pack<> &, int) { return {}; }
  template <class C, class... Rest> static __device__ Pack<C, Rest...> shuffled(const Pack<C, Rest...> &p, int mask) {
    return {shuffleXor(p.first, mask), shuffled(p.rest, mask)};
  }
  static __device__ void put(unsigned char *, int, const Pack<> &) {}
  template <class C, class... Rest> static __device__ void put(unsigned char *at, int i, const Pack<C, Rest...> &p) {
    reinterpret_cast<C *>(at)[i] = p.first;
    put(at + bytesOf<C>, i, p.rest);
  }
  static __device__ void take(const unsigned char *, int, Pack<> &) {}
  template <class C, class... Rest> static __device__ void take(const unsigned char *at, int i, Pack<C, Rest...> &p) {
    p.first = reinterpret_cast<const C *>(at)[i];
    take(at + bytesOf<C>, i, p.rest);
  }
};

/// Component `c` of the folded rows as a tile, and the components after it.
template <int c, int M, class L, class First, class... Rest, class Carrier>
__device__ auto components(const Carrier *v, int stride) {
  Tile<First, M, 1, L> tile;
#pragma unroll
  for (int row = 0; row < M; ++row)
    tile.r[row] = get<c>(v[row * stride]);
  if constexpr (sizeof...(Rest) == 0)
    return Pack<Tile<First, M, 1, L>>{tile, {}};
  else {
    const auto rest = components<c + 1, M, L, Rest...>(v, stride);
    return prepend(tile, rest);
  }
}
template <class T, class... Rest> __device__ Pack<T, Rest...> prepend(const T &first, const Pack<Rest...> &rest) {
  return {first, rest};
}

/// Folds each row. One tile gives a Tile<T, M, 1, L>, several a Pack of them.
template <class Exchange, class Combine, int M, int N, int P, class... T>
__device__ auto reduce(Exchange &exchange, Combine combine, const Tile<T, M, N, Lanes<P>> &...tiles) {
  static_assert((N & (N - 1)) == 0, "a fold by halves needs a power of two");
  using Fold = LaneFold<Exchange, Combine, P, M, N, T...>;
  const Fold fold{combine};
  Pack<T...> v[M * Fold::perRow];
#pragma unroll
  for (int i = 0; i < M * Fold::perRow; ++i)
    v[i] = pack(tiles.r[i]...);
  fold.foldRegisters(v);
  if constexpr (Fold::left > 32)
    fold.foldWarps(exchange, v);
  fold.foldWarp(v);
  const auto results = components<0, M, Lanes<P>, T...>(v, Fold::perRow);
  if constexpr (sizeof...(T) == 1)
    return results.first;
  else
    return results;
}

} // namespace fusec
