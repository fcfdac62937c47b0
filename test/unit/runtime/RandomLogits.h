//===- RandomLogits.h - rows of scores with ties and corners ---------------------===//
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <vector>

namespace fusec::runtime::test {

/// Flat or steep, sometimes with many equal scores, sometimes with NaN, infinities and the lowest number; one is 1.
inline std::vector<float> randomLogits(std::mt19937 &random, size_t count) {
  const float spread = std::array{0.01f, 1.0f, 3.0f, 30.0f}[random() % 4];
  std::normal_distribution<float> normal(0, spread);
  const bool hasTies = random() % 3 == 0, hasCorners = random() % 3 == 0;
  std::vector<float> logits(count);
  for (float &logit : logits) {
    logit = normal(random);
    if (hasTies)
      logit = std::round(logit * 2) / 2;
    if (hasCorners && random() % 50 == 0)
      logit = std::array{std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                         std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::lowest()}[random() % 4];
  }
  logits[random() % count] = 1;
  return logits;
}

} // namespace fusec::runtime::test
