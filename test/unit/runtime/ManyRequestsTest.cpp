//===- ManyRequestsTest.cpp - what a request may ask, served among others -------===//
//
// The toy's letters follow one another (Successor) or are a checksum of all
// before, so every answer is known by hand.
//
//===----------------------------------------------------------------------===//

#include "runtime/engine/Engine.h"
#include "runtime/grammar/Constraint.h"
#include "test/unit/runtime/RequestRecorder.h"
#include "test/unit/runtime/ToyEngine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

using namespace fusec;
using namespace fusec::runtime;
using namespace fusec::runtime::test;

namespace {

std::shared_ptr<RequestRecorder> submit(Engine &engine, const Request &request) {
  auto recorder = std::make_shared<RequestRecorder>();
  Result<RequestId> id = engine.submit(request, recorder);
  EXPECT_TRUE(id) << id.status().message();
  return recorder;
}

RequestOutcome run(Engine &engine, const Request &request) {
  auto recorder = submit(engine, request);
  while (engine.hasWork())
    engine.step();
  EXPECT_TRUE(recorder->outcome);
  return recorder->outcome.value_or(RequestOutcome());
}

/// Allows a fixed text, letter by letter, then an end; breaks its word where asked to.
class FixedText final : public grammar::Constraint {
public:
  explicit FixedText(std::vector<TokenId> ids, size_t refusedAt = SIZE_MAX)
      : ids(std::move(ids)), refusedAt(refusedAt) {}
  void allowed(std::span<uint32_t> mask) override {
    std::fill(mask.begin(), mask.end(), 0);
    if (at < ids.size())
      mask[ids[at] / 32] |= 1u << (ids[at] % 32);
    ended = at == ids.size();
  }
  bool accept(TokenId id) override { return at != refusedAt && at < ids.size() && ids[at++] == id; }
  bool finished() const override { return at == ids.size() && (!endsLate || ended); }
  Status status() const override { return failure; }
  std::unique_ptr<Constraint> clone() const override { return std::make_unique<FixedText>(*this); }

  bool endsLate = false; ///< Is complete only when asked for what follows.
  Status failure;

private:
  std::vector<TokenId> ids;
  size_t refusedAt, at = 0;
  bool ended = false;
};

class FixedGrammar final : public grammar::CompiledGrammar {
public:
  explicit FixedGrammar(FixedText start) : first(std::move(start)) {}
  std::unique_ptr<grammar::Constraint> start() const override { return first.clone(); }

private:
  FixedText first;
};

} // namespace

TEST(ManyRequests, RunTogetherInOneStep) {
  ToyArtifact files;
  auto engine = openToy(files);
  auto a = submit(*engine, greedyRequest({0}, 3)), b = submit(*engine, greedyRequest({4, 5}, 3));
  EXPECT_TRUE(engine->step());
  EXPECT_TRUE(engine->step());
  const EngineStats stats = engine->stats();
  ASSERT_EQ(stats.recent.size(), 2u);
  EXPECT_EQ(stats.recent[0].tokens, 3);
  EXPECT_EQ(stats.recent[0].prefillTokens, 3);
  EXPECT_EQ(stats.recent[1].tokens, 2);
  EXPECT_EQ(stats.recent[1].prefillTokens, 0);
  EXPECT_EQ(stats.recent[1].rows, 2);
  EXPECT_EQ(stats.running, 2);
  while (engine->hasWork())
    engine->step();
  EXPECT_EQ(a->outcome->choices[0].ids, (std::vector<TokenId>{1, 2, 3}));
  EXPECT_EQ(b->outcome->choices[0].ids, (std::vector<TokenId>{6, 7, 8}));
  EXPECT_EQ(b->outcome->explanation.steps, 3);
  EXPECT_EQ(b->outcome->explanation.maxBatch, 2);
  EXPECT_FALSE(engine->step());
}

