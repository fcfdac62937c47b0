//===- weight_product_warpgroup.cuh - many tokens on sm_90a --------------------===//
//
// The third form of weight_product.cuh, with the same slices and order: two
// warpgroups of consumers decode weights into registers, as A of wgmma, and one
// of producers rounds x into a ring of stages in shared memory, as its B.
//
//   __launch_bounds__(warpgroupProductThreads, 1)
//   weightProductWarpgroup<Tokens, SliceColumns>(w, firstRow, x, shared,
//       [&](const WarpgroupTile<Tokens> &y) { store(y, ...); });     // 128 weight rows
//
// With `Weights<2, W>{{gate, up}}` the epilogue gets Products<2, WarpgroupTile<Tokens>>.
//
// The epilogue runs on the consumers, threads 0 .. 255, alone: no __syncthreads
// in it. Tokens: 32, 64 or 128. `shared`: warpgroupScratch(Tokens), 128-byte
// aligned. The other arguments are those of weightProductTiled.
//
// A stage of x is 64 k of all tokens. wgmma's columns k follow the permutation of
// weight_fragment.cuh: a step of 16 k is Tokens / 8 pairs of 128-byte matrices,
// the pair's first with slots 0-7, its second with 8-15, 16 bytes per token. What
// lane (g, q) holds of x, 8 k, is 4 bytes of 4 such matrices: each store of a warp
// fills one matrix, without bank conflicts.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mbarrier.cuh"
#include "weight_product.cuh"
#include "wgmma.cuh"

