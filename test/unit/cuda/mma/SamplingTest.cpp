//===- SamplingTest.cpp - drawing tokens on the device ----------------------------===//
#include "test/unit/cuda/mma/MmaHarness.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

using namespace fusec;
using namespace fusec::test;

namespace {

struct Choice {
  int64_t topK;
  double topP, minP, temperature;
};

/// The ids that are kept, ascending, with their probabilities' sums: what sampling.cuh says, by sorting.
struct Distribution {
  std::vector<int> ids;
  std::vector<double> upTo;

  Distribution(std::vector<float> scores, const Choice &c) {
    for (float &s : scores)
      s = std::isnan(s) ? -INFINITY : std::min(s, std::numeric_limits<float>::max());
    std::vector<int> order;
    for (size_t id = 0; id < scores.size(); ++id)
      if (scores[id] > -INFINITY)
        order.push_back(static_cast<int>(id));
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return scores[a] > scores[b]; });
    if (c.topK > 0 && c.topK < std::ssize(order))
      order.resize(c.topK);
    const double top = scores[order[0]];
    auto weight = [&](int id) { return std::exp((scores[id] - top) / c.temperature); };
    double total = 0, reached = 0;
    for (int id : order)
      total += weight(id);
    size_t kept = 0;
    while (kept < order.size() && (kept == 0 || reached < c.topP * total) && weight(order[kept]) >= c.minP)
      reached += weight(order[kept++]);
    order.resize(kept);
    std::sort(order.begin(), order.end());
    ids = order;
    double sum = 0;
    for (int id : ids)
      upTo.push_back(sum += weight(id) / reached);
  }
  /// Weights on the device are f32 exponentials cut to 2^-40: an id's place in [0, 1) is known to about 1e-5.
  std::string describe(int id) const {
    auto at = std::lower_bound(ids.begin(), ids.end(), id);
    if (at == ids.end() || *at != id)
      return "which is not among the " + std::to_string(ids.size()) + " kept";
    return "which ends at " + std::to_string(upTo[at - ids.begin()]);
  }
  bool allows(int id, double u) const {
    auto at = std::lower_bound(ids.begin(), ids.end(), id);
    if (at == ids.end() || *at != id)
      return false;
    const size_t i = at - ids.begin();
    return u > (i ? upTo[i - 1] : 0) - 1e-5 && u < upTo[i] + 1e-5;
  }
};

TEST(Sampling, TopKTopPMinPAndTies) {
  FUSEC_REQUIRE_NVRTC(nvrtc);
  MmaProgram program(*nvrtc, "sm_80", "sampling.cu", {});
  if (HasFailure())
    return;
  constexpr int64_t rows = 12, count = 3001;
  std::vector<float> scores = randomFloats(rows * count, 3);
  for (int64_t i = 0; i < rows * count; ++i)
    scores[i] = std::round(scores[i] * 6 * 64) / 64; // ties everywhere
  scores[5] = NAN;
  scores[7] = -INFINITY;
  scores[count + 2000] = INFINITY;
  for (int64_t i = 0; i < count; ++i) // row 2: one possible id
    scores[2 * count + i] = i == 1234 ? -3.0f : -INFINITY;
  for (int64_t i = 0; i < count; ++i) // row 3: all alike; row 4: nothing
    scores[3 * count + i] = -0.0f, scores[4 * count + i] = NAN;
  std::vector<double> uniform(rows);
  for (int64_t r = 0; r < rows; ++r)
    uniform[r] = r == 0 ? 0.0 : r == 5 ? 1 - 0x1p-53 : 0.083 * static_cast<double>(r);
  const uint64_t s = program.put(scores), u = program.put(uniform);
  const Choice choices[] = {{0, 1, 0, 1},     {40, 1, 0, 0.7}, {0, 0.9, 0, 1.5},
                            {100, 0.5, 0, 1}, {0, 1, 0.25, 1}, {1, 0.5, 0, 1}};
  for (const Choice &c : choices) {
    SCOPED_TRACE("top-k " + std::to_string(c.topK) + " top-p " + std::to_string(c.topP));
    const std::vector<int64_t> sizes = {
        rows, count, c.topK, std::llround(1e6 * c.topP), std::llround(1e6 * c.minP), std::llround(1e6 * c.temperature)};
    const uint64_t best = program.put(std::vector<int32_t>(rows, -2)),
                   drawn = program.put(std::vector<int32_t>(rows, -2));
    Status status = program.launch("sample", {.grid = rows, .threads = 256}, {s, u, best, drawn, program.put(sizes)});
    ASSERT_TRUE(status.ok()) << status.message();
    const std::vector<int32_t> foundBest = program.get<int32_t>(best, rows), found = program.get<int32_t>(drawn, rows);
    for (int64_t r = 0; r < rows; ++r) {
      if (r == 4) {
        EXPECT_EQ(foundBest[r], -1);
        EXPECT_EQ(found[r], -1);
        continue;
      }
      std::vector<float> row(scores.begin() + r * count, scores.begin() + (r + 1) * count);
      const Distribution only(row, {1, 1, 0, 1}), expected(row, c);
      EXPECT_EQ(foundBest[r], only.ids[0]) << "row " << r;
      EXPECT_TRUE(expected.allows(found[r], uniform[r]))
          << "row " << r << " drew " << found[r] << " for " << uniform[r] << ", " << expected.describe(found[r]);
    }
  }
}

} // namespace
