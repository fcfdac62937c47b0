//===- EmbeddingTest.cpp - embeddings of stories260K against numpy ------------===//
//
// make_embedding_goldens.py writes what they must be, by numpy in float64.
// Tolerance: 4 times the error of a float32 evaluation there, as in
// RandomModelTest.cpp.
//
//===----------------------------------------------------------------------===//
#include "test/e2e/CompiledModels.h"
#include "test/e2e/ModelFiles.h"
#include "test/unit/models/TempDirectory.h"
#include "test/unit/models/TinyModel.h"
#include "test/unit/runtime/RequestRecorder.h"
#include "tools/fusec/Compiler.h"

#include <gmock/gmock.h>

#include <map>

namespace fusec::e2e {
namespace {

using runtime::Counter;
using runtime::Engine;
using runtime::EngineOptions;
using runtime::FinishReason;
using runtime::TokenId;
using runtime::test::RequestRecorder;
using testing::HasSubstr;

/// stories260K for embeddings; without a pooling that of the model, which says none.
Result<fs::path> embeddingArtifact(std::optional<Pooling> pooling) {
  static TempDirectory folder;
  static std::map<std::optional<Pooling>, fs::path> artifacts;
  if (auto known = artifacts.find(pooling); known != artifacts.end())
    return known->second;
  CompileOptions options;
  options.model = storiesGguf();
  options.output = folder.path() / std::to_string(artifacts.size());
  options.levels = hostLevels();
  options.embeddings = true;
  options.pooling = pooling;
  FUSEC_ASSIGN_OR_RETURN(fs::path artifact, compileModel(options));
  return artifacts[pooling] = artifact;
}

/// Null, and the test fails, when it cannot be opened.
std::unique_ptr<Engine> openEmbedding(std::optional<Pooling> pooling, EngineOptions options = {}) {
  Result<fs::path> artifact = embeddingArtifact(pooling);
  EXPECT_TRUE(artifact) << artifact.status().message();
  if (!artifact)
    return nullptr;
  options.artifact = *artifact;
  Result<std::unique_ptr<Engine>> engine = Engine::create(options);
  EXPECT_TRUE(engine) << engine.status().message();
  return engine ? std::move(*engine) : nullptr;
}

std::vector<float> embed(Engine &engine, const std::vector<TokenId> &ids) {
  Result<std::vector<float>> embedding = engine.embed(ids);
  EXPECT_TRUE(embedding) << embedding.status().message();
  return embedding ? *embedding : std::vector<float>();
}

class EmbeddingPooling : public testing::TestWithParam<Pooling> {};

TEST_P(EmbeddingPooling, IsThatOfNumpy) {
  FUSEC_NEEDS(storiesGguf());
  const nlohmann::json record = golden("embeddings.json");
  const double tolerance = 4 * record["f32_error"].get<double>();
  for (const std::string &level : hostLevels())
    for (int64_t chunk : {7, 256}) {
      auto engine = openEmbedding(GetParam(), {.chunkTokens = chunk, .level = level});
      ASSERT_TRUE(engine);
      for (const nlohmann::json &one : record["cases"]) {
        const std::vector<float> found = embed(*engine, one["ids"]);
        const std::vector<double> expected = one[std::string(nameOf(GetParam()))];
        ASSERT_EQ(found.size(), expected.size());
        for (size_t i = 0; i < found.size(); ++i)
          EXPECT_NEAR(found[i], expected[i], tolerance) << level << ", chunks of " << chunk << ", number " << i;
      }
    }
}

/// Ids of texts of several lengths, of which the cache cannot hold all at once.
std::vector<std::vector<TokenId>> severalTexts() {
  std::vector<std::vector<TokenId>> texts;
  for (int length : {1, 300, 65, 64, 512, 3, 200, 130}) {
    std::vector<TokenId> &ids = texts.emplace_back();
    for (int i = 0; i < length; ++i)
      ids.push_back(3 + (i * i + 7 * length) % 500);
  }
  return texts;
}

TEST_P(EmbeddingPooling, HasTheSameBitsInAnyCompanyAndChunk) {
  FUSEC_NEEDS(storiesGguf());
  auto alone = openEmbedding(GetParam(), {.threads = 1});
  ASSERT_TRUE(alone);
  for (int64_t chunk : {8, 37, 256}) {
    auto engine = openEmbedding(GetParam(), {.threads = 2, .chunkTokens = chunk, .maxSequences = 5, .kvTokens = 640});
    ASSERT_TRUE(engine);
    std::vector<std::shared_ptr<RequestRecorder>> recorders;
    for (const std::vector<TokenId> &ids : severalTexts()) {
      runtime::Request request;
      request.prompt = ids;
      request.embed = true;
      recorders.push_back(std::make_shared<RequestRecorder>());
      ASSERT_TRUE(engine->submit(std::move(request), recorders.back()));
    }
    while (engine->hasWork())
      (void)engine->step();
    for (size_t i = 0; i < recorders.size(); ++i) {
      ASSERT_TRUE(recorders[i]->outcome && recorders[i]->outcome->status.ok());
      EXPECT_TRUE(recorders[i]->events.empty());
      EXPECT_EQ(recorders[i]->outcome->embedding, embed(*alone, severalTexts()[i])) << i << ", chunks of " << chunk;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, EmbeddingPooling, testing::Values(Pooling::Last, Pooling::Mean, Pooling::Cls),
                         [](const auto &info) { return std::string(nameOf(info.param)); });

TEST(Embedding, PoolsTheLastTokenUnlessTheModelSaysOtherwise) {
  FUSEC_NEEDS(storiesGguf());
  auto engine = openEmbedding({});
  ASSERT_TRUE(engine && engine->model().embedding);
  EXPECT_EQ(engine->model().embedding->pooling, Pooling::Last);
  EXPECT_EQ(engine->model().embedding->width, 64);
}

TEST(Embedding, CountsAsOtherRequestsDo) {
  FUSEC_NEEDS(storiesGguf());
  auto engine = openEmbedding(Pooling::Mean);
  ASSERT_TRUE(engine);
  embed(*engine, {1, 2, 3});
  embed(*engine, {1, 2, 3});
  const runtime::EngineStats stats = engine->stats();
  EXPECT_EQ(stats.finished[static_cast<size_t>(FinishReason::Stop)], 2);
  EXPECT_EQ(stats.counters[Counter::PromptTokens], 6);
  EXPECT_EQ(stats.counters[Counter::CachedPromptTokens], 0);
  EXPECT_EQ(stats.counters[Counter::GenerationTokens], 0);
}

TEST(Embedding, FillsTheContextAndNoMore) {
  FUSEC_NEEDS(storiesGguf());
  auto engine = openEmbedding(Pooling::Last, {.contextTokens = 100});
  ASSERT_TRUE(engine);
  EXPECT_EQ(embed(*engine, std::vector<TokenId>(100, 5)).size(), 64u);
  EXPECT_THAT(engine->embed(std::vector<TokenId>(101, 5)).status().message(),
              testing::AllOf(HasSubstr("101 tokens"), HasSubstr("holds 100")));
  EXPECT_THAT(engine->embed({}).status().message(), HasSubstr("empty"));
  EXPECT_THAT(engine->embed(std::vector<TokenId>{1, 512}).status().message(), HasSubstr("prompt[1]"));
}

TEST(Embedding, OfCancelledRequestsIsNone) {
  FUSEC_NEEDS(storiesGguf());
  auto engine = openEmbedding(Pooling::Last);
  ASSERT_TRUE(engine);
  runtime::Request request;
  request.prompt = {1, 2, 3};
  request.embed = true;
  auto recorder = std::make_shared<RequestRecorder>();
  auto id = engine->submit(request, recorder);
  ASSERT_TRUE(id);
  engine->cancel(*id);
  while (engine->hasWork())
    (void)engine->step();
  ASSERT_TRUE(recorder->outcome);
  EXPECT_TRUE(recorder->outcome->embedding.empty());
  EXPECT_EQ(engine->stats().finished[static_cast<size_t>(FinishReason::Cancelled)], 1);
}

TEST(Embedding, WhatAnArtifactIsNotForIsRefusedByName) {
  FUSEC_NEEDS(storiesGguf());
  auto engine = openEmbedding(Pooling::Last);
  ASSERT_TRUE(engine);
  runtime::Request text;
  text.prompt = {1};
  EXPECT_THAT(engine->generate(text).status().message(), HasSubstr("compiled for embeddings"));
  EXPECT_THAT(engine->logits(text.prompt).status().message(), HasSubstr("compiled for embeddings"));
  EXPECT_THAT(engine->logprobs(std::vector<TokenId>{1, 2}).status().message(), HasSubstr("compiled for embeddings"));
  auto generator = openModel(storiesGguf());
  ASSERT_TRUE(generator) << generator.status().message();
  EXPECT_THAT((*generator)->embed(text.prompt).status().message(), HasSubstr("--embeddings"));
}

/// The tiny model has no tokenizer, so that no artifact can be written of it, but its IR can.
TEST(Embedding, AModelForEmbeddingsIsNotCompiledForText) {
  TempDirectory folder;
  CompileOptions options;
  options.model = folder.write("tiny.gguf", models::tinyGguf().u32("llama.pooling_type", 1).build());
  options.output = folder.path() / "out.mlir";
  options.compileTo = "groups";
  EXPECT_THAT(compileModel(options).status().message(), HasSubstr("a model for embeddings (pooling_type mean)"));
  options.embeddings = true;
  const Status compiled = compileModel(options).status();
  EXPECT_TRUE(compiled.ok()) << compiled.message();
}

TEST(Embedding, OnAGpuIsRefusedByName) {
  FUSEC_NEEDS(storiesGguf());
  TempDirectory folder;
  CompileOptions options;
  options.model = storiesGguf();
  options.output = folder.path() / "out";
  options.target = "cuda:sm_80";
  options.embeddings = true;
  EXPECT_THAT(compileModel(options).status().message(), HasSubstr("--embeddings is for the CPU"));
}

} // namespace
} // namespace fusec::e2e
