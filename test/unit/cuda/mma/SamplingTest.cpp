//===- SamplingTest.cpp - drawing tokens on the device ----------------------------===//
//
// The sampler on the host is the reference (its distribution has tests of its
// own): the device has to choose the same id, whatever the scores are.
//
//===----------------------------------------------------------------------===//
#include "runtime/engine/Sampler.h"
#include "test/unit/cuda/mma/MmaHarness.h"

#include <cmath>
#include <limits>

using namespace fusec;
using namespace fusec::test;
using runtime::Sampler;
using runtime::SamplingParams;

namespace {

constexpr int64_t rows = 7;

/// Rows that differ in kind; ties everywhere.
std::vector<float> scoresOf(int64_t count, uint32_t seed) {
  std::vector<float> scores = randomFloats(rows * count, seed);
  for (float &score : scores)
    score = std::round(score * 6 * 64) / 64;
  auto row = [&](int64_t r) { return std::span(scores).subspan(r * count, count); };
  row(0)[count / 3] = NAN;
  row(0)[count / 2] = -INFINITY;
  row(1)[count * 2 / 3] = INFINITY;
  for (int64_t i = 0; i < count; ++i) {
    row(2)[i] = i == count / 4 ? -3.0f : -INFINITY; // one possible id
    row(3)[i] = i % 2 ? -0.0f : 0.0f;               // all alike
    row(4)[i] = i % 2 ? NAN : -INFINITY;            // nothing
    row(5)[i] *= 1e38f / 6;                         // differences overflow
  }
  return scores;
}

SamplingParams paramsOf(float temperature, int topK, float topP, float minP) {
  SamplingParams params;
  params.temperature = temperature;
  params.topK = topK;
  params.topP = topP;
  params.minP = minP;
  return params;
}

std::vector<SamplingParams> cases() {
  return {paramsOf(0, 0, 1, 0),       paramsOf(1, 0, 1, 0),           paramsOf(0.7f, 40, 1, 0),
          paramsOf(1.5f, 0, 0.9f, 0), paramsOf(1, 100, 0.5f, 0),      paramsOf(1, 0, 1, 0.25f),
          paramsOf(1, 1, 0.5f, 0),    paramsOf(3, 300, 0.95f, 0.01f), paramsOf(1, 0, 0, 0),
          paramsOf(1e-38f, 0, 1, 0),  paramsOf(1e30f, -1, 0.99f, 0),  paramsOf(2, 7, 1, 1)};
}

class SamplingProgram {
public:
  explicit SamplingProgram(const codegen::Nvrtc &nvrtc) : program(nvrtc, "sm_80", "sampling.cu", {}) {}

  /// The chosen id of each row; the warps' order is another one each time.
  std::vector<int32_t> choose(uint64_t scores, int64_t count, const std::vector<SamplingRow> &parameters) {
    program.setSeed(++launches);
    const uint64_t chosen = program.put(std::vector<int32_t>(rows, -2));
    Status status =
        program.launch("sample", {.grid = rows + 1, .threads = 256},
                       {scores, program.put(parameters), chosen, program.put(std::vector<int64_t>{rows, count})});
    EXPECT_TRUE(status.ok()) << status.message();
    return program.get<int32_t>(chosen, rows);
  }

