//===- VirtualGpuTest.cpp - the known text, from generated CUDA kernels ------===//
//
// stories260K compiled for sm_80 and run on the virtual device, which checks
// every access. All steps but the prompt's replay captured graphs.
//
//===----------------------------------------------------------------------===//
#include "test/e2e/CompiledModels.h"
#include "test/e2e/ModelFiles.h"
#include "test/unit/models/TempDirectory.h"
#include "tools/fusec/Compiler.h"

#include <gtest/gtest.h>

namespace fusec::e2e {
namespace {

TEST(StoriesOnTheVirtualGpu, GreedyIdsFromReplayedGraphs) {
  FUSEC_NEEDS(storiesGguf());
  TempDirectory folder;
  CompileOptions compile;
  compile.model = storiesGguf();
  compile.output = folder.path() / "stories";
  compile.target = "cuda:sm_80";
  Result<fs::path> artifact = compileModel(compile);
  if (!artifact && artifact.status().message().find("NVRTC") != std::string::npos)
    GTEST_SKIP() << artifact.status().message();
  ASSERT_TRUE(artifact) << artifact.status().message();

  runtime::EngineOptions options;
  options.artifact = *artifact;
  options.device = "virtual";
  options.contextTokens = 320;
  auto engine = runtime::Engine::create(options);
  ASSERT_TRUE(engine) << engine.status().message();
  const auto expected = readJson(storiesGguf().parent_path() / "expected_greedy.json");
  EXPECT_EQ(greedy(**engine, {1}, 256), expected["ids"].get<std::vector<runtime::TokenId>>());
  const runtime::GraphStats graphs = (*engine)->graphStats();
  EXPECT_GE(graphs.captured, 1);
  EXPECT_EQ(graphs.replayed, 256); // The prompt is one token, so its step is a decode step as well.
}

} // namespace
} // namespace fusec::e2e
