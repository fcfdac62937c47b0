//===- GpuSamplingTest.cpp - tokens chosen on the device ----------------------------===//
//
// The toy model with a launch that chooses tokens, on all devices: what it
// chooses is what the sampler on the host takes from the same logits.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/gpu/OpenGpuDevice.h"
#include "runtime/engine/Engine.h"
#include "runtime/engine/Sampler.h"
#include "runtime/exec/gpu/GpuExecutor.h"
#include "test/unit/gpu/GpuTestDevices.h"
#include "test/unit/gpu/ToyGpuArtifact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace fusec;
using namespace fusec::runtime;
using namespace fusec::runtime::test;

namespace {

constexpr StepLimits limits{16, 6, 8, toyContext};

/// An executor on the toy artifact.
struct Toy {
  explicit Toy(const nlohmann::json &manifest = toySamplingManifest()) : files(ToyRule::Checksum, manifest) {}

  Status open(std::unique_ptr<GpuDevice> device, bool usesGraphs) {
    FUSEC_ASSIGN_OR_RETURN(artifact, Artifact::open(files.directory()));
    GpuExecutorOptions options;
    options.limits = limits;
    options.numPages = 8;
    options.usesGraphs = usesGraphs;
    options.sampleableIds = toyRealVocab;
    FUSEC_ASSIGN_OR_RETURN(executor, GpuExecutor::create(artifact, std::move(device), options));
    return {};
  }

  ToyGpuArtifact files;
  Artifact artifact;
  std::unique_ptr<GpuExecutor> executor;
};

/// One token of each of `count` sequences, at position 0 of a page of its own; row i has the logits of token i + 1.
struct Step {
  std::vector<int32_t> tokens, positions, sequences, table, rows;

  explicit Step(int32_t count) : positions(count, 0) {
    for (int32_t i = 0; i < count; ++i) {
      tokens.push_back(i + 1);
      sequences.push_back(i);
      table.push_back(i + 1);
      rows.push_back(i);
    }
  }
  StepInput input(std::span<const RowSampling> sampling = {}) const {
    return {tokens, positions, sequences, table, 1, rows, sampling};
  }
};

SamplingParams params(float temperature, int topK, float topP, float minP, uint64_t seed) {
  SamplingParams result;
  result.temperature = temperature;
  result.topK = topK;
  result.topP = topP;
  result.minP = minP;
  result.seed = seed;
  return result;
}

/// Rows that differ in everything.
std::vector<SamplingParams> mixedRows(uint64_t seed) {
  return {params(0, 0, 1, 0, seed),      params(3, 0, 1, 0, seed),         params(2, 5, 1, 0, seed + 1),
          params(4, 0, 0.7f, 0, seed),   params(8, -1, 1, 0.3f, seed + 2), params(1e-38f, 3, 0.5f, 0.1f, seed),
          params(5, 9, 0.9f, 0.2f, seed)};
}

class GpuSampling : public testing::TestWithParam<TestDevice> {};

} // namespace

INSTANTIATE_TEST_SUITE_P(Devices, GpuSampling, testing::ValuesIn(testDevices()),
                         [](const auto &info) { return info.param.name; });

TEST_P(GpuSampling, ChoosesWhatTheHostDoes) {
  for (bool usesGraphs : {true, false}) {
    Toy toy;
    Status status = toy.open(std::move(*GetParam().open()), usesGraphs);
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_TRUE(toy.executor->samplesOnDevice());
    for (uint64_t seed = 0; seed < 6; ++seed)
      for (int32_t count : {1, 3, 6}) {
        const Step step(count);
        const std::vector<SamplingParams> all = mixedRows(seed);
        std::vector<Sampler> samplers;
        for (int32_t i = 0; i < count; ++i)
          samplers.emplace_back(all[(i + seed) % all.size()], std::span<const TokenId>(), toyRealVocab);
        for (int draw = 0; draw < 3; ++draw) {
          std::vector<RowSampling> sampling;
          for (const Sampler &sampler : samplers)
            sampling.push_back(*sampler.rowSampling());
          Result<StepOutput> chosen = toy.executor->step(step.input(sampling));
          ASSERT_TRUE(chosen) << chosen.status().message();
          EXPECT_TRUE(chosen->logits.empty());
          const std::vector<TokenId> choices(chosen->choices.begin(), chosen->choices.end());
          ASSERT_EQ(choices.size(), static_cast<size_t>(count));
          Result<StepOutput> scored = toy.executor->step(step.input());
          ASSERT_TRUE(scored && scored->choices.empty());
          for (int32_t i = 0; i < count; ++i)
            EXPECT_EQ(choices[i], samplers[i].next(scored->logits.subspan(i * toyVocab, toyVocab))->id)
                << "seed " << seed << ", row " << i << " of " << count << ", draw " << draw;
        }
      }
    // Buckets of 1, 4 and 6 sequences, each for logits and for ids.
    EXPECT_EQ(toy.executor->graphStats().captured, usesGraphs ? 6 : 0);
    EXPECT_EQ(toy.executor->graphStats().replayed, usesGraphs ? 6 * 3 * 3 * 2 : 0);
  }
}

