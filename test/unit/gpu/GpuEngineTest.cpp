//===- GpuEngineTest.cpp - the engine on a GPU --------------------------------------===//

#include "runtime/engine/Engine.h"
#include "runtime/exec/Executor.h"
#include "test/unit/gpu/ToyGpuArtifact.h"
#include "test/unit/runtime/RequestRecorder.h"
#include "test/unit/runtime/ToyEngine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace fusec;
using namespace fusec::runtime;
using namespace fusec::runtime::test;

namespace {

Result<std::unique_ptr<Engine>> open(const ToyArtifact &files, EngineOptions options) {
  options.artifact = files.directory();
  return Engine::create(options);
}

Request greedy(std::vector<TokenId> prompt, int64_t maxTokens) {
  return greedyRequest(std::move(prompt), maxTokens, /*ignoreEos=*/true);
}

} // namespace

TEST(GpuEngine, GeneratesWhatTheCpuDoes) {
  ToyGpuArtifact files;
  auto host = open(files, {.threads = 1, .level = "avx2"});
  auto gpu = open(files, {.chunkTokens = 3, .device = "virtual"});
  auto launched = open(files, {.device = "virtual:sm_80", .graphs = false});
  ASSERT_TRUE(host) << host.status().message();
  ASSERT_TRUE(gpu) << gpu.status().message();
  ASSERT_TRUE(launched) << launched.status().message();
  for (const std::vector<TokenId> &prompt : {std::vector<TokenId>{3}, {3, 1, 4, 1, 5, 9, 2, 6, 5}, {3, 1, 4, 1, 5}}) {
    Result<Generation> expected = (*host)->generate(greedy(prompt, 30));
    Result<Generation> found = (*gpu)->generate(greedy(prompt, 30)), eager = (*launched)->generate(greedy(prompt, 30));
    ASSERT_TRUE(expected && found && eager);
    EXPECT_EQ(found->ids, expected->ids);
    EXPECT_EQ(eager->ids, expected->ids);
    EXPECT_EQ(found->timings.cachedTokens, expected->timings.cachedTokens);
  }
  EXPECT_EQ((*gpu)->options().level, "sm_80");
  EXPECT_EQ((*gpu)->options().threads, 0);
  EXPECT_EQ((*gpu)->executorInfo().device, "virtual sm_80");
  EXPECT_GE((*gpu)->graphStats().replayed, 87);
  EXPECT_GT((*gpu)->graphStats().captured, 3);
  EXPECT_GT((*gpu)->graphStats()[EagerReason::Prefill], 0);
  EXPECT_EQ((*launched)->graphStats().replayed, 0);
  EXPECT_EQ((*host)->graphStats().replayed, 0);
  EXPECT_EQ((*gpu)->memory().rows[0].name, "weights (GPU)");
}

// Several at once, with forced preemption, cached prefixes and texts that part: as on the CPU, one by one.
TEST(GpuEngine, ServesManyRequests) {
  ToyGpuArtifact files(ToyRule::Checksum);
  auto host = open(files, {.threads = 1, .maxSequences = 2, .level = "avx2"});
  auto gpu = open(files, {.chunkTokens = 6, .maxSequences = 5, .kvTokens = 64, .device = "virtual"});
  ASSERT_TRUE(host) << host.status().message();
  ASSERT_TRUE(gpu) << gpu.status().message();
  std::vector<std::shared_ptr<RequestRecorder>> found, expected;
  for (int i = 0; i < 8; ++i) {
    Request request = greedy({3, 1, 4, 1, 5, static_cast<TokenId>(i / 2), 9}, 25 - i);
    request.sampling.temperature = i % 3 == 0 ? 5.0f : 0.0f;
    request.sampling.seed = static_cast<uint64_t>(i);
    request.n = i % 4 == 1 ? 2 : 1;
    found.push_back(std::make_shared<RequestRecorder>());
    expected.push_back(std::make_shared<RequestRecorder>());
    ASSERT_TRUE((*gpu)->submit(request, found.back()));
    ASSERT_TRUE((*host)->submit(request, expected.back()));
    while ((*host)->hasWork())
      (*host)->step();
  }
  while ((*gpu)->hasWork())
    (*gpu)->step();
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_TRUE(found[i]->outcome->status.ok()) << found[i]->outcome->status.message();
    for (size_t text = 0; text < found[i]->outcome->choices.size(); ++text)
      EXPECT_EQ(found[i]->outcome->choices[text].ids, expected[i]->outcome->choices[text].ids) << i << ", " << text;
  }
  EXPECT_GT((*gpu)->stats().counters[Counter::Preemptions], 0);
  EXPECT_GT((*gpu)->graphStats().replayed, 0);
}

TEST(GpuEngine, GivesAllLogits) {
  ToyGpuArtifact files;
  auto host = open(files, {.threads = 1, .level = "avx2"});
  auto gpu = open(files, {.chunkTokens = 4, .device = "virtual"});
  ASSERT_TRUE(host && gpu);
  const std::vector<TokenId> ids = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5};
  Result<std::vector<float>> expected = (*host)->logits(ids, LogitRows::All),
                             found = (*gpu)->logits(ids, LogitRows::All);
  ASSERT_TRUE(expected && found);
  EXPECT_EQ(*found, *expected);
}

TEST(GpuEngine, ReportsProgressAndProfiles) {
  ToyGpuArtifact files;
  std::vector<std::string> stages;
  auto engine = open(
      files, {.device = "virtual", .progress = [&](std::string_view stage, double) { stages.emplace_back(stage); }});
  ASSERT_TRUE(engine);
  EXPECT_THAT(stages, testing::Contains("copying weights to the GPU"));
  (*engine)->setProfiling(true);
  ASSERT_TRUE((*engine)->generate(greedy({1, 2, 3}, 2)));
  std::vector<LaunchTime> times = (*engine)->takeProfile();
  ASSERT_EQ(times.size(), 3u);
  EXPECT_EQ(times[1].launch, "blk.0.sum");
}

TEST(GpuEngine, RefusesUnknownDevices) {
  ToyGpuArtifact files;
  EXPECT_THAT(open(files, {.device = "gpu"}).status().message(), testing::HasSubstr("device 'gpu': expected host"));
  EXPECT_THAT(open(files, {.device = "virtual:sm_1"}).status().message(), testing::HasSubstr("sm_1"));
}
