//===- ScoreBlocks.cpp ---------------------------------------------------------===//

#include "runtime/engine/ScoreBlocks.h"

#include <cstring>
#include <functional>

namespace fusec::runtime {

namespace {

constexpr float lowest = -std::numeric_limits<float>::infinity();
constexpr float highest = std::numeric_limits<float>::max();
/// Of a vector: as many as the widest registers hold; narrower ones take several.
constexpr size_t lanes = 16;
static_assert(ScoreBlocks::blockSize % lanes == 0);

using Vector = float __attribute__((ext_vector_type(lanes)));
using Bits = bool __attribute__((ext_vector_type(lanes)));
static_assert(sizeof(Bits) == sizeof(uint16_t));

Vector load(const float *values) {
  Vector vector;
  std::memcpy(&vector, values, sizeof vector);
  return vector;
}

float largestOfBlock(const float *values) {
  Vector best = lowest;
  for (size_t i = 0; i < ScoreBlocks::blockSize; i += lanes) {
    const Vector next = load(values + i);
    best = next > best ? next : best; // NaN is never above anything.
  }
  return std::min(__builtin_reduce_max(best), highest);
}

float largestOf(std::span<const float> values) {
  float best = lowest;
  for (float value : values)
    best = value > best ? value : best;
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
    const Bits bits = __builtin_convertvector(load(values.data() + begin + i) >= bound, Bits); // False for NaN.
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