TEST(GpuSampling, RefusesWhatItCannotDo) {
  const Step step(2);
  auto message = [&](Toy &toy, std::vector<RowSampling> rows) {
    Result<StepOutput> output = toy.executor->step(step.input(rows));
    return output ? std::string("accepted") : output.status().message();
  };
  Toy plain(toyGpuManifest()), toy;
  ASSERT_TRUE(plain.open(*openGpuDevice("virtual"), true).ok());
  ASSERT_TRUE(toy.open(*openGpuDevice("virtual"), true).ok());
  EXPECT_FALSE(plain.executor->samplesOnDevice());
  EXPECT_THAT(message(plain, {{}, {}}), testing::HasSubstr("no kernel that chooses tokens"));
  EXPECT_EQ(message(toy, {{}, {}}), "accepted");
  EXPECT_THAT(message(toy, {{}}), testing::HasSubstr("1 rows of sampling parameters for 2 output rows"));
  for (const RowSampling &row : {RowSampling{.temperature = -1},
                                 {.temperature = NAN},
                                 {.temperature = INFINITY},
                                 {.topP = 1.5f},
                                 {.topP = NAN},
                                 {.minP = -0.5f}})
    EXPECT_THAT(message(toy, {{}, row}), testing::HasSubstr("expected a finite temperature from 0"));
}

TEST(GpuSampling, NothingIsWantedOfAStepWithoutRows) {
  Toy toy;
  ASSERT_TRUE(toy.open(*openGpuDevice("virtual"), true).ok());
  Step step(2);
  step.rows.clear();
  Result<StepOutput> output = toy.executor->step(step.input());
  ASSERT_TRUE(output) << output.status().message();
  EXPECT_TRUE(output->logits.empty() && output->choices.empty());
}

// The engine samples on the device where it can; what it generates does not tell.
TEST(GpuSampling, GenerationsAreTheHosts) {
  ToyGpuArtifact files(ToyRule::Checksum, toySamplingManifest());
  auto host = Engine::create({.artifact = files.directory(), .threads = 1, .level = "avx2"});
  auto gpu = Engine::create({.artifact = files.directory(), .chunkTokens = 3, .device = "virtual"});
  ASSERT_TRUE(host && gpu) << host.status().message() << gpu.status().message();
  (*gpu)->setProfiling(true);
  auto sampled = [&] {
    for (const LaunchTime &time : (*gpu)->takeProfile())
      if (time.launch == "sample")
        return time.runs;
    return int64_t{0};
  };
  SamplingParams scored = params(3, 0, 0.9f, 0, 5), penalised = scored, biased = scored;
  scored.logprobs = 2;
  penalised.frequencyPenalty = 1;
  biased.logitBias[3] = 5;
  struct Case {
    SamplingParams params;
    bool onDevice;
  };
  for (const Case &row : {Case{params(0, 0, 1, 0, 0), true},
                          {params(4, 0, 1, 0, 1), true},
                          {params(3, 6, 0.8f, 0.1f, 2), true},
                          {scored, false},
                          {penalised, false},
                          {biased, false}}) {
    Request request;
    request.prompt = {3, 1, 4, 1, 5};
    request.sampling = row.params;
    request.maxTokens = 20;
    request.ignoreEos = true;
    Result<Generation> expected = (*host)->generate(request), found = (*gpu)->generate(request);
    ASSERT_TRUE(expected && found);
    EXPECT_EQ(found->ids, expected->ids);
    EXPECT_EQ(sampled(), row.onDevice ? 20 : 0);
  }
}
