//===- best_ids.cuh - the best id of a row, found where scores are computed ------===//
//
// Greedy steps want one id per row, not its scores. A program that computes a
// tile of scores keeps the best of each row and stores one word for every
// bestIdsUnit lanes; the best of a row's words (bestOfWords) is its id. A word
// orders scores, then lower ids first (sampling.cuh), so it does not matter how a
// vocabulary is cut into tiles, nor who comes first.
//
//   __shared__ SamplingMass best[8];
//   clearBest(best);
//   store(scores, [=](int row, int col, float value) { offerId(best[row], column + col, value, sampling[row].ids); });
//   publishBest<8, 2>(best, [=](int row, int unit) { return words + ...; }); // null: nothing is there
//
// All threads of the block call these.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "sampling.cuh"

namespace fusec {

template <int Rows> __device__ __forceinline__ void clearBest(SamplingMass (&best)[Rows]) {
  for (int row = threadIdx.x; row < Rows; row += blockDim.x)
    best[row] = 0;
  __syncthreads();
}

/// Ids from `ids` on are none.
__device__ __forceinline__ void offerId(SamplingMass &best, int id, float score, int ids) {
  const unsigned key = sampling::keyOf(score);
  if (key != 0 && id < ids)
    atomicMax(&best, sampling::wordOf(key, id));
}

/// Stores each row's word at at(row, 0), and 0 for its other units.
template <int Rows, int Units, class At>
__device__ __forceinline__ void publishBest(SamplingMass (&best)[Rows], At at) {
  __syncthreads();
  for (int i = threadIdx.x; i < Rows * Units; i += blockDim.x)
    if (SamplingMass *const word = at(i / Units, i % Units))
      *word = i % Units == 0 ? best[i / Units] : 0;
}

/// The id of the best of `count` words; -1 if all are 0.
template <int P> __device__ int bestOfWords(const SamplingMass *words, int count, void *shared) {
  SamplingMass mine = 0;
  for (int i = threadIdx.x; i < count; i += P)
    mine = words[i] > mine ? words[i] : mine;
  return sampling::idOf(sampling::Block<P>(shared).largest(mine));
}

} // namespace fusec
