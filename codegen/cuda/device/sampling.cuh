//===- sampling.cuh - one token from a row of scores, without sorting -----------===//
//
// The block's P threads choose one of `count` ids: top-k, then top-p, then min-p
// of the softmax at a temperature, as runtime/engine/Sampler.h orders the steps.
//
//   int id = sampleToken<P>(scores, count, {.temperature = 0.8f, .topK = 40, .topP = 0.95f}, uniform, shared);
//   int id = bestToken<P>(scores, count, shared);       // temperature 0: the largest, lowest id on ties
//
// Ids in the order (score descending, id ascending) make a sequence, and each of
// the three steps keeps a beginning of it. Where it ends is found digit by digit
// of the score's bits: 4 passes with a histogram of 256 bins, of ids (top-k) or
// of weights (top-p). Weights are integers, 2^40 exp((score - best) / temperature)
// rounded down: their sums are exact in any order, so the result depends on
// scores and `uniform` alone. Ids are then drawn in ascending order. Whatever
// decides is in SamplingMath.h: the sampler on the host draws the same id.
//
// NaN counts as impossible (-inf), +inf as the largest finite number; -1 when
// nothing is possible. count < 2^20. All threads get the result; `shared` has
// samplingScratchBytes bytes, 16-byte aligned, and is free again after a barrier.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "SamplingMath.h"

namespace fusec {

struct SamplingChoice {
  float temperature = 1; ///< > 0.
  int topK = 0;          ///< 0: all.
  float topP = 1;        ///< In (0, 1].
  float minP = 0;        ///< Of the best id's probability.
};

inline constexpr int samplingScratchBytes = 256 * 8 + 32 * 8 + 16;

namespace sampling {

using Mass = SamplingMass;

/// Scores as integers in the same order; 0 is impossible. Both zeros are one.
__device__ __forceinline__ unsigned keyOf(float score) {
  if (!(score > -__int_as_float(0x7f800000)))
    return 0;
  const unsigned bits = __float_as_uint(fminf(score, 3.402823466e38f) + 0.0f);
  return bits >> 31 ? ~bits : bits | 0x80000000u;
}
__device__ __forceinline__ float scoreOf(unsigned key) { return __uint_as_float(key >> 31 ? key & 0x7fffffffu : ~key); }

/// A score and its id in one word: the higher score is the larger, and of equal ones the lower id. 0 is no id.
__device__ __forceinline__ Mass wordOf(unsigned key, int id) {
  return Mass(key) << 32 | (0xffffffffu - static_cast<unsigned>(id));
}
__device__ __forceinline__ int idOf(Mass word) {
  return word == 0 ? -1 : static_cast<int>(0xffffffffu - static_cast<unsigned>(word));
}

/// What is kept: the keys above `key`, and the first `ties` ids of those that equal it.
struct Cut {
  unsigned key = 1;
  Mass ties = ~Mass(0);
};

template <int P> struct Block {
  static_assert(P % 32 == 0 && P >= 32 && P <= 1024, "whole warps");
  Mass *bins;   ///< 256
  Mass *warps;  ///< 32
  Mass *result; ///< 2

  __device__ explicit Block(void *shared) : bins(static_cast<Mass *>(shared)), warps(bins + 256), result(warps + 32) {}

  /// Sum over the threads before this one, and over all of them.
  __device__ Mass sumBefore(Mass mine, Mass &total) const {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    Mass inclusive = mine;
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
      const Mass other = __shfl_up_sync(0xffffffffu, inclusive, d);
      inclusive += lane >= d ? other : 0;
    }
    if (lane == 31)
      warps[warp] = inclusive;
    __syncthreads();
    Mass before = 0;
    total = 0;
#pragma unroll 4
    for (int w = 0; w < P / 32; ++w) {
      before += w < warp ? warps[w] : 0;
      total += warps[w];
    }
    __syncthreads();
    return before + inclusive - mine;
  }
  __device__ Mass sum(Mass mine) const {
    Mass total;
    sumBefore(mine, total);
    return total;
  }
  __device__ Mass largest(Mass mine) const {
#pragma unroll
    for (int d = 16; d >= 1; d /= 2) {
      const Mass other = __shfl_xor_sync(0xffffffffu, mine, d);
      mine = other > mine ? other : mine;
    }
    if (threadIdx.x % 32 == 0)
      warps[threadIdx.x / 32] = mine;
    __syncthreads();
#pragma unroll 4
    for (int w = 0; w < P / 32; ++w)
      mine = warps[w] > mine ? warps[w] : mine;
    __syncthreads();
    return mine;
  }

