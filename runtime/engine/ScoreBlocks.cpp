//===- ScoreBlocks.cpp ---------------------------------------------------------===//

#include "runtime/engine/ScoreBlocks.h"

#include <array>
#include <cstring>
#include <functional>

namespace fusec::runtime {

namespace {

constexpr float lowest = -std::numeric_limits<float>::infinity();
constexpr float highest = std::numeric_limits<float>::max();
/// Enough independent maxima that the compiler keeps several vectors of them.
constexpr size_t lanes = 16;
static_assert(ScoreBlocks::blockSize % lanes == 0);

using Vector = float __attribute__((ext_vector_type(lanes)));
using Bits = bool __attribute__((ext_vector_type(lanes)));
static_assert(sizeof(Bits) == sizeof(uint16_t));

/// NaN is never above anything.
float larger(float value, float than) { return value > than ? value : than; }

float largestOfBlock(const float *values) {
  std::array<float, lanes> best;
  best.fill(lowest);
  for (size_t i = 0; i < ScoreBlocks::blockSize; i += lanes)
    for (size_t lane = 0; lane < lanes; ++lane)
      best[lane] = larger(values[i + lane], best[lane]);
  for (size_t half = lanes / 2; half > 0; half /= 2)
    for (size_t lane = 0; lane < half; ++lane)
      best[lane] = larger(best[lane + half], best[lane]);
  return std::min(best[0], highest);
}

float largestOf(std::span<const float> values) {
  float best = lowest;
  for (float value : values)
    best = larger(value, best);
  return std::min(best, highest);
}

} // namespace

void ScoreBlocks::assign(std::span<const float> scores) {
  values = scores;
  const size_t whole = scores.size() / blockSize;
  best.resize((scores.size() + blockSize - 1) / blockSize);
  for (size_t block = 0; block < whole; ++block)
    best[block] = largestOfBlock(scores.data() + block * blockSize);
  if (whole < best.size())
    best[whole] = largestOf(scores.subspan(whole * blockSize));
}

uint64_t ScoreBlocks::findFrom(float bound, size_t block) const {
  const size_t begin = block * blockSize, count = std::min(blockSize, values.size() - begin);
  uint64_t found = 0;
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    Vector scores;
    std::memcpy(&scores, values.data() + begin + i, sizeof scores);
    const Bits bits = __builtin_convertvector(scores >= bound, Bits); // False for NaN.
    found |= uint64_t{std::bit_cast<uint16_t>(bits)} << i;
  }
  for (; i < count; ++i)
    found |= uint64_t{values[begin + i] >= bound} << i;
  return found;
}

int32_t ScoreBlocks::bestId() const {
  const auto block = std::max_element(best.begin(), best.end());
  if (block == best.end() || *block == lowest)
    return -1;
  const auto first = values.begin() + (block - best.begin()) * static_cast<std::ptrdiff_t>(blockSize);
  return static_cast<int32_t>(std::find_if(first, values.end(), [&](float value) { return value >= *block; }) -
                              values.begin());
}

float ScoreBlocks::boundOf(size_t count) const {
  if (count == 0 || count > best.size())
    return lowest;
  ranked = best;
  const auto last = ranked.begin() + static_cast<std::ptrdiff_t>(count - 1);
  std::nth_element(ranked.begin(), last, ranked.end(), std::greater<>());
  return *last;
}

} // namespace fusec::runtime
