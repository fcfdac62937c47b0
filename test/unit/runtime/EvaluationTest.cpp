//===- EvaluationTest.cpp - opening an engine, logits, log-probabilities -------===//

#include "runtime/engine/Engine.h"
#include "runtime/engine/LogSoftmax.h"
#include "runtime/text/Tokenizer.h"
#include "test/unit/runtime/ToyArtifact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

using namespace fusec;
using namespace fusec::runtime;
using namespace fusec::runtime::test;
using nlohmann::json;

namespace {

Result<std::unique_ptr<Engine>> open(const ToyArtifact &files, EngineOptions options = {}) {
  options.artifact = files.directory();
  return Engine::create(options);
}

/// The toy's logit of `id` when `next` follows.
double toyLogit(int next, int id) { return id >= toyRealVocab ? 100 : id == next ? 8 : id % 5 - 4; }

} // namespace

TEST(Engine, ResolvesItsOptions) {
  ToyArtifact files;
  auto engine = open(files);
  ASSERT_TRUE(engine) << engine.status().message();
  const EngineOptions &options = (*engine)->options();
  EXPECT_GE(options.threads, 1);
  EXPECT_EQ(options.contextTokens, toyContext);
  EXPECT_EQ(options.chunkTokens, toyContext);
  EXPECT_FALSE(options.level.empty());
  EXPECT_EQ((*engine)->chatTemplate(), nullptr);
  EXPECT_EQ((*engine)->model().name, "toy");
  EXPECT_THAT((*engine)->endIds(), testing::ElementsAre(toyEos));
  EXPECT_EQ((*engine)->memory().rows[1].name, "kv cache (f32)");
  EXPECT_EQ((*engine)->memory().rows[1].bytes, 17 * 16) << "16 pages and the sink";
}

TEST(Engine, RefusesOptionsThatCannotWork) {
  ToyArtifact files;
  auto message = [&](EngineOptions options) {
    auto engine = open(files, options);
    return engine ? std::string("accepted") : engine.status().message();
  };
  EXPECT_THAT(message({.contextTokens = 65}), testing::HasSubstr("expected 1 to 64, found 65"));
  EXPECT_THAT(message({.contextTokens = -1}), testing::HasSubstr("found -1"));
  EXPECT_THAT(message({.chunkTokens = 0}), testing::HasSubstr("chunk tokens"));
  EXPECT_THAT(message({.threads = -1}), testing::HasSubstr("threads"));
  EXPECT_THAT(message({.level = "sse2"}), testing::HasSubstr("unknown CPU level 'sse2'"));
}

TEST(Engine, NamesMissingFiles) {
  ToyArtifact files;
  std::filesystem::remove(files.directory() / "tokenizer.json");
  EXPECT_THAT(open(files).status().message(), testing::HasSubstr("tokenizer.json"));
  ToyArtifact noKernels;
  std::filesystem::remove(noKernels.directory() / "kernels" / "toy.so");
  EXPECT_THAT(open(noKernels).status().message(), testing::HasSubstr("toy.so: kernel library not found"));
}

TEST(Engine, RefusesAPlanThatCannotFitTheMachine) {
  ToyArtifact files;
  json manifest = json::parse(toyManifest());
  json cache = manifest["buffers"][6];
  cache["page_bytes"] = 1 << 30;
  for (int i = 0; i < 256; ++i)
    manifest["buffers"].push_back(cache);
  manifest["kv"]["page_stride"] = (int64_t{256} << 30) + 16;
  files.write("manifest.json", manifest.dump());
  Result<std::unique_ptr<Engine>> engine = open(files);
  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.status().code(), ErrorCode::ResourceExhausted);
}