  /// The bin, from the last one down, in which the running sum reaches `wanted`; `above` becomes the sum before it.
  /// By the first warp, 8 bins per lane; all threads get the result.
  __device__ int binOf(Mass wanted, Mass &above) const {
    __syncthreads();
    if (threadIdx.x < 32) {
      const int last = 255 - 8 * static_cast<int>(threadIdx.x);
      Mass mine = 0;
      for (int i = 0; i < 8; ++i)
        mine += bins[last - i];
      Mass reached = mine;
#pragma unroll
      for (int d = 1; d < 32; d *= 2) {
        const Mass other = __shfl_up_sync(0xffffffffu, reached, d);
        reached += static_cast<int>(threadIdx.x) >= d ? other : 0;
      }
      reached += above;
      Mass before = reached - mine;
      if (before < wanted && reached >= wanted)
        for (int i = 0; i < 8; ++i) {
          const Mass bin = bins[last - i];
          if (before + bin >= wanted) {
            result[0] = last - i;
            result[1] = before;
            break;
          }
          before += bin;
        }
    }
    __syncthreads();
    above = result[1];
    return static_cast<int>(result[0]);
  }

  /// f(key, id) for all possible ids, each by one thread. Some loads are asked for before the first is used: what f
  /// does (atomics) would keep the compiler from it.
  template <class F> static __device__ void each(const float *scores, int count, F f) {
    constexpr int inFlight = 4;
    for (int first = threadIdx.x; first < count; first += inFlight * P) {
      unsigned keys[inFlight];
#pragma unroll
      for (int i = 0; i < inFlight; ++i)
        keys[i] = first + i * P < count ? keyOf(scores[first + i * P]) : 0;
#pragma unroll
      for (int i = 0; i < inFlight; ++i)
        if (keys[i])
          f(keys[i], first + i * P);
    }
  }

  /// The shortest beginning of the sequence whose measures add up to `wanted`, which is at most those of all.
  template <class Measure> __device__ Cut cut(const float *scores, int count, Mass wanted, Measure measure) const {
    unsigned key = 0, mask = 0;
    Mass above = 0;
#pragma unroll 1
    for (int shift = 24; shift >= 0; shift -= 8) {
      for (int b = threadIdx.x; b < 256; b += P)
        bins[b] = 0;
      __syncthreads();
      each(scores, count, [&](unsigned k, int) {
        if ((k & mask) == key)
          atomicAdd(&bins[k >> shift & 255u], measure(k));
      });
      key |= static_cast<unsigned>(binOf(wanted, above)) << shift;
      mask |= 255u << shift;
    }
    const Mass one = measure(key);
    return {key, (wanted - above + one - 1) / one};
  }
};

/// The word of the best id.
template <int P> __device__ Mass best(const Block<P> &block, const float *scores, int count) {
  Mass mine = 0;
  Block<P>::each(scores, count, [&](unsigned key, int id) {
    const Mass word = wordOf(key, id);
    mine = word > mine ? word : mine;
  });
  return block.largest(mine);
}

} // namespace sampling

/// The id of the largest score, the lowest one on ties.
template <int P> __device__ int bestToken(const float *scores, int count, void *shared) {
  return sampling::idOf(sampling::best(sampling::Block<P>(shared), scores, count));
}

