//===- weight_product.cuh - y[token, n] = sum_k x[token, k] W[n, k] ------------===//
//
// Two forms that give the same bits for every token, whatever tokens stand
// beside it. Both cut k into slices of SliceColumns (the last may be shorter),
// chain the mma steps of a slice in ascending k from 0, and add the slices'
// sums in ascending order to 0:
//
//   few tokens:   each warp takes whole slices; parts meet in shared memory.
//     Tile<float, Tokens, Rows, Flat<32 * Warps>> y =
//         weightProductSpread<Tokens, Rows, SliceColumns, Warps>(w, firstRow, x, scratch);
//
//   many tokens:  each warp takes Rows / Warps weight rows and walks all slices;
//                 x passes through shared memory.
//     Tile<float, Tokens, Rows, MmaLanes<Warps>> y =
//         weightProductTiled<Tokens, Rows, SliceColumns, Warps>(w, firstRow, x, scratch);
//
//   w         a weight of weight_fragment.cuh, or `together(gate, up)`:
//             then the result is y.tile[Count], products that share x
//   firstRow  a multiple of 16; rows past the last one give unspecified values
//   x         x(token, k) -> Operands8: x[token][k .. k+7] in the weight's operand
//             type; token in [0, Tokens), k a multiple of 8. The caller clamps
//             tokens past the real ones. Called by all lanes of a warp together.
//   scratch   16-byte aligned shared memory, spreadScratch / tiledScratch bytes
//             (product_scratch.cuh); free again when the call returns only after a __syncthreads()
//
// Tokens: any number (spread), a multiple of 8 (tiled). Rows: a multiple of 16
// (spread), of 16 * Warps (tiled). All threads of the block, 32 * Warps, call it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "flat_layout.cuh"
#include "mma_layout.cuh"
#include "plain_panel.cuh"
#include "product_scratch.cuh"
#include "tile.cuh"
#include "weight_fragment.cuh"

