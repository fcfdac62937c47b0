//===- VirtualGpuTest.cpp - the known text, from generated CUDA kernels ------===//
//
// stories260K compiled for sm_80 and run on the virtual device, which checks
// every access. All steps but the prompt's replay captured graphs, and tokens are
// chosen on the device.
//
//===----------------------------------------------------------------------===//
#include "test/e2e/CompiledModels.h"
#include "test/e2e/ModelFiles.h"
#include "test/unit/models/TempDirectory.h"
#include "tools/fusec/Compiler.h"

#include <gtest/gtest.h>

namespace fusec::e2e {
namespace {

class StoriesOnTheVirtualGpu : public testing::Test {
protected:
  /// The compiled model, made on first use; the error where that is not possible.
  static const Result<fs::path> &artifact() {
    static const TempDirectory folder;
    static const Result<fs::path> made = [] {
      CompileOptions compile;
      compile.model = storiesGguf();
      compile.output = folder.path() / "stories";
      compile.target = "cuda:sm_80";
      return compileModel(compile);
    }();
    return made;
  }
  void SetUp() override {
    FUSEC_NEEDS(storiesGguf());
    if (!artifact() && artifact().status().message().find("NVRTC") != std::string::npos)
      GTEST_SKIP() << artifact().status().message();
    ASSERT_TRUE(artifact()) << artifact().status().message();
  }
  static std::unique_ptr<runtime::Engine> open() {
    runtime::EngineOptions options;
    options.artifact = *artifact();
    options.device = "virtual";
    options.contextTokens = 320;
    auto engine = runtime::Engine::create(options);
    EXPECT_TRUE(engine) << engine.status().message();
    return engine ? std::move(*engine) : nullptr;
  }
};

/// Runs of the launches that choose tokens since the last call: from logits, or without any.
int64_t sampledSteps(runtime::Engine &engine) {
  int64_t runs = 0;
  for (const runtime::LaunchTime &time : engine.takeProfile())
    if (time.launch == "sample" || time.launch == "best id")
      runs += time.runs;
  return runs;
}

TEST_F(StoriesOnTheVirtualGpu, GreedyIdsFromReplayedGraphs) {
  auto engine = open();
  ASSERT_TRUE(engine);
  const auto expected = readJson(storiesGguf().parent_path() / "expected_greedy.json");
  EXPECT_EQ(greedy(*engine, {1}, 256), expected["ids"].get<std::vector<runtime::TokenId>>());
  const runtime::GraphStats graphs = engine->graphStats();
  EXPECT_GE(graphs.captured, 1);
  EXPECT_EQ(graphs.replayed, 256); // The prompt is one token, so its step is a decode step as well.
}

// Log-probabilities take the logits to the host, where the sampler draws the same tokens from them.
TEST_F(StoriesOnTheVirtualGpu, DrawsOnTheDeviceWhatTheHostDraws) {
  auto engine = open();
  ASSERT_TRUE(engine);
  struct Case {
    float temperature;
    int topK;
    float topP, minP;
  };
  uint64_t seed = 40;
  for (const Case &row : {Case{0, 0, 1, 0}, {1, 0, 1, 0}, {0.8f, 40, 0.95f, 0}, {1.5f, 0, 0.9f, 0.02f}}) {
    runtime::Request request;
    request.prompt = {1};
    request.maxTokens = 24;
    request.ignoreEos = true;
    request.sampling.temperature = row.temperature;
    request.sampling.topK = row.topK;
    request.sampling.topP = row.topP;
    request.sampling.minP = row.minP;
    request.sampling.seed = ++seed;
    auto chosen = engine->generate(request);
    request.sampling.logprobs = 0;
    auto drawn = engine->generate(request);
    ASSERT_TRUE(chosen && drawn);
    EXPECT_EQ(chosen->ids, drawn->ids) << "temperature " << row.temperature;
    engine->setProfiling(true);
    ASSERT_TRUE(engine->generate(request));
    EXPECT_EQ(sampledSteps(*engine), 0);
    request.sampling.logprobs = -1;
    EXPECT_EQ(engine->generate(request)->ids, drawn->ids) << "without graphs";
    EXPECT_EQ(sampledSteps(*engine), 24);
    engine->setProfiling(false);
  }
}

} // namespace
} // namespace fusec::e2e