TEST(ManyRequests, MinTokensPutsTheEndOff) {
  ToyArtifact files;
  auto engine = openToy(files);
  Request request = greedyRequest({12}, 8); // m n <end>
  EXPECT_EQ(run(*engine, request).choices[0].text, "mn");
  request.minTokens = 3;
  RequestOutcome outcome = run(*engine, request);
  // The end token is masked at the third place: the best other one (the lowest of the equal ones) is taken there.
  EXPECT_GE(outcome.choices[0].ids.size(), 3u);
  EXPECT_EQ(outcome.choices[0].ids[0], 13);
  EXPECT_EQ(outcome.choices[0].ids[1], 14);
  EXPECT_NE(outcome.choices[0].ids[2], toyEos);
  // Stop strings and stop ids, too: "c" is generated second, the next one is found.
  request = greedyRequest({0}, 10);
  request.stopStrings = {"c", "f"};
  request.stopIds = {3};
  EXPECT_EQ(run(*engine, request).choices[0].text, "b");
  request.minTokens = 2;
  request.stopIds.clear();
  EXPECT_EQ(run(*engine, request).choices[0].text, "bcde");
}

TEST(ManyRequests, IncludesTheStopString) {
  ToyArtifact files;
  auto engine = openToy(files);
  Request request = greedyRequest({0}, 10);
  request.stopStrings = {"ef"};
  request.includeStop = true;
  RequestOutcome outcome = run(*engine, request);
  EXPECT_EQ(outcome.choices[0].text, "bcdef");
  EXPECT_EQ(outcome.choices[0].stopString, 0);
  EXPECT_EQ(outcome.choices[0].reason, FinishReason::Stop);
  request.stopStrings = {"efX"}; // Not met: nothing is added.
  EXPECT_EQ(run(*engine, request).choices[0].text, "bcdefghijk");
}

TEST(ManyRequests, AllowedIdsAndLogitBias) {
  ToyArtifact files;
  auto engine = openToy(files);
  Request request = greedyRequest({0}, 3);
  request.sampling.allowedIds = {2, 7, 18}; // 18 pads the embedding.
  RequestOutcome outcome = run(*engine, request);
  for (TokenId id : outcome.choices[0].ids)
    EXPECT_TRUE(id == 2 || id == 7);
  request = greedyRequest({0}, 2);
  request.sampling.logitBias = {{9, 50}};
  EXPECT_EQ(run(*engine, request).choices[0].ids, (std::vector<TokenId>{9, 9}));
}

TEST(ManyRequests, ConstraintsDecideTheText) {
  ToyArtifact files;
  auto engine = openToy(files);
  Request request = greedyRequest({0}, 10);
  request.n = 2;
  request.constraint = std::make_shared<FixedGrammar>(FixedText({7, 7, 1}));
  RequestOutcome outcome = run(*engine, request);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.message();
  for (const Generation &text : outcome.choices) {
    EXPECT_EQ(text.text, "hhb");
    EXPECT_EQ(text.reason, FinishReason::Stop);
  }
  FixedText late({7, 7});
  late.endsLate = true;
  request.constraint = std::make_shared<FixedGrammar>(late);
  outcome = run(*engine, request);
  EXPECT_EQ(outcome.choices[1].text, "hh");
  EXPECT_EQ(outcome.choices[1].reason, FinishReason::Stop);
  FixedText failed({7});
  failed.failure = resourceExhausted("too many states");
  request.constraint = std::make_shared<FixedGrammar>(failed);
  EXPECT_EQ(run(*engine, request).status.message(), "too many states");
  request.n = 1;
  request.minTokens = 1;
  EXPECT_THAT(engine->submit(request, std::make_shared<RequestRecorder>()).status().message(),
              testing::HasSubstr("do not go together with a grammar"));
}

