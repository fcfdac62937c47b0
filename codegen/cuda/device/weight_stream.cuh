//===- weight_stream.cuh - few tokens, weights streamed through shared memory ----===//
//
// The form of weight_product.cuh for memory that needs many bytes under way:
//
//   Tile<float, Tokens, Rows, Flat<32 * Warps>> y =
//       weightProductStreamed<Tokens, Rows, SliceColumns, Warps>(w, firstRow, x, scratch);
//
// as weightProductSpread, with the same bits, for packed weights. Each warp has a
// ring of stages that only it uses; a stage is a run of a panel's super-blocks,
// which lie side by side in memory, of each matrix and row block. On sm_90 one lane
// asks for a run by one bulk copy, before that all lanes copy 16 bytes at a time.
// What is under way costs no registers; it is at least streamBytes per warp.
//
// SliceColumns must be whole super-blocks. `scratch`: streamScratch bytes
// (product_scratch.cuh), 16-byte aligned.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "cp_async.cuh"
#include "weight_product.cuh"
#if __CUDA_ARCH__ >= 900
#include "bulk_copy.cuh"
#endif

namespace fusec {

/// The ring of one warp: stages of Bytes, filled and read in turn. Begin all uses with start().
template <int Bytes> struct WarpRing {
  static constexpr int stages = streamStages(Bytes);
  unsigned char *memory; ///< The stages, then 16 bytes for each.
  int filled = 0, read = 0;

  __device__ __forceinline__ unsigned char *stage(int number) const { return memory + number % stages * Bytes; }

#if __CUDA_ARCH__ >= 900
  __device__ __forceinline__ Mbarrier barrier(int number) const {
    return {sharedAddress(memory + stages * Bytes) + number % stages * 16};
  }
  __device__ __forceinline__ void start() const {
    if (threadIdx.x % 32 == 0) {
#pragma unroll
      for (int s = 0; s < stages; ++s)
        barrier(s).init(1);
      fenceMbarrierInit();
    }
    __syncwarp();
  }
  /// Starts filling the next stage with `runs` runs; run(i) is where the i-th one's `bytes` are.
  template <int runs, class Run> __device__ __forceinline__ void fill(int bytes, Run run) {
    if (threadIdx.x % 32 == 0) {
      barrier(filled).arriveExpecting(runs * bytes);
#pragma unroll
      for (int i = 0; i < runs; ++i)
        copyBulk(sharedAddress(stage(filled)) + i * (Bytes / runs), run(i), bytes, barrier(filled));
    }
    ++filled;
  }
  __device__ __forceinline__ void skip() {}
  __device__ __forceinline__ unsigned char *next() {
    barrier(read).wait(read / stages & 1);
    return stage(read++);
  }
#else
  __device__ __forceinline__ void start() const {}
  template <int runs, class Run> __device__ __forceinline__ void fill(int bytes, Run run) {
#pragma unroll
    for (int i = 0; i < runs; ++i) {
      const unsigned to = sharedAddress(stage(filled)) + i * (Bytes / runs);
      for (int at = threadIdx.x % 32 * 16; at < bytes; at += 512)
        copyAsync(to + at, run(i) + at);
    }
    commitAsync();
    ++filled;
  }
  /// Stands for a fill when there is nothing left.
  __device__ __forceinline__ void skip() { commitAsync(); }
  /// The oldest stage that was filled, when `stages` fills or skips followed its predecessor's.
  __device__ __forceinline__ unsigned char *next() {
    waitAsync<stages - 1>();
    __syncwarp();
    return stage(read++);
  }
#endif
};

/// multiplySlice with weights from a ring.
template <int Tokens, int Rows, int Count, class Weight, class X, class Ring>
__device__ __forceinline__ void multiplyStreamed(SliceSums<Count, Rows / 16, ceilDiv(Tokens, 8)> &sums,
                                                 const Weights<Count, Weight> &weights, int firstBlock, int first,
                                                 int end, X x, Ring &ring) {
  constexpr int blocks = Rows / 16, tokenBlocks = ceilDiv(Tokens, 8), runs = Count * blocks;
  constexpr int supers = streamSupers(Weight::superBytes);
  constexpr int step = supers * Weight::superChunks, runBytes = supers * Weight::superBytes;
  const auto fill = [&](int chunk) {
    if (chunk < end)
      ring.template fill<runs>(min(step, end - chunk) / Weight::superChunks * Weight::superBytes,
                               [&](int i) { return weights.w[i / blocks].superBlock(firstBlock + i % blocks, chunk); });
    else
      ring.skip();
  };
#pragma unroll
  for (int s = 0; s < Ring::stages - 1; ++s)
    fill(first + s * step);
#pragma unroll 1
  for (int chunk = first; chunk < end; chunk += step) {
    __syncwarp(); // all lanes are done with the stage that is filled now
    fill(chunk + (Ring::stages - 1) * step);
    Operands8 tokens[tokenBlocks], next[tokenBlocks];
    loadTokens<Tokens>(tokens, x, chunk);
    const unsigned char *stage = ring.next();
#pragma unroll 2
    for (int c = 0; c < step; ++c) {
      if (chunk + c >= end)
        break;
      loadTokens<Tokens>(next, x, min(chunk + c + 1, end - 1));
#pragma unroll
      for (int i = 0; i < runs; ++i) {
        const unsigned char *super = stage + i * runBytes + c / Weight::superChunks * Weight::superBytes;
        const WeightFragment a = Weight::decode(Weight::loadShared(super, c % Weight::superChunks));
#pragma unroll
        for (int j = 0; j < tokenBlocks; ++j)
          mmaChunk<typename Weight::OperandType>(sums.c[i / blocks][i % blocks][j], a, tokens[j]);
      }
#pragma unroll
      for (int j = 0; j < tokenBlocks; ++j)
        tokens[j] = next[j];
    }
  }
}

template <int Tokens, int Rows, int SliceColumns, int Warps, int Count, class Weight, class X>
__device__ __forceinline__ Products<Count, Tile<float, Tokens, Rows, Flat<32 * Warps>>>
weightProductStreamed(const Weights<Count, Weight> &weights, int firstRow, X x, void *scratch) {
  static_assert(SliceColumns / 32 % Weight::superChunks == 0, "slices are whole super-blocks");
  using Sums = SliceSums<Count, Rows / 16, ceilDiv(Tokens, 8)>;
  constexpr int stageBytes = streamStage(Weight::superBytes, Count * Rows / 16);
  unsigned char *memory = static_cast<unsigned char *>(scratch);
  WarpRing<stageBytes> ring{memory + spreadScratch(Tokens, Rows, Warps, Count) + warpIndex() * streamRing(stageBytes)};
  ring.start();
  return addSlices<Tokens, Rows, SliceColumns, Warps, Count, Weight>(
      reinterpret_cast<float *>(memory), [&](Sums &sums, int first, int end) {
        multiplyStreamed<Tokens, Rows>(sums, weights, firstRow / 16, first, end, x, ring);
      });
}

template <int Tokens, int Rows, int SliceColumns, int Warps, class Weight, class X>
__device__ __forceinline__ Tile<float, Tokens, Rows, Flat<32 * Warps>>
weightProductStreamed(const Weight &weight, int firstRow, X x, void *scratch) {
  return weightProductStreamed<Tokens, Rows, SliceColumns, Warps>(Weights<1, Weight>{{weight}}, firstRow, x, scratch)
      .tile[0];
}

} // namespace fusec