namespace fusec {

/// Matrices of one type that multiply the same x.
template <int Count, class Weight> struct Weights {
  Weight w[Count];
};

template <class Weight, class... Others>
__device__ __forceinline__ Weights<1 + sizeof...(Others), Weight> together(const Weight &first,
                                                                           const Others &...others) {
  return {{first, others...}};
}

/// One product per matrix.
template <int Count, class TileType> struct Products {
  TileType tile[Count];
};

constexpr __device__ int ceilDiv(int a, int b) { return (a + b - 1) / b; }

//===----------------------------------------------------------------------===//
// Few tokens
//===----------------------------------------------------------------------===//

/// Where element [token, row] of a part lies: row-major, but for the four blocks of 8 floats that share the banks,
/// which are exchanged. So neither mma's columns, rows of 2 tokens apart, nor neighbours in a row fall into the same
/// bank.
template <int Rows> constexpr __device__ int partPlace(int token, int row) {
  const int place = token * Rows + row;
  return place ^ (place / 32 * 16 / Rows & 3) * 8;
}

/// The sums of one slice, of one warp: [matrix][row block][token block][4] in mma's C layout.
template <int Count, int Blocks, int TokenBlocks> struct SliceSums {
  float c[Count][Blocks][TokenBlocks][4];
};

/// The chunk's B operands; columns of tokens past the last are 0.
template <int Tokens, class X>
__device__ __forceinline__ void loadTokens(Operands8 (&b)[ceilDiv(Tokens, 8)], X x, int chunk) {
  int k = 32 * chunk + 8 * mmaLane().q;
#pragma unroll
  for (int j = 0; j < ceilDiv(Tokens, 8); ++j) {
    int token = 8 * j + mmaLane().g;
    b[j] = Operands8{};
    if (Tokens % 8 == 0 || token < Tokens)
      b[j] = x(token, k);
  }
}

/// Multiplies chunks [first, end) into `sums`; loads run Ahead chunks in front.
template <int Tokens, int Rows, int Count, class Weight, class X>
__device__ __forceinline__ void multiplySlice(SliceSums<Count, Rows / 16, ceilDiv(Tokens, 8)> &sums,
                                              const Weights<Count, Weight> &weights, int firstBlock, int first, int end,
                                              X x) {
  constexpr int blocks = Rows / 16, tokenBlocks = ceilDiv(Tokens, 8);
  constexpr int inFlight = 4, depth = ceilDiv(inFlight, Count * blocks); // 320 bytes each for 4 bit codes
  typename Weight::Raw raw[depth][Count][blocks];
  Operands8 b[depth][tokenBlocks];
  auto fetch = [&](int slot, int chunk) {
#pragma unroll
    for (int w = 0; w < Count; ++w)
#pragma unroll
      for (int p = 0; p < blocks; ++p)
        raw[slot][w][p] = weights.w[w].load(firstBlock + p, chunk);
    loadTokens<Tokens>(b[slot], x, chunk);
  };
  // Nothing behind the slice is loaded: few tokens cost the bytes they read.
#pragma unroll
  for (int d = 0; d < depth; ++d)
    if (first + d < end)
      fetch(d, first + d);
#pragma unroll 1
  for (int chunk = first; chunk < end; chunk += depth) {
#pragma unroll
    for (int d = 0; d < depth; ++d) {
      if (chunk + d >= end)
        break;
#pragma unroll
      for (int w = 0; w < Count; ++w)
#pragma unroll
        for (int p = 0; p < blocks; ++p) {
          WeightFragment a = Weight::decode(raw[d][w][p]);
#pragma unroll
          for (int j = 0; j < tokenBlocks; ++j)
            mmaChunk<typename Weight::OperandType>(sums.c[w][p][j], a, b[d][j]);
        }
      if (chunk + d + depth < end)
        fetch(d, chunk + d + depth);
    }
  }
}

/// Leaves a warp's part in `part`, partFloats per matrix.
template <int Tokens, int Rows, int Count>
__device__ __forceinline__ void storePart(float *part, const SliceSums<Count, Rows / 16, ceilDiv(Tokens, 8)> &sums) {
  MmaLane lane = mmaLane();
#pragma unroll
  for (int w = 0; w < Count; ++w)
#pragma unroll
    for (int p = 0; p < Rows / 16; ++p)
#pragma unroll
      for (int j = 0; j < ceilDiv(Tokens, 8); ++j)
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          int token = 8 * j + 2 * lane.q + (e & 1), row = 16 * p + lane.g + 8 * (e >> 1);
          if (Tokens % 8 == 0 || token < Tokens)
            part[w * partFloats(Tokens, Rows) + partPlace<Rows>(token, row)] = sums.c[w][p][j][e];
        }
}

/// total += the first `parts` parts, in ascending order.
template <int Tokens, int Rows, int Warps, int Count, class TileType>
__device__ __forceinline__ void addParts(Products<Count, TileType> &total, const float *scratch, int parts) {
  constexpr int floats = partFloats(Tokens, Rows);
  using L = Flat<32 * Warps>;
#pragma unroll
  for (int w = 0; w < Count; ++w)
#pragma unroll
    for (int i = 0; i < TileType::count; ++i) {
      int row = L::template row<Tokens, Rows>(i), col = L::template col<Tokens, Rows>(i);
      const float *at = scratch + w * floats + partPlace<Rows>(row, col);
      for (int s = 0; s < parts; ++s)
        total.tile[w].r[i] += at[s * Count * floats];
    }
}