namespace fusec {

inline constexpr int warpgroupProductRows = 128, warpgroupProductThreads = 384;

/// The result: all tokens of 128 weight rows.
template <int Tokens> using WarpgroupTile = Tile<float, Tokens, warpgroupProductRows, MmaLanes<8>>;

template <int Tokens> struct TokenRing {
  static constexpr int stepBytes = Tokens / 8 * 256, chunkBytes = 2 * stepBytes, stageBytes = 2 * chunkBytes;
  static constexpr int bytes = warpgroupScratch(Tokens);
  static_assert(bytes == warpgroupProductStages * stageBytes + RingBarriers<warpgroupProductStages>::bytes);

  unsigned char *memory;

  __device__ __forceinline__ RingBarriers<warpgroupProductStages> barriers() const {
    return RingBarriers<warpgroupProductStages>(memory + warpgroupProductStages * stageBytes);
  }
  /// B of step `step` (0 or 1) of a chunk.
  __device__ __forceinline__ unsigned long long descriptor(int stage, int chunk, int step) const {
    return matrixDescriptor(sharedAddress(memory) + stage * stageBytes + chunk * chunkBytes + step * stepBytes, 128,
                            256, false);
  }
  /// Puts what lane (g, q) has of tokens 8 block .. 8 block + 7 of a chunk.
  __device__ __forceinline__ void put(int stage, int chunk, int block, const Operands8 &x) const {
    const int at = stage * stageBytes + chunk * chunkBytes + block * 256 + (static_cast<int>(threadIdx.x) & 31) * 4;
#pragma unroll
    for (int i = 0; i < 4; ++i)
      *reinterpret_cast<unsigned *>(memory + at + i / 2 * stepBytes + i % 2 * 128) = x.pair[i];
  }
};

/// Rounds x into the ring, stage after stage; by the 4 warps of one warpgroup.
template <int Tokens, class X> __device__ __forceinline__ void produceTokens(TokenRing<Tokens> ring, int chunks, X x) {
  constexpr int share = 2 * (Tokens / 8) / 4; // blocks of 8 tokens x 32 k per warp and stage
  const MmaLane lane = mmaLane();
  const int warp = warpIndex() & 3;
  RingPosition<warpgroupProductStages> at;
#pragma unroll 1
  for (int first = 0; first < chunks; first += 2, at.advance()) {
    Operands8 held[share];
#pragma unroll
    for (int i = 0; i < share; ++i) {
      const int block = 4 * i + warp, chunk = min(first + block / (Tokens / 8), chunks - 1);
      held[i] = x(block % (Tokens / 8) * 8 + lane.g, 32 * chunk + 8 * lane.q);
    }
    ring.barriers().empty(at.stage).wait(at.parity ^ 1);
#pragma unroll
    for (int i = 0; i < share; ++i) {
      const int block = 4 * i + warp;
      ring.put(at.stage, block / (Tokens / 8), block % (Tokens / 8), held[i]);
    }
    fenceAsyncProxy();
    ring.barriers().full(at.stage).arrive();
  }
}

/// The products of 16 weight rows per warp.
template <int Tokens, int SliceColumns, int Count, class Weight> struct TokenConsumer {
  static constexpr int chunks = Weight::columns / 32, sliceChunks = SliceColumns / 32;
  using Sums = Products<Count, WarpgroupTile<Tokens>>;

  TokenRing<Tokens> ring;
  const Weights<Count, Weight> &weights;
  int block;
  typename Weight::Raw raw[2][Count] = {};
  WeightFragment a[2][Count] = {};
  Sums total{}, part{};
  bool keep = false; ///< The slice has begun.

  __device__ __forceinline__ void load(int slot, int chunk) {
#pragma unroll
    for (int w = 0; w < Count; ++w)
      raw[slot][w] = weights.w[w].load(block, min(chunk, chunks - 1));
  }

  /// Decodes a chunk, while the one before it may be multiplying, and starts its product.
  __device__ __forceinline__ void start(int slot, int chunk, int stage) {
#pragma unroll
    for (int w = 0; w < Count; ++w) {
      a[slot][w] = Weight::decode(raw[slot][w]);
      settle(a[slot][w].step[0]);
      settle(a[slot][w].step[1]);
    }
    load(slot, chunk + 2);
    wgmmaFence();
#pragma unroll
    for (int s = 0; s < 2; ++s)
#pragma unroll
      for (int w = 0; w < Count; ++w)
        wgmma<typename Weight::OperandType, Tokens, Major::K>(part.tile[w].r, a[slot][w].step[s],
                                                              ring.descriptor(stage, slot, s), keep || s > 0);
    wgmmaCommit();
    keep = true;
  }

  /// Waits for the products of these slots and, at the end of a slice, adds its sums.
  __device__ __forceinline__ void finish(int firstSlot, int endSlot, bool endsSlice) {
    wgmmaWait<0>();
    settleSums();
    for (int slot = firstSlot; slot < endSlot; ++slot)
#pragma unroll
      for (int w = 0; w < Count; ++w) {
        settle(a[slot][w].step[0]);
        settle(a[slot][w].step[1]);
      }
    if (!endsSlice)
      return;
    keep = false;
#pragma unroll
    for (int w = 0; w < Count; ++w)
#pragma unroll
      for (int i = 0; i < WarpgroupTile<Tokens>::count; ++i)
        total.tile[w].r[i] += part.tile[w].r[i];
  }
  __device__ __forceinline__ void settleSums() {
#pragma unroll
    for (int w = 0; w < Count; ++w)
      settle(part.tile[w].r);
  }

  __device__ __forceinline__ void run() {
    load(0, 0);
    load(1, 1);
    RingPosition<warpgroupProductStages> at;
#pragma unroll 1
    for (int first = 0; first < chunks; first += 2, at.advance()) {
      const auto endsSlice = [&](int chunk) { return (chunk + 1) % sliceChunks == 0 || chunk + 1 >= chunks; };
      ring.barriers().full(at.stage).wait(at.parity);
      settleSums();
      start(0, first, at.stage);
      if (sliceChunks % 2 != 0 && endsSlice(first)) {
        finish(0, 1, true);
        settleSums();
        if (chunks % 2 == 0 || first + 1 < chunks) {
          start(1, first + 1, at.stage);
          finish(1, 2, endsSlice(first + 1));
        }
      } else if (chunks % 2 == 0 || first + 1 < chunks) {
        start(1, first + 1, at.stage);
        finish(0, 2, endsSlice(first + 1));
      } else {
        finish(0, 1, true);
      }
      ring.barriers().empty(at.stage).arrive();
    }
  }
};

template <int Tokens, int SliceColumns, int Count, class Weight, class X, class Epilogue>
__device__ __forceinline__ void weightProductWarpgroup(const Weights<Count, Weight> &weights, int firstRow, X x,
                                                       void *shared, Epilogue epilogue) {
  static_assert(SliceColumns % 32 == 0, "whole chunks of k");
  const TokenRing<Tokens> ring{static_cast<unsigned char *>(shared)};
  ring.barriers().init(128, 256);
  if (warpIndex() >= 8) {
    giveRegisters<72>();
    produceTokens(ring, Weight::columns / 32, x);
  } else {
    takeRegisters<216>();
    TokenConsumer<Tokens, SliceColumns, Count, Weight> consumer{ring, weights, firstRow / 16 + warpIndex()};
    consumer.run();
    epilogue(consumer.total);
  }
}

template <int Tokens, int SliceColumns, class Weight, class X, class Epilogue>
__device__ __forceinline__ void weightProductWarpgroup(const Weight &weight, int firstRow, X x, void *shared,
                                                       Epilogue epilogue) {
  weightProductWarpgroup<Tokens, SliceColumns>(
      Weights<1, Weight>{{weight}}, firstRow, x, shared,
      [&](const Products<1, WarpgroupTile<Tokens>> &y) { epilogue(y.tile[0]); });
}

} // namespace fusec
