//===- SamplingPartsTest.cpp - weights, histograms, blocks and the best of rows ------===//

#include "runtime/engine/Argmax.h"
#include "runtime/engine/LogSoftmax.h"
#include "runtime/engine/SamplingMasses.h"
#include "runtime/engine/ScoreBlocks.h"
#include "test/unit/runtime/RandomLogits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

using namespace fusec;
using namespace fusec::runtime;
using fusec::runtime::test::randomLogits;

namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float notANumber = std::numeric_limits<float>::quiet_NaN();

} // namespace

TEST(LogSumExp, HasNoOverflowAndNoNaN) {
  EXPECT_NEAR(logSumExp(std::vector<float>{1000, 1000}), 1000 + std::log(2.), 1e-6);
  EXPECT_NEAR(logSumExp(std::vector<float>{-1000, -1000, notANumber, -inf}), -1000 + std::log(2.), 1e-6);
  EXPECT_EQ(logSumExp(std::vector<float>{-inf, notANumber}), -inf);
  EXPECT_TRUE(std::isfinite(logSumExp(std::vector<float>{inf, 0})));
}

// The bound is what SamplingMath.h states, and the last unit of a weight.
TEST(SamplingMath, WeightsAreExponentials) {
  EXPECT_EQ(samplingWeight(3, 3, 0.7f), samplingOne);
  EXPECT_EQ(samplingWeight(-0.0f, 0.0f, 1e-38f), samplingOne);
  EXPECT_EQ(samplingWeight(-3e38f, 3e38f, 1), 0u) << "the difference overflows";
  EXPECT_EQ(samplingWeight(0, 1, 1e-38f), 0u);
  SamplingMass last = samplingOne;
  for (float score = 0; score > -30; score -= 0.00137f) {
    const SamplingMass weight = samplingWeight(score, 0, 1);
    const double exact = std::exp(double{score}) * static_cast<double>(samplingOne);
    EXPECT_NEAR(static_cast<double>(weight), exact, 2e-7 * exact + 1) << score;
    EXPECT_LE(weight, last);
    last = weight;
  }
}

// The vector code of every instruction set gives the bits of the function.
TEST(SamplingMasses, AreThoseOfTheFunction) {
  std::mt19937 random(3);
  for (float temperature : {1e-38f, 0.1f, 1.0f, 50.0f}) {
    std::vector<float> scores(2 * MassSums::groupSize + 100);
    for (float &score : scores)
      score = static_cast<float>(random() % 100000) / -2000.0f;
    scores[5] = 0;
    scores[6] = -std::numeric_limits<float>::max();
    std::vector<SamplingMass> masses(scores.size());
    fillMasses(scores, 0, temperature, masses);
    SamplingMass sum = 0;
    for (size_t i = 0; i < scores.size(); ++i) {
      EXPECT_EQ(masses[i], samplingWeight(scores[i], 0, temperature)) << scores[i];
      sum += masses[i];
    }
    EXPECT_EQ(MassHistogram(masses).total(), sum);
    MassSums sums;
    sums.assign(scores, 0, temperature);
    EXPECT_EQ(sums.total(), sum);
    ASSERT_EQ(sums.groups().size(), 3u);
    EXPECT_EQ(sums.groups()[1], std::accumulate(masses.begin() + MassSums::groupSize,
                                                masses.begin() + 2 * MassSums::groupSize, SamplingMass{0}));
  }
}

TEST(MassHistogram, KeepsAllThatFiltersMayKeep) {
  std::mt19937 random(4);
  std::vector<SamplingMass> masses(500);
  for (SamplingMass &mass : masses)
    mass = (SamplingMass(random()) << 8) >> (random() % 40);
  const MassHistogram spread(masses);
  std::vector<SamplingMass> sorted = masses;
  std::sort(sorted.rbegin(), sorted.rend());
  SamplingMass reached = 0;
  auto expectAround = [&](const MassHistogram::Border &border, size_t last) {
    EXPECT_LE(border.least, sorted[last]);
    EXPECT_GT(border.sure, sorted[last]);
    SamplingMass sureMass = 0;
    int64_t sureCount = 0;
    for (SamplingMass mass : masses)
      if (mass >= border.sure) {
        sureMass += mass;
        ++sureCount;
      }
    EXPECT_EQ(border.sureMass, sureMass);
    EXPECT_EQ(border.sureCount, sureCount);
    EXPECT_LE(sureCount, static_cast<int64_t>(last));
  };
  for (size_t i = 0; i < sorted.size() && sorted[i] > 0; ++i) {
    expectAround(spread.borderOf(static_cast<int64_t>(i + 1)), i);
    reached += sorted[i];
    expectAround(spread.borderReaching(reached), i);
  }
}

TEST(ScoreBlocks, FindWhatIsNotBelowABound) {
  std::mt19937 random(5);
  for (size_t size : {1, 15, 64, 65, 1000, 4099}) {
    const std::vector<float> scores = randomLogits(random, size);
    ScoreBlocks blocks;
    blocks.assign(scores);
    EXPECT_EQ(blocks.bestId(), argmax(scores));
    for (float bound : {-inf, -1.0f, 0.5f, 1e30f}) {
      std::vector<int32_t> found, expected;
      blocks.forEachFrom(bound, [&](int32_t id, float score) {
        found.push_back(id);
        EXPECT_TRUE(std::isfinite(score));
      });
      for (size_t id = 0; id < size; ++id)
        if (scores[id] >= bound && scores[id] > -inf)
          expected.push_back(static_cast<int32_t>(id));
      EXPECT_EQ(found, expected);
    }
    for (size_t count : {1, 3, 10, 5000}) {
      size_t found = 0;
      blocks.forEachFrom(blocks.boundOf(count), [&](int32_t, float) { ++found; });
      EXPECT_GE(found, std::min<size_t>(count, static_cast<size_t>(std::count_if(scores.begin(), scores.end(),
                                                                                 [](float s) { return s > -inf; }))));
    }
  }
  ScoreBlocks none;
  none.assign({});
  EXPECT_EQ(none.bestId(), -1);
  const std::vector<float> impossible = {-inf, notANumber};
  none.assign(impossible);
  EXPECT_EQ(none.bestId(), -1);
}

TEST(Argmax, TakesTheLowestOfTheBest) {
  std::mt19937 random(5);
  for (size_t size : {1, 2, 31, 32, 33, 1023, 1024, 1025, 5000}) {
    std::vector<float> values(size);
    for (float &value : values)
      value = static_cast<float>(random() % 50);
    values[random() % size] = notANumber;
    size_t expected = size;
    for (size_t i = 0; i < size; ++i)
      if (!std::isnan(values[i]) && (expected == size || values[i] > values[expected]))
        expected = i;
    EXPECT_EQ(argmax(values), expected == size ? -1 : static_cast<int32_t>(expected));
  }
  EXPECT_EQ(argmax({}), -1);
  EXPECT_EQ(argmax(std::vector<float>{-inf, notANumber}), -1);
  EXPECT_EQ(argmax(std::vector<float>{1, inf, std::numeric_limits<float>::max()}), 1);
}
