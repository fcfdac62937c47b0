//===- SamplingMath.h - the arithmetic of drawing a token ----------------------===//
//
// The one definition that the sampler on the CPU (runtime/engine/Sampler.h) and
// the sampling kernel of a GPU (codegen/cuda/device/sampling.cuh, which carries
// this file) share, so that both draw the same id for the same scores, parameters
// and draw number. Weights are integers, so their sums are exact in any order;
// what makes a weight of a score is f32 additions, products and one division in
// the order written here, each rounded by itself: no contraction, no library.
//
//   weight = samplingWeight(score, best, temperature);          // 2^40 for the best
//   target = samplingTarget(samplingUniform(seed, draw), sum);  // the id at which the running sum exceeds it
//
// C++17 that NVRTC compiles too; includes nothing.
//
//===----------------------------------------------------------------------===//
#pragma once

#ifdef __CUDACC__
#define FUSEC_ON_ALL __host__ __device__
#else
#define FUSEC_ON_ALL
#endif

namespace fusec {

using SamplingMass = unsigned long long;

/// One row's parameters as kernels read them: 10 words of 32 bits.
struct SamplingRow {
  unsigned long long seed, draw;
  float temperature; ///< >= 0; 0 = the best id, whatever the rest says.
  int topK;          ///< <= 0: all.
  float topP, minP;  ///< In [0, 1].
  int ids;           ///< Only ids below are chosen; at most the vocabulary.
  int reserved;
};
inline constexpr int samplingRowWords = sizeof(SamplingRow) / 4;
static_assert(samplingRowWords == 10, "the layout is part of an artifact's format");

/// Greedy steps store a word of 64 bits, score and id, for each so many neighbouring ids (best_ids.cuh).
inline constexpr int bestIdsUnit = 16;

/// Vocabularies that fit: 2^20 weights of 2^40 fit an integer.
inline constexpr int samplingMaxIds = 1 << 20;

inline constexpr SamplingMass samplingOne = SamplingMass(1) << 40;

/// Draw number `draw` of the stream `seed`, in [0, 1). The finaliser is that of SplitMix64 (Steele, Lea, Flood 2014),
/// applied twice so that neighbouring seeds do not give shifted copies of one stream.
FUSEC_ON_ALL inline double samplingUniform(unsigned long long seed, unsigned long long draw) {
  unsigned long long x = seed + 0x9e3779b97f4a7c15ull;
  for (int round = 0; round < 2; ++round) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    x ^= x >> 31;
    if (round == 0)
      x += (draw + 1) * 0x9e3779b97f4a7c15ull;
  }
  return static_cast<double>(x >> 11) * 0x1.0p-53;
}

/// mantissa * 2^exponent.
struct SamplingPower {
  float mantissa;
  int exponent;
};

/// exp(x) for -88 < x <= 0, right to 2e-7, with a mantissa above 1/2: exp(x) = 2^n exp(r) with |r| <= ln(2) / 2. Adding
/// 1.5 * 2^23 rounds to an integer; ln(2) is in two parts, the first of which is exact times n; the rest is the Taylor
/// series. Without branches and calls, so that a loop over a vocabulary becomes vector code.
FUSEC_ON_ALL inline SamplingPower samplingExp(float x) {
#ifdef __clang__
#pragma clang fp contract(off)
#endif
  const float n = (x * 1.44269504f + 12582912.0f) - 12582912.0f;
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = r * (1.0f / 5040) + 1.0f / 720;
  p = r * p + 1.0f / 120;
  p = r * p + 1.0f / 24;
  p = r * p + 1.0f / 6;
  p = r * p + 0.5f;
  p = r * p + 1.0f;
  p = r * p + 1.0f;
  return {p, static_cast<int>(n)};
}

/// 2^40 exp((score - best) / temperature), rounded down; the exponential is right to 2e-7. Scores are finite, none
/// above `best`; temperature > 0. Relative to the best, so that its weight is exactly 2^40 even at the tiniest
/// temperature.
FUSEC_ON_ALL inline SamplingMass samplingWeight(float score, float best, float temperature) {
#ifdef __clang__
#pragma clang fp contract(off)
#endif
  const float exact = (score - best) / temperature;
  const bool counts = exact > -28.0f; // exp(-28) < 2^-40
  const SamplingPower power = samplingExp(counts ? exact : -28.0f);
  // The mantissa's 24 bits are an integer in units of 2^-24.
  const SamplingMass units = static_cast<SamplingMass>(static_cast<int>(power.mantissa * 16777216.0f));
  const SamplingMass weight = (units << 16) >> -power.exponent;
  return counts ? weight : 0;
}

/// The least that the kept beginning has to weigh, for weights that add up to `all`: at least 1, so that one id is
/// kept.
FUSEC_ON_ALL inline SamplingMass samplingNucleus(float topP, SamplingMass all) {
  const SamplingMass wanted = static_cast<SamplingMass>(static_cast<double>(topP) * static_cast<double>(all));
  return wanted > 0 ? wanted : 1;
}

/// Lighter ids are left out by min-p.
FUSEC_ON_ALL inline SamplingMass samplingLeast(float minP) {
  return static_cast<SamplingMass>(minP * static_cast<float>(samplingOne));
}

/// The first id, ascending, at which the running sum of weights exceeds this is drawn.
FUSEC_ON_ALL inline SamplingMass samplingTarget(double uniform, SamplingMass all) {
  const SamplingMass target = static_cast<SamplingMass>(uniform * static_cast<double>(all));
  return target < all ? target : all - 1; // The product was rounded.
}

} // namespace fusec
