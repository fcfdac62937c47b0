//===- product_scratch.cuh - shared memory of products of stored weights ----------===//
//
// How many bytes each form of weight_product.cuh takes for itself, in one place:
// the forms lay their memory out by these, and the compiler, which is plain C++,
// reserves it by them. Nothing of CUDA here.
//
//===----------------------------------------------------------------------===//
#pragma once

#ifdef __CUDACC__
#define FUSEC_SIZE constexpr __device__ int
#else
#define FUSEC_SIZE constexpr int
#endif

namespace fusec {

inline constexpr int mmaTokens = 8, chunkColumns = 32, operandBytes = 2;

/// Floats of one warp's sums of one matrix: whole rows of the 32 banks, which partPlace exchanges within.
FUSEC_SIZE partFloats(int tokens, int rows) { return (tokens * rows + 31) / 32 * 32; }

/// A part per warp and matrix.
FUSEC_SIZE spreadScratch(int tokens, int rows, int warps, int count) {
  return count * warps * partFloats(tokens, rows) * 4;
}

/// Two stages of at most two chunks of all tokens.
FUSEC_SIZE tiledScratch(int tokens) { return 2 * 2 * tokens * chunkColumns * operandBytes; }

/// A ring of stages of two chunks of all tokens, with two barriers of 8 bytes each.
inline constexpr int warpgroupProductStages = 4;
FUSEC_SIZE warpgroupScratch(int tokens) {
  return warpgroupProductStages * (2 * tokens * chunkColumns * operandBytes + 16);
}

inline constexpr int streamBytes = 3840; ///< Under way per warp: with 24 warps 90 KB, enough for any memory so far.

/// Super-blocks of a stage, per matrix and block of 16 rows: about a third of it.
FUSEC_SIZE streamSupers(int superBytes) { return 3 * superBytes >= streamBytes ? 1 : streamBytes / 3 / superBytes; }
/// A stage: `runs` runs, one per matrix and block of rows.
FUSEC_SIZE streamStage(int superBytes, int runs) { return runs * streamSupers(superBytes) * superBytes; }
/// One stage is read, the others are under way.
FUSEC_SIZE streamStages(int stageBytes) { return 1 + (streamBytes + stageBytes - 1) / stageBytes; }
/// The stages, then 16 bytes for the barrier of each.
FUSEC_SIZE streamRing(int stageBytes) { return streamStages(stageBytes) * (stageBytes + 16); }

/// The parts, then each warp's ring.
FUSEC_SIZE streamScratch(int tokens, int rows, int warps, int count, int superBytes) {
  return spreadScratch(tokens, rows, warps, count) + warps * streamRing(streamStage(superBytes, count * rows / 16));
}

} // namespace fusec

#undef FUSEC_SIZE
