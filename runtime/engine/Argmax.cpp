//===- Argmax.cpp --------------------------------------------------------------===//

#include "runtime/engine/Argmax.h"

#include <algorithm>
#include <array>
#include <limits>

namespace fusec::runtime {

namespace {

constexpr float lowest = -std::numeric_limits<float>::infinity();
constexpr float highest = std::numeric_limits<float>::max();
/// Enough independent maxima that the compiler keeps several vectors of them.
constexpr size_t lanes = 32;
/// A row is searched for its best block, and only that block for the place.
constexpr size_t blockSize = 1024;

/// The largest value; -inf when there is none. NaN is never above anything.
float largest(std::span<const float> values) {
  std::array<float, lanes> best;
  best.fill(lowest);
  size_t i = 0;
  for (; i + lanes <= values.size(); i += lanes)
    for (size_t lane = 0; lane < lanes; ++lane)
      best[lane] = values[i + lane] > best[lane] ? values[i + lane] : best[lane];
  for (; i < values.size(); ++i)
    best[0] = values[i] > best[0] ? values[i] : best[0];
  return std::min(*std::max_element(best.begin(), best.end()), highest);
}

} // namespace

int32_t argmax(std::span<const float> values) {
  float best = lowest;
  size_t bestBlock = 0;
  for (size_t begin = 0; begin < values.size(); begin += blockSize) {
    float found = largest(values.subspan(begin, std::min(blockSize, values.size() - begin)));
    if (found > best) {
      best = found;
      bestBlock = begin;
    }
  }
  if (best == lowest)
    return -1;
  auto place = std::find_if(values.begin() + static_cast<std::ptrdiff_t>(bestBlock), values.end(),
                            [&](float value) { return value >= best; });
  return static_cast<int32_t>(place - values.begin());
}

} // namespace fusec::runtime