/// multiply(sums, first, end) adds chunks [first, end) of a slice; the rest of both forms for few tokens.
template <int Tokens, int Rows, int SliceColumns, int Warps, int Count, class Weight, class Multiply>
__device__ __forceinline__ Products<Count, Tile<float, Tokens, Rows, Flat<32 * Warps>>> addSlices(float *parts,
                                                                                                  Multiply multiply) {
  static_assert(Rows % 16 == 0 && SliceColumns % 32 == 0, "whole blocks of rows, whole chunks of k");
  constexpr int chunks = Weight::columns / 32, sliceChunks = SliceColumns / 32, slices = ceilDiv(chunks, sliceChunks);
  constexpr int warpFloats = Count * partFloats(Tokens, Rows);
  Products<Count, Tile<float, Tokens, Rows, Flat<32 * Warps>>> total{};
#pragma unroll 1
  for (int round = 0; round < slices; round += Warps) {
    const int slice = round + warpIndex(), first = slice * sliceChunks;
    if (slice < slices) {
      SliceSums<Count, Rows / 16, ceilDiv(Tokens, 8)> sums{};
      multiply(sums, first, min(first + sliceChunks, chunks));
      storePart<Tokens, Rows>(parts + warpIndex() * warpFloats, sums);
    }
    __syncthreads();
    addParts<Tokens, Rows, Warps>(total, parts, min(Warps, slices - round));
    if (round + Warps < slices)
      __syncthreads();
  }
  return total;
}

template <int Tokens, int Rows, int SliceColumns, int Warps, int Count, class Weight, class X>
__device__ __forceinline__ Products<Count, Tile<float, Tokens, Rows, Flat<32 * Warps>>>
weightProductSpread(const Weights<Count, Weight> &weights, int firstRow, X x, void *scratch) {
  using Sums = SliceSums<Count, Rows / 16, ceilDiv(Tokens, 8)>;
  return addSlices<Tokens, Rows, SliceColumns, Warps, Count, Weight>(
      static_cast<float *>(scratch), [&](Sums &sums, int first, int end) {
        multiplySlice<Tokens, Rows>(sums, weights, firstRow / 16, first, end, x);
      });
}

template <int Tokens, int Rows, int SliceColumns, int Warps, class Weight, class X>
__device__ __forceinline__ Tile<float, Tokens, Rows, Flat<32 * Warps>>
weightProductSpread(const Weight &weight, int firstRow, X x, void *scratch) {
  return weightProductSpread<Tokens, Rows, SliceColumns, Warps>(Weights<1, Weight>{{weight}}, firstRow, x, scratch)
      .tile[0];
}

//===----------------------------------------------------------------------===//
// Many tokens
//===----------------------------------------------------------------------===//

/// Chunks of x per stage: one where the sums fill the registers.
template <int SliceColumns, int Sums> inline constexpr int stageChunks = SliceColumns % 64 == 0 && Sums < 64 ? 2 : 1;

/// x of one stage on its way from global to shared memory: this warp's share of the (chunk, 8 tokens) blocks. A block
/// is 32 lanes x 16 bytes in the order in which mma wants them, so neither side has a bank conflict.
template <int Tokens, int Chunks, int Warps> struct TokenStage {
  static constexpr int blocks = Chunks * (Tokens / 8), share = ceilDiv(blocks, Warps);
  Operands8 held[share];

  template <class X> __device__ __forceinline__ void fetch(X x, int firstChunk, int endChunk) {
#pragma unroll
    for (int i = 0; i < share; ++i) {
      int block = i * Warps + warpIndex(), chunk = firstChunk + block / (Tokens / 8);
      if (block < blocks && chunk < endChunk)
        held[i] = x(block % (Tokens / 8) * 8 + mmaLane().g, 32 * chunk + 8 * mmaLane().q);
    }
  }
  __device__ __forceinline__ void store(uint4 *stage) const {
#pragma unroll
    for (int i = 0; i < share; ++i) {
      int block = i * Warps + warpIndex();
      const unsigned *p = held[i].pair;
      if (block < blocks)
        stage[block * 32 + (threadIdx.x & 31)] = make_uint4(p[0], p[1], p[2], p[3]);
    }
  }
};

