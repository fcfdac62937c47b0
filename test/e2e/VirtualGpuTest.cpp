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
#include "test/unit/runtime/RequestRecorder.h"
#include "tools/fusec/Compiler.h"

#include <gtest/gtest.h>

#include <map>

namespace fusec::e2e {
namespace {

class StoriesOnTheVirtualGpu : public testing::Test {
protected:
  /// The compiled model, made on first use; the error where that is not possible.
  static const Result<fs::path> &artifact(KvLayout layout = KvLayout::Paged) {
    static const TempDirectory folder;
    static std::map<KvLayout, Result<fs::path>> made;
    if (auto known = made.find(layout); known != made.end())
      return known->second;
    CompileOptions compile;
    compile.model = storiesGguf();
    compile.output = folder.path() / nameOf(layout);
    compile.target = "cuda:sm_80";
    compile.kvLayout = layout;
    return made.emplace(layout, compileModel(compile)).first->second;
  }
  void SetUp() override {
    FUSEC_NEEDS(storiesGguf());
    if (!artifact() && artifact().status().message().find("NVRTC") != std::string::npos)
      GTEST_SKIP() << artifact().status().message();
    ASSERT_TRUE(artifact()) << artifact().status().message();
  }
  static std::unique_ptr<runtime::Engine> open(int64_t maxSequences = 1, KvLayout layout = KvLayout::Paged) {
    runtime::EngineOptions options;
    if (!artifact(layout)) {
      ADD_FAILURE() << artifact(layout).status().message();
      return nullptr;
    }
    options.artifact = *artifact(layout);
    options.device = "virtual";
    options.contextTokens = 320;
    options.maxSequences = maxSequences;
    auto engine = runtime::Engine::create(options);
    EXPECT_TRUE(engine) << engine.status().message();
    return engine ? std::move(*engine) : nullptr;
  }
  static void expectServesSeveral(std::unique_ptr<runtime::Engine> engine);
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

// Prompts of different lengths in chunks beside one another, a cached prefix, pages of two texts: the known text for
// all.
TEST_F(StoriesOnTheVirtualGpu, ServesSeveralAtOnce) { expectServesSeveral(open(4)); }

// The same from pages that are mapped side by side: only the first entry of a row of the block table is read.
TEST_F(StoriesOnTheVirtualGpu, ServesSeveralFromMappedPages) {
  auto engine = open(4, KvLayout::Contiguous);
  ASSERT_TRUE(engine);
  EXPECT_EQ(engine->memory().rows[1].name, "kv cache (f32, contiguous, GPU)");
  expectServesSeveral(std::move(engine));
}

void StoriesOnTheVirtualGpu::expectServesSeveral(std::unique_ptr<runtime::Engine> engine) {
  ASSERT_TRUE(engine);
  const auto known =
      readJson(storiesGguf().parent_path() / "expected_greedy.json")["ids"].get<std::vector<runtime::TokenId>>();
  std::vector<std::shared_ptr<runtime::test::RequestRecorder>> recorders;
  for (size_t length : {0, 40, 70, 130, 131}) {
    runtime::Request request;
    request.prompt.assign(known.begin(), known.begin() + static_cast<std::ptrdiff_t>(length));
    request.prompt.insert(request.prompt.begin(), 1);
    request.sampling = runtime::SamplingParams::greedy();
    request.maxTokens = 8;
    request.ignoreEos = true;
    request.n = length == 70 ? 2 : 1;
    recorders.push_back(std::make_shared<runtime::test::RequestRecorder>());
    ASSERT_TRUE(engine->submit(request, recorders.back()));
  }
  while (engine->hasWork())
    engine->step();
  for (const auto &recorder : recorders) {
    ASSERT_TRUE(recorder->outcome->status.ok()) << recorder->outcome->status.message();
    const auto from = known.begin() + (recorder->outcome->explanation.promptTokens - 1);
    for (const runtime::Generation &text : recorder->outcome->choices)
      EXPECT_EQ(text.ids, std::vector<runtime::TokenId>(from, from + 8));
  }
  EXPECT_GT(engine->stats().counters[runtime::Counter::PrefixHits], 0);
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