// A constraint that contradicts itself, or leaves no token, ends its own request only.
TEST(ManyRequests, AnErrorOfOneRequestIsItsOwn) {
  ToyArtifact files;
  auto engine = openToy(files);
  auto good = submit(*engine, greedyRequest({0}, 6));
  Request broken = greedyRequest({0}, 6), hopeless = broken;
  broken.constraint = std::make_shared<FixedGrammar>(FixedText({1, 2, 3}, 1));
  hopeless.sampling.allowedIds = {19};
  auto bad = submit(*engine, broken), worse = submit(*engine, hopeless);
  while (engine->hasWork())
    engine->step();
  EXPECT_THAT(bad->outcome->status.message(), testing::HasSubstr("was allowed and is now refused"));
  EXPECT_EQ(bad->outcome->choices[0].ids, (std::vector<TokenId>{1})) << "what there was until then";
  EXPECT_EQ(bad->outcome->choices[0].reason, FinishReason::Error);
  EXPECT_THAT(worse->outcome->status.message(), testing::HasSubstr("no token"));
  EXPECT_EQ(good->outcome->choices[0].text, "bcdefg");
  EXPECT_TRUE(engine->health().ok());
}

TEST(ManyRequests, SeveralTextsShareThePrompt) {
  ToyArtifact files(ToyRule::Checksum);
  auto engine = openToy(files);
  Request request = greedyRequest({3, 1, 4, 1, 5, 9, 2}, 12);
  request.ignoreEos = true;
  request.sampling.temperature = 8;
  request.sampling.seed = 5;
  const std::vector<TokenId> solo = run(*engine, request).choices[0].ids;
  request.n = 4;
  auto recorder = submit(*engine, request);
  engine->step();
  engine->step();
  // 7 + 1 positions fill two pages of four; page 0 is shared by all, the second one is each text's own.
  EXPECT_EQ(engine->stats().recent.back().pool.live, 1 + 4);
  while (engine->hasWork())
    engine->step();
  const RequestOutcome &outcome = *recorder->outcome;
  ASSERT_EQ(outcome.choices.size(), 4u);
  EXPECT_EQ(outcome.choices[0].ids, solo);
  std::set<std::vector<TokenId>> different;
  for (const Generation &text : outcome.choices)
    different.insert(text.ids);
  EXPECT_EQ(different.size(), 4u) << "each text has a seed of its own";
  EXPECT_EQ(outcome.explanation.promptTokens, 7);
  EXPECT_EQ(outcome.explanation.generatedTokens, 48);
}

TEST(ManyRequests, BestOfGivesTheMostProbable) {
  ToyArtifact files(ToyRule::Checksum);
  auto engine = openToy(files);
  Request request = greedyRequest({3, 1, 4}, 10);
  request.ignoreEos = true;
  request.sampling.temperature = 8;
  request.sampling.logprobs = 0;
  request.n = 4;
  RequestOutcome all = run(*engine, request);
  auto mean = [](const Generation &text) {
    double sum = 0;
    for (const TokenReport &report : text.reports)
      sum += report.logprob;
    return sum / static_cast<double>(text.reports.size());
  };
  std::vector<double> means;
  for (const Generation &text : all.choices)
    means.push_back(mean(text));
  std::sort(means.rbegin(), means.rend());
  request.n = 2;
  request.bestOf = 4;
  auto recorder = submit(*engine, request);
  while (engine->hasWork())
    engine->step();
  ASSERT_EQ(recorder->outcome->choices.size(), 2u);
  EXPECT_TRUE(recorder->events.empty()) << "texts are ranked before any is given";
  EXPECT_NEAR(mean(recorder->outcome->choices[0]), means[0], 1e-6);
  EXPECT_NEAR(mean(recorder->outcome->choices[1]), means[1], 1e-6);
}