  MmaProgram program;
  uint64_t launches = 0;
};

TEST(Sampling, ChoosesWhatTheHostDoes) {
  FUSEC_REQUIRE_NVRTC(nvrtc);
  SamplingProgram device(*nvrtc);
  if (HasFailure())
    return;
  for (int64_t count : {1, 3, 257, 1000, 3001}) {
    const std::vector<float> scores = scoresOf(count, static_cast<uint32_t>(count));
    const uint64_t at = device.program.put(scores);
    uint64_t seed = 0;
    for (SamplingParams params : cases()) {
      const int64_t ids = seed % 3 == 2 ? (count + 1) / 2 : count; // the rest pads the vocabulary
      std::vector<SamplingRow> parameters;
      for (uint64_t r = 0; r < rows; ++r)
        parameters.push_back({seed + r, 0, params.temperature, params.topK, params.topP, params.minP, int(ids), 0});
      const std::vector<int32_t> found = device.choose(at, count, parameters);
      for (int64_t r = 0; r < rows; ++r) {
        params.seed = parameters[r].seed;
        auto expected = Sampler(params, {}, ids).next(std::span(scores).subspan(r * count, count));
        EXPECT_EQ(found[r], expected ? expected->id : -1)
            << "row " << r << " of " << count << ", case " << seed << ", seed " << params.seed;
      }
      ++seed;
    }
  }
}

// A draw's number counts, and rows of one launch have parameters of their own.
TEST(Sampling, FollowsAStreamOfDraws) {
  FUSEC_REQUIRE_NVRTC(nvrtc);
  SamplingProgram device(*nvrtc);
  if (HasFailure())
    return;
  constexpr int64_t count = 777;
  std::vector<float> scores = randomFloats(rows * count, 5);
  const uint64_t at = device.program.put(scores);
  const std::vector<SamplingParams> all = cases();
  std::vector<Sampler> samplers;
  for (int64_t r = 0; r < rows; ++r) {
    SamplingParams params = all[r];
    params.seed = 1000 + r;
    samplers.emplace_back(params, std::span<const text::TokenId>(), count);
  }
  for (int draw = 0; draw < 12; ++draw) {
    std::vector<SamplingRow> parameters;
    for (const Sampler &sampler : samplers) {
      const runtime::RowSampling row = *sampler.rowSampling();
      parameters.push_back({row.seed, row.draw, row.temperature, row.topK, row.topP, row.minP, int(count), 0});
    }
    const std::vector<int32_t> found = device.choose(at, count, parameters);
    for (int64_t r = 0; r < rows; ++r)
      EXPECT_EQ(found[r], samplers[r].next(std::span(scores).subspan(r * count, count))->id) << "draw " << draw;
  }
}

// By tiles that leave one word or several, over memory that holds something else.
TEST(BestIds, AreTheHosts) {
  FUSEC_REQUIRE_NVRTC(nvrtc);
  for (int64_t lanes : {16, 48}) {
    MmaProgram program(*nvrtc, "sm_80", "best_ids.cu", {"-DLANES=" + std::to_string(lanes)});
    if (HasFailure())
      return;
    for (int64_t count : {1, 17, 96, 333}) {
      program.setSeed(count);
      const std::vector<float> scores = scoresOf(count, 11);
      const int64_t perRow = ceilDiv(count, 16), ids = count % 2 ? (count + 1) / 2 : count;
      const std::vector<SamplingRow> parameters(rows, {0, 0, 0, 0, 1, 0, int(ids), 0});
      const uint64_t words = program.put(std::vector<uint64_t>(rows * perRow, ~uint64_t{0})),
                     chosen = program.put(std::vector<int32_t>(rows, -2)),
                     sizes = program.put(std::vector<int64_t>{rows, count});
      Status status = program.launch("fold", {.grid = ceilDiv(rows, 8) * ceilDiv(count, lanes), .threads = 96},
                                     {program.put(scores), program.put(parameters), words, sizes});
      ASSERT_TRUE(status.ok()) << status.message();
      status = program.launch("merge", {.grid = rows, .threads = 64}, {words, chosen, sizes});
      ASSERT_TRUE(status.ok()) << status.message();
      const std::vector<int32_t> found = program.get<int32_t>(chosen, rows);
      for (int64_t r = 0; r < rows; ++r) {
        auto expected = Sampler(SamplingParams::greedy(), {}, ids).next(std::span(scores).subspan(r * count, count));
        EXPECT_EQ(found[r], expected ? expected->id : -1) << "row " << r << " of " << count << ", lanes " << lanes;
      }
    }
  }
}

} // namespace