namespace sampling {

/// Weights of one row.
struct Weighting {
  float top, temperature;
  __device__ __forceinline__ Mass operator()(unsigned key) const {
    return samplingWeight(scoreOf(key), top, temperature);
  }
};

template <int P> __device__ Cut cutTopK(const Block<P> &block, const float *scores, int count, int topK) {
  if (topK <= 0)
    return {};
  Mass ids = 0;
  Block<P>::each(scores, count, [&](unsigned, int) { ++ids; });
  ids = block.sum(ids);
  if (static_cast<Mass>(topK) >= ids)
    return {};
  return block.cut(scores, count, topK, [](unsigned) { return Mass(1); });
}

/// The beginning of `kept` that has the share topP of its weight. It ends no later than `kept`: the sums are the same.
template <int P>
__device__ Cut cutTopP(const Block<P> &block, const float *scores, int count, Cut kept, float topP, Weighting weight) {
  if (topP >= 1.0f)
    return kept;
  Mass above = 0, ties = 0;
  Block<P>::each(scores, count, [&](unsigned key, int) {
    above += key > kept.key ? weight(key) : 0;
    ties += key == kept.key;
  });
  ties = block.sum(ties);
  ties = ties < kept.ties ? ties : kept.ties;
  const Mass total = block.sum(above) + (ties ? ties * weight(kept.key) : 0);
  return block.cut(scores, count, samplingNucleus(topP, total), weight);
}

/// Each thread draws from neighbouring ids, so that ids ascend over the threads.
template <int P> struct Draw {
  const Block<P> &block;
  const float *scores;
  Cut kept;
  Mass least; ///< Lighter ids are left out.
  Weighting weight;

  /// 0 for what is not kept; `seen` counts the ids that equal the cut.
  __device__ Mass massOf(int id, Mass &seen) const {
    const unsigned key = keyOf(scores[id]);
    if (key < kept.key || (key == kept.key && seen++ >= kept.ties))
      return 0;
    const Mass m = weight(key);
    return m >= least ? m : 0;
  }
  __device__ int operator()(int count, double uniform) const {
    const int share = (count + P - 1) / P, from = static_cast<int>(threadIdx.x) * share, to = min(from + share, count);
    Mass ties = 0, mine = 0, all;
    for (int id = from; id < to; ++id)
      ties += keyOf(scores[id]) == kept.key;
    const Mass tiesBefore = block.sumBefore(ties, all);
    Mass seen = tiesBefore;
    for (int id = from; id < to; ++id)
      mine += massOf(id, seen);
    const Mass before = block.sumBefore(mine, all);
    const Mass target = samplingTarget(uniform, all);
    if (before <= target && target < before + mine)
      block.result[0] = find(from, tiesBefore, target - before);
    __syncthreads();
    return static_cast<int>(block.result[0]);
  }
  /// The id from `from` on at which the running weight exceeds `target`.
  __device__ int find(int from, Mass seen, Mass target) const {
    int id = from;
    for (Mass reached = massOf(id, seen); reached <= target; reached += massOf(id, seen))
      ++id;
    return id;
  }
};

} // namespace sampling

/// One id at random; `uniform` in [0, 1) is the same in all threads.
template <int P>
__device__ int sampleToken(const float *scores, int count, SamplingChoice choice, double uniform, void *shared) {
  using namespace sampling;
  const Block<P> block(shared);
  const Mass word = best(block, scores, count);
  if (word == 0)
    return -1;
  const Weighting weight{scoreOf(static_cast<unsigned>(word >> 32)), choice.temperature};
  const Cut topK = cutTopK(block, scores, count, choice.topK);
  const Cut kept = cutTopP(block, scores, count, topK, choice.topP, weight);
  return Draw<P>{block, scores, kept, samplingLeast(choice.minP), weight}(count, uniform);
}

/// The id that a row's parameters ask for.
template <int P> __device__ int chooseToken(const float *scores, const SamplingRow &row, void *shared) {
  if (row.temperature == 0)
    return bestToken<P>(scores, row.ids, shared);
  const SamplingChoice choice = {row.temperature, row.topK, row.topP, row.minP};
  return sampleToken<P>(scores, row.ids, choice, samplingUniform(row.seed, row.draw), shared);
}

} // namespace fusec
