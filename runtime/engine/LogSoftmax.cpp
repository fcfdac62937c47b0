//===- LogSoftmax.cpp --------------------------------------------------------===//

#include "runtime/engine/LogSoftmax.h"

#include "runtime/engine/Argmax.h"
#include "runtime/engine/ScoreBlocks.h"
#include "runtime/engine/VectorVersions.h"
#include "runtime/schema/SamplingMath.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace fusec::runtime {

namespace {

/// Independent sums, the same on every CPU, so that the vectors of any width give the same bits.
constexpr size_t lanes = 16;
/// Terms of a lane before it is added to the double.
constexpr size_t blockSize = 64 * lanes;

/// exp(x) for x <= 0; NaN counts as -inf.
[[gnu::always_inline]] inline float expNegative(float x) {
  const bool counts = x > -87.0f; // Smaller ones are below the least normal number.
  const SamplingPower power = samplingExp(counts ? x : -87.0f);
  return counts ? power.mantissa * std::bit_cast<float>((power.exponent + 127) << 23) : 0.0f;
}

[[gnu::always_inline]] inline double sumOfBlock(const float *logits, size_t count, float best) {
#pragma clang fp contract(off)
  std::array<float, lanes> sums{};
  size_t i = 0;
  for (; i + lanes <= count; i += lanes)
    for (size_t lane = 0; lane < lanes; ++lane)
      sums[lane] += expNegative(std::min(logits[i + lane] - best, 0.0f)); // Above 0 only for +inf.
  for (; i < count; ++i)
    sums[0] += expNegative(std::min(logits[i] - best, 0.0f));
  double sum = 0;
  for (float lane : sums)
    sum += lane;
  return sum;
}

/// Blocks in single precision, summed in double: the relative error of the sum stays near 2e-7 for any vocabulary.
[[gnu::always_inline]] inline double sumOfRow(std::span<const float> logits, float best) {
  double sum = 0;
  for (size_t i = 0; i < logits.size(); i += blockSize)
    sum += sumOfBlock(logits.data() + i, std::min(blockSize, logits.size() - i), best);
  return sum;
}

FUSEC_AVX512 double sumAvx512(std::span<const float> logits, float best) { return sumOfRow(logits, best); }
FUSEC_AVX2 double sumAvx2(std::span<const float> logits, float best) { return sumOfRow(logits, best); }
double sumPlain(std::span<const float> logits, float best) { return sumOfRow(logits, best); }

} // namespace

double logSumExp(std::span<const float> logits) {
  const int32_t bestId = argmax(logits);
  if (bestId < 0)
    return -std::numeric_limits<float>::infinity();
  const float best = std::min(logits[bestId], std::numeric_limits<float>::max());
  static const auto version = versionForThisCpu(sumAvx512, sumAvx2, sumPlain);
  return best + std::log(version(logits, best));
}

TokenReport reportToken(std::span<const float> logits, int64_t sampleableIds, TokenId id, int count) {
  const double normalizer = logSumExp(logits);
  auto logprob = [&](TokenId of) {
    double value = std::min(logits[of], std::numeric_limits<float>::max()) - normalizer;
    return value >= leastLogprob ? static_cast<float>(value) : leastLogprob; // Of NaN, too.
  };
  TokenReport report{id, logprob(id), {}};
  if (count <= 0)
    return report;
  ScoreBlocks blocks;
  blocks.assign(logits.first(std::min(logits.size(), static_cast<size_t>(sampleableIds))));
  std::vector<TokenId> ids;
  blocks.forEachFrom(blocks.boundOf(static_cast<size_t>(count)), [&](TokenId id, float) { ids.push_back(id); });
  const size_t kept = std::min(static_cast<size_t>(count), ids.size());
  // Equal ones by id, so that the report does not depend on the sort.
  auto better = [&](TokenId a, TokenId b) { return logits[a] != logits[b] ? logits[a] > logits[b] : a < b; };
  std::partial_sort(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(kept), ids.end(), better);
  for (size_t i = 0; i < kept; ++i)
    report.top.push_back({ids[i], logprob(ids[i])});
  return report;
}

} // namespace fusec::runtime
