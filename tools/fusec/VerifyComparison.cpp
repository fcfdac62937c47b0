//===- VerifyComparison.cpp ------------------------------------------------===//
#include "tools/fusec/VerifyComparison.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>

namespace fusec {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

/// Largest minus smallest finite value. A row without a range is measured by its own size, or by 1
/// when it is all zeroes.
double rangeOf(std::span<const float> row) {
  float low = std::numeric_limits<float>::infinity(), high = -low;
  for (float value : row)
    if (std::isfinite(value)) {
      low = std::min(low, value);
      high = std::max(high, value);
    }
  if (high > low)
    return double(high) - double(low);
  return std::isfinite(high) && high != 0 ? std::abs(double(high)) : 1.0;
}

/// Neither finite side by side with not finite, nor different infinities.
bool sameClass(float a, float e) { return (std::isfinite(a) && std::isfinite(e)) || a == e; }

void compareRow(std::span<const float> actual, std::span<const float> expected, int64_t row, LogitDifference &into) {
  const double range = rangeOf(expected);
  for (size_t i = 0; i < expected.size(); ++i) {
    const float a = actual[i], e = expected[i];
    if (std::isnan(a) && std::isnan(e)) {
      ++into.notNumbers;
      ++into.differing;
      continue;
    }
    if (std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(e))
      continue;
    ++into.differing;
    const bool comparable = sameClass(a, e);
    into.oneSided += !comparable;
    const double error = !comparable ? infinite : a == e ? 0.0 : std::abs(double(a) - double(e));
    into.maxAbsolute = std::max(into.maxAbsolute, error);
    if (error / range > into.maxRelative || into.worstRow < 0) {
      into.maxRelative = std::max(into.maxRelative, error / range);
      into.worstRow = row;
      into.worstColumn = static_cast<int64_t>(i);
    }
  }
}

/// Best minus second best over the row's range; 0 for a row of one logit.
double topGap(std::span<const float> row) {
  float best = -std::numeric_limits<float>::infinity(), second = best;
  for (float value : row) {
    if (value > best) {
      second = best;
      best = value;
    } else if (value > second) {
      second = value;
    }
  }
  return std::isfinite(second) ? (double(best) - double(second)) / rangeOf(row) : 0.0;
}

std::string format(const char *pattern, double first, double second) {
  char text[160];
  std::snprintf(text, sizeof text, pattern, first, second);
  return text;
}

} // namespace

LogitDifference compareLogits(std::span<const float> actual, std::span<const float> expected, int64_t vocab) {
  LogitDifference result;
  const size_t common = std::min(actual.size(), expected.size());
  const size_t longest = std::max(actual.size(), expected.size());
  const auto width = static_cast<size_t>(std::max<int64_t>(vocab, 1));
  result.compared = static_cast<int64_t>(longest);
  for (size_t begin = 0; begin < common; begin += width) {
    const size_t count = std::min(width, common - begin);
    compareRow(actual.subspan(begin, count), expected.subspan(begin, count), static_cast<int64_t>(begin / width),
               result);
  }
  if (common < longest) {
    result.oneSided += static_cast<int64_t>(longest - common);
    result.differing += static_cast<int64_t>(longest - common);
    result.maxAbsolute = result.maxRelative = infinite;
    result.worstRow = static_cast<int64_t>(common / width);
  }
  return result;
}

TokenDifference compareContinuations(const VerifyTrace &actual, const VerifyTrace &expected, int64_t promptTokens) {
  TokenDifference result;
  const size_t common = std::min(actual.continuation.size(), expected.continuation.size());
  result.compared = static_cast<int64_t>(expected.continuation.size());
  auto [a, e] =
      std::mismatch(actual.continuation.begin(), actual.continuation.begin() + common, expected.continuation.begin());
  const auto index = static_cast<size_t>(a - actual.continuation.begin());
  if (index == common && actual.continuation.size() == expected.continuation.size())
    return result;
  result.index = static_cast<int64_t>(index);
  result.actual = index < actual.continuation.size() ? actual.continuation[index] : -1;
  result.expected = index < expected.continuation.size() ? expected.continuation[index] : -1;
  const auto vocab = static_cast<size_t>(expected.vocab);
  const size_t row = static_cast<size_t>(promptTokens) - 1 + index;
  result.gap = (row + 1) * vocab <= expected.logits.size()
                   ? topGap(std::span(expected.logits).subspan(row * vocab, vocab))
                   : infinite;
  return result;
}

std::string VerifyRow::failure() const {
  if (!skipped.empty())
    return {};
  if (!error.empty())
    return "could not be made: " + error;
  if (logits.notNumbers > 0)
    return std::to_string(logits.notNumbers) + " logits are NaN on both sides: nothing can be said about them";
  if (logits.oneSided > 0)
    return std::to_string(logits.oneSided) + " logits are NaN or infinite on one side only, first in row " +
           std::to_string(logits.worstRow);
  if (demand == VerifyDemand::Bits && !logits.bitEqual())
    return std::to_string(logits.differing) +
           " logits differ where equal bits are promised; the largest difference is "
           "in row " +
           std::to_string(logits.worstRow) + ", id " + std::to_string(logits.worstColumn);
  if (demand == VerifyDemand::Bound && !(logits.maxRelative <= bound))
    return format("an error of %.2e of the row's range, allowed %.2e", logits.maxRelative, bound) + "; in row " +
           std::to_string(logits.worstRow) + ", id " + std::to_string(logits.worstColumn);
  if (!tokens.equal() && !nearTie())
    return "token " + std::to_string(tokens.index) + " of the continuation differs (" + std::to_string(tokens.actual) +
           ", expected " + std::to_string(tokens.expected) +
           format("), and the two best logits are apart by %.2e of the range, more than twice %.2e", tokens.gap, bound);
  return {};
}

} // namespace fusec