/// What a warp of the tiled form holds.
template <int Tokens, int Rows, int SliceColumns, int Warps, int Count, class Weight> struct TiledProduct {
  static_assert(Rows % (16 * Warps) == 0 && SliceColumns % 32 == 0, "whole blocks of rows, whole chunks of k");
  static_assert(Tokens % 8 == 0, "tokens come in eights");
  using Sums = Products<Count, Tile<float, Tokens, Rows, MmaLanes<Warps>>>;
  static constexpr int chunks = Weight::columns / 32, sliceChunks = SliceColumns / 32;
  static constexpr int blocks = Rows / 16 / Warps, tokenBlocks = Tokens / 8;
  static constexpr int step = stageChunks<SliceColumns, Count * blocks * tokenBlocks * 4>;

  const Weights<Count, Weight> &weights;
  int firstBlock;
  typename Weight::Raw raw[step][Count][blocks] = {};
  Sums total{}, part{};

  __device__ __forceinline__ void load(int slot, int chunk) {
#pragma unroll
    for (int w = 0; w < Count; ++w)
#pragma unroll
      for (int p = 0; p < blocks; ++p)
        raw[slot][w][p] = weights.w[w].load(firstBlock + p, min(chunk, chunks - 1));
  }

  /// part += the chunk in `slot` times its tokens; the slot's next chunk is asked for before.
  __device__ __forceinline__ void multiply(int slot, int nextChunk, const uint4 *tokens) {
    WeightFragment a[Count][blocks];
#pragma unroll
    for (int w = 0; w < Count; ++w)
#pragma unroll
      for (int p = 0; p < blocks; ++p)
        a[w][p] = Weight::decode(raw[slot][w][p]);
    load(slot, nextChunk);
#pragma unroll
    for (int j = 0; j < tokenBlocks; ++j) {
      const uint4 v = tokens[j * 32 + threadIdx.x % 32];
      const Operands8 b{{v.x, v.y, v.z, v.w}};
#pragma unroll
      for (int w = 0; w < Count; ++w)
#pragma unroll
        for (int p = 0; p < blocks; ++p)
          mmaChunk<typename Weight::OperandType>(part.tile[w].r + (p * tokenBlocks + j) * 4, a[w][p], b);
    }
  }

  __device__ __forceinline__ void endSlice() {
#pragma unroll
    for (int w = 0; w < Count; ++w)
#pragma unroll
      for (int i = 0; i < part.tile[w].count; ++i) {
        total.tile[w].r[i] += part.tile[w].r[i];
        part.tile[w].r[i] = 0.0f;
      }
  }

  template <class X> __device__ __forceinline__ void run(X x, uint4 *stages) {
    TokenStage<Tokens, step, Warps> incoming{};
    incoming.fetch(x, 0, chunks);
#pragma unroll
    for (int c = 0; c < step; ++c)
      load(c, c);
#pragma unroll 1
    for (int first = 0, stage = 0; first < chunks; first += step, stage ^= 1) {
      uint4 *const tokens = stages + stage * step * tokenBlocks * 32;
      incoming.store(tokens);
      __syncthreads(); // the stage is complete, and nobody reads the other one any more
      incoming.fetch(x, first + step, chunks);
#pragma unroll
      for (int c = 0; c < step; ++c)
        if (chunks % step == 0 || first + c < chunks)
          multiply(c, first + step + c, tokens + c * tokenBlocks * 32);
      if ((first + step) % sliceChunks == 0 || first + step >= chunks)
        endSlice();
    }
  }
};

template <int Tokens, int Rows, int SliceColumns, int Warps, int Count, class Weight, class X>
__device__ __forceinline__ Products<Count, Tile<float, Tokens, Rows, MmaLanes<Warps>>>
weightProductTiled(const Weights<Count, Weight> &weights, int firstRow, X x, void *scratch) {
  TiledProduct<Tokens, Rows, SliceColumns, Warps, Count, Weight> product{
      weights, firstRow / 16 + warpIndex() * (Rows / 16 / Warps)};
  product.run(x, static_cast<uint4 *>(scratch));
  return product.total;
}

template <int Tokens, int Rows, int SliceColumns, int Warps, class Weight, class X>
__device__ __forceinline__ Tile<float, Tokens, Rows, MmaLanes<Warps>>
weightProductTiled(const Weight &weight, int firstRow, X x, void *scratch) {
  return weightProductTiled<Tokens, Rows, SliceColumns, Warps>(Weights<1, Weight>{{weight}}, firstRow, x, scratch)
      .tile[0];
}

} // namespace fusec