// Right with cached prefixes, in chunks, and equal to an evaluation of the same ids.
TEST(ManyRequests, PromptLogprobs) {
  ToyArtifact files(ToyRule::Checksum);
  for (int64_t chunk : {4, 5, 64}) {
    auto engine = openToy(files, {.chunkTokens = chunk, .maxSequences = 4});
    Request request = greedyRequest({3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5}, 2);
    request.ignoreEos = true;
    const std::vector<TokenId> ids = run(*engine, request).choices[0].ids; // Its prefix is cached now.
    request.promptLogprobs = 2;
    RequestOutcome outcome = run(*engine, request);
    Result<std::vector<double>> expected = engine->logprobs(request.prompt);
    ASSERT_TRUE(expected);
    ASSERT_EQ(outcome.promptLogprobs.size(), request.prompt.size());
    EXPECT_EQ(outcome.promptLogprobs[0].id, 3);
    EXPECT_TRUE(outcome.promptLogprobs[0].top.empty());
    for (size_t i = 1; i < request.prompt.size(); ++i) {
      EXPECT_EQ(outcome.promptLogprobs[i].id, request.prompt[i]);
      EXPECT_EQ(outcome.promptLogprobs[i].logprob, static_cast<float>((*expected)[i - 1]));
      EXPECT_EQ(outcome.promptLogprobs[i].top.size(), 2u);
    }
    EXPECT_EQ(outcome.choices[0].ids, ids);
    EXPECT_EQ(outcome.explanation.cachedTokens, 0);
  }
}

TEST(ManyRequests, TenantsShareNothing) {
  ToyArtifact files(ToyRule::Checksum);
  auto engine = openToy(files);
  Request request = greedyRequest({3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5}, 1);
  EXPECT_EQ(run(*engine, request).explanation.cachedTokens, 0);
  EXPECT_EQ(run(*engine, request).explanation.cachedTokens, 10);
  request.tenant = "a";
  EXPECT_EQ(run(*engine, request).explanation.cachedTokens, 0);
  EXPECT_EQ(run(*engine, request).explanation.cachedTokens, 10);
  request.skipPrefixCache = true;
  EXPECT_EQ(run(*engine, request).explanation.cachedTokens, 0);
  const EngineStats stats = engine->stats();
  EXPECT_EQ(stats.counters[Counter::CachedPromptTokens], 20);
  EXPECT_EQ(stats.counters[Counter::PromptTokens], 55);
  EXPECT_EQ(stats.counters[Counter::GenerationTokens], 5);
  EXPECT_EQ(stats.finished[static_cast<size_t>(FinishReason::Length)], 5);
  EXPECT_EQ(stats.histograms[Measure::EndToEnd].observations(), 5);
  EXPECT_EQ(stats.histograms[Measure::PromptTokens].sumOfValues(), 55);
}

TEST(ManyRequests, GenerateRunsAmongOthers) {
  ToyArtifact files;
  auto engine = openToy(files);
  auto other = submit(*engine, greedyRequest({4}, 3));
  Result<Generation> done = engine->generate(greedyRequest({0}, 5));
  ASSERT_TRUE(done);
  EXPECT_EQ(done->text, "bcdef");
  ASSERT_TRUE(other->outcome);
  EXPECT_EQ(other->outcome->choices[0].text, "fgh");
}

TEST(ManyRequests, RefusesWhatCannotRun) {
  ToyArtifact files;
  auto engine = openToy(files);
  auto message = [&](auto change) {
    Request request = greedyRequest({0}, 5);
    change(request);
    return engine->submit(request, std::make_shared<RequestRecorder>()).status().message();
  };
  EXPECT_THAT(message([](Request &r) { r.n = 0; }), testing::HasSubstr("n: expected 1 to 4"));
  EXPECT_THAT(message([](Request &r) { r.n = 5; }), testing::HasSubstr("found 5"));
  EXPECT_THAT(message([](Request &r) { r.n = 2, r.bestOf = 1; }), testing::HasSubstr("best_of"));
  EXPECT_THAT(message([](Request &r) { r.minTokens = 6; }), testing::HasSubstr("min_tokens"));
  EXPECT_THAT(message([](Request &r) { r.minTokens = -1; }), testing::HasSubstr("min_tokens"));
  EXPECT_THAT(message([](Request &r) { r.promptLogprobs = 21; }), testing::HasSubstr("prompt_logprobs"));
  EXPECT_THAT(message([](Request &r) { r.sampling.allowedIds = {20}; }), testing::HasSubstr("allowed_token_ids"));
}
