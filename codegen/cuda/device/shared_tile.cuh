//===- shared_tile.cuh - operands in shared memory, free of bank conflicts ------===//
//
// SharedTile<R, C> is an R x C matrix of 16-bit elements, row by row, whose
// 16-byte units are exchanged within a row, so that a column of units, which is
// what ldmatrix reads, lies in different banks:
//
//   unit u of row r is stored at unit  u ^ swizzle(r)
//     row a multiple of 128 bytes      swizzle = r mod 8
//     64 bytes more than that          r / 2 mod 4
//     32 or 96 bytes more              r / 4 mod 2
//     an odd number of units           0: rows are apart already
//
// With C a multiple of 64 the matrix is cut into slabs of 64 columns, one after
// the other: then it is also what wgmma calls 128-byte swizzled, provided that
// it starts at a multiple of 1024 bytes.
//
//   SharedTile<64, 64> keys{memory};                              // 16-byte aligned, SharedTile<64, 64>::bytes
//   fillAsync<P>(keys, [&](int row, int col) { return page + row * 64 + col; });   // address of 8 elements, or null:
//   zeros fill<P>(keys, [&](int row, int col) { return toOperands<Half>(loadFloats8(...)); });
//   fillEach<Half, P>(keys, [&](int row, int col) { return value(row, col); });
//
//===----------------------------------------------------------------------===//
#pragma once

#include "cp_async.cuh"
#include "layout.cuh"
#include "operand.cuh"

namespace fusec {

template <int R, int C> struct SharedTile {
  static_assert(C % 8 == 0, "rows are whole units of 16 bytes");
  static constexpr int rows = R, columns = C, units = C / 8, bytes = R * C * 2;

  unsigned char *memory;

  static constexpr int slabUnits = units % 8 == 0 ? 8 : units;

  static __device__ __forceinline__ int swizzle(int row) {
    return units % 8 == 0 ? row & 7 : units % 4 == 0 ? row >> 1 & 3 : units % 2 == 0 ? row >> 2 & 1 : 0;
  }
  /// Bytes from the start to elements [row, 8 unit ..].
  static __device__ __forceinline__ int offset(int row, int unit) {
    const int slab = static_cast<unsigned>(unit) / slabUnits, inSlab = static_cast<unsigned>(unit) % slabUnits;
    return ((slab * R + row) * slabUnits + (inSlab ^ swizzle(row))) * 16;
  }
  __device__ __forceinline__ unsigned address(int row, int unit) const {
    return sharedAddress(memory) + offset(row, unit);
  }
};

/// Starts the copies of all elements by P threads, of which this is number `thread`; `source(row, col)` is the address
/// of 8 of them, or null for zeros.
template <int P, int R, int C, class Source>
__device__ __forceinline__ void fillAsync(const SharedTile<R, C> &tile, Source source, int thread = threadIdx.x) {
  using T = SharedTile<R, C>;
#pragma unroll 4
  for (int i = 0; i < (R * T::units + P - 1) / P; ++i) {
    const unsigned u = i * P + thread;
    const int row = u / T::units, unit = u % T::units;
    if (R * T::units % P == 0 || row < R)
      copyAsync(tile.address(row, unit), source(row, 8 * unit));
  }
}

/// Stores all elements by P threads; `value(row, col)` gives Operands8.
template <int P, int R, int C, class Value>
__device__ __forceinline__ void fill(const SharedTile<R, C> &tile, Value value, int thread = threadIdx.x) {
  using T = SharedTile<R, C>;
#pragma unroll 4
  for (int i = 0; i < (R * T::units + P - 1) / P; ++i) {
    const unsigned u = i * P + thread;
    const int row = u / T::units, unit = u % T::units;
    if (R * T::units % P == 0 || row < R) {
      const Operands8 v = value(row, 8 * unit);
      *reinterpret_cast<uint4 *>(tile.memory + T::offset(row, unit)) =
          make_uint4(v.pair[0], v.pair[1], v.pair[2], v.pair[3]);
    }
  }
}

/// Stores all elements by P threads; `value(row, col)` gives one of them, which is rounded to Operand.
template <class Operand, int P, int R, int C, class Value>
__device__ __forceinline__ void fillEach(const SharedTile<R, C> &tile, Value value) {
  fill<P>(tile, [&](int row, int col) {
    Floats8 x;
#pragma unroll
    for (int i = 0; i < 8; ++i)
      x.v[i] = value(row, col + i);
    return toOperands<Operand>(x);
  });
}

/// body(stage, j) for j = first, first + step, ... below end, with the copies for the next Stages - 1 steps under way:
/// fetch(stage, j) starts (fillAsync) or makes (fill) those of step j. All threads of layout L's block call it.
template <int Stages, class L, class Fetch, class Body>
__device__ __forceinline__ void pipelined(int first, int end, int step, Fetch fetch, Body body) {
#pragma unroll
  for (int s = 0; s < Stages - 1; ++s) {
    if (first + s * step < end)
      fetch(s, first + s * step);
    commitAsync();
  }
  int stage = 0;
#pragma unroll 1
  for (int j = first; j < end; j += step) {
    const int ahead = j + (Stages - 1) * step, free = stage == 0 ? Stages - 1 : stage - 1;
    if (ahead < end)
      fetch(free, ahead);
    commitAsync();
    waitAsync<Stages - 1>();
#if __CUDA_ARCH__ >= 900
    fenceAsyncProxy(); // wgmma may be the reader
#endif
    barrier<L>(); // step j's bytes are there for everybody
    body(stage, j);
    barrier<L>(); // and may be overwritten
    stage = stage + 1 == Stages ? 0 : stage + 1;
  }
  waitAsync<0>();
}

} // namespace fusec