TEST(Engine, LogitsOfTheLastOrOfAllPositions) {
  ToyArtifact files;
  std::vector<TokenId> ids = {3, 9, 1, 0, 15, 7, 2};
  for (int64_t chunk : {1, 3, 64}) {
    auto engine = open(files, {.chunkTokens = chunk});
    ASSERT_TRUE(engine);
    Result<std::vector<float>> all = (*engine)->logits(ids, LogitRows::All);
    ASSERT_TRUE(all) << all.status().message();
    ASSERT_EQ(all->size(), ids.size() * toyVocab);
    for (size_t i = 0; i < ids.size(); ++i)
      for (int id = 0; id < toyVocab; ++id)
        ASSERT_EQ((*all)[i * toyVocab + id], toyLogit((ids[i] + 1) % 16, id));
    Result<std::vector<float>> last = (*engine)->logits(ids);
    ASSERT_TRUE(last);
    EXPECT_THAT(*last, testing::ElementsAreArray(all->end() - toyVocab, all->end()));
  }
}

TEST(Engine, LogprobsOfGivenIds) {
  ToyArtifact files;
  std::vector<TokenId> ids = {3, 4, 4, 16, 5, 6};
  for (int64_t chunk : {1, 2, 5, 64}) {
    auto engine = open(files, {.chunkTokens = chunk});
    ASSERT_TRUE(engine);
    Result<std::vector<double>> values = (*engine)->logprobs(ids);
    ASSERT_TRUE(values) << values.status().message();
    ASSERT_EQ(values->size(), ids.size() - 1);
    for (size_t i = 0; i + 1 < ids.size(); ++i) {
      std::vector<float> line;
      for (int id = 0; id < toyVocab; ++id)
        line.push_back(static_cast<float>(toyLogit((ids[i] + 1) % 16, id)));
      EXPECT_NEAR((*values)[i], line[ids[i + 1]] - logSumExp(line), 1e-9);
    }
  }
}

TEST(Engine, EvaluationChecksItsIds) {
  ToyArtifact files;
  auto engine = open(files);
  ASSERT_TRUE(engine);
  EXPECT_FALSE((*engine)->logits({}));
  EXPECT_FALSE((*engine)->logprobs(std::vector<TokenId>{1}));
  EXPECT_FALSE((*engine)->logits(std::vector<TokenId>{1, -5}));
  EXPECT_FALSE((*engine)->logits(std::vector<TokenId>(65, 1)));
  EXPECT_TRUE((*engine)->logits(std::vector<TokenId>(64, 1)));
  EXPECT_THAT((*engine)->logprobs(std::vector<TokenId>(65, 1)).status().message(),
              testing::HasSubstr("2 to 64 tokens, found 65"));
}

TEST(Engine, LogprobsOfGeneratedTokens) {
  ToyArtifact files;
  auto engine = open(files);
  ASSERT_TRUE(engine);
  Request request;
  request.prompt = {0};
  request.sampling = SamplingParams::greedy();
  request.sampling.logprobs = 3;
  request.maxTokens = 2;
  std::vector<TokenEvent> events;
  ASSERT_TRUE((*engine)->generate(request, [&](const TokenEvent &event) {
    events.push_back(event);
    return true;
  }));
  ASSERT_EQ(events.size(), 2u);
  // Raw distribution: the padding columns hold nearly all of it, but are not listed.
  EXPECT_NEAR(events[0].logprob, 8 - 100 - std::log(4), 1e-5);
  ASSERT_EQ(events[0].topLogprobs.size(), 3u);
  EXPECT_EQ(events[0].topLogprobs[0].id, 1);
  EXPECT_EQ(events[0].topLogprobs[1].id, 4);
}

TEST(Engine, ReadsTheChatTemplate) {
  ToyArtifact files;
  files.write("chat_template.jinja", "{% for m in messages %}{{ m.content }}{% endfor %}");
  auto engine = open(files);
  ASSERT_TRUE(engine) << engine.status().message();
  EXPECT_NE((*engine)->chatTemplate(), nullptr);
  files.write("chat_template.jinja", "{% for m in %}");
  auto broken = open(files);
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.status().message(), testing::HasSubstr("chat_template.jinja"));
}
