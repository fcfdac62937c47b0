//===- ServingReportsTest.cpp - public bug reports, held at the engine ----------===//
//
// Each test is named after the report whose kind it guards against.
//
//===----------------------------------------------------------------------===//

#include "runtime/engine/Engine.h"
#include "test/unit/runtime/RequestRecorder.h"
#include "test/unit/runtime/ToyEngine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace fusec;
using namespace fusec::runtime;
using namespace fusec::runtime::test;

namespace {

constexpr int64_t page = toyPageTokens;

Request greedy(std::vector<TokenId> prompt, int64_t maxTokens) {
  return greedyRequest(std::move(prompt), maxTokens, /*ignoreEos=*/true);
}

std::vector<TokenId> ids(size_t count, uint32_t seed = 1) {
  std::mt19937 random(seed);
  std::vector<TokenId> list(count);
  for (TokenId &id : list)
    id = static_cast<TokenId>(random() % toyRealVocab);
  return list;
}

struct Submitted {
  std::shared_ptr<RequestRecorder> recorder = std::make_shared<RequestRecorder>();
  RequestId id{};
  const RequestOutcome &outcome() const { return *recorder->outcome; }
  const Generation &text() const { return outcome().choices.front(); }
};

Submitted submit(Engine &engine, const Request &request) {
  Submitted submitted;
  Result<RequestId> id = engine.submit(request, submitted.recorder);
  EXPECT_TRUE(id) << id.status().message();
  submitted.id = id ? *id : RequestId{};
  return submitted;
}

void finishAll(Engine &engine) {
  while (engine.hasWork())
    engine.step();
}

Submitted run(Engine &engine, const Request &request) {
  Submitted submitted = submit(engine, request);
  finishAll(engine);
  return submitted;
}

} // namespace

// onnxruntime-genai PR 1694: an end token inside a prompt was taken for padding.
TEST(ServingReports, AnEndTokenInThePromptIsAToken) {
  ToyArtifact files(ToyRule::Checksum);
  auto engine = openToy(files);
  Request request = greedy({3, toyEos, 4, toyEos, toyEos, 5}, 6);
  request.sampling.logprobs = 3;
  const Submitted alone = run(*engine, request);
  engine->reset();
  submit(*engine, greedy({toyEos}, 9));
  submit(*engine, greedy(ids(30), 9));
  const Submitted among = run(*engine, request);
  EXPECT_EQ(among.text().ids, alone.text().ids);
  for (size_t i = 0; i < alone.text().reports.size(); ++i)
    EXPECT_EQ(among.text().reports[i].logprob, alone.text().reports[i].logprob);
  Request without = request;
  without.prompt[1] = 2;
  EXPECT_NE(run(*engine, without).text().ids, alone.text().ids) << "the end token counts";
}

// vllm PR 3239: a prompt that was cached entirely left nothing to compute.
TEST(ServingReports, AWhollyCachedPromptGivesTheSame) {
  ToyArtifact files(ToyRule::Checksum);
  auto engine = openToy(files);
  for (int64_t length : {int64_t{1}, page - 1, page, page + 1, 2 * page}) {
    const Request request = greedy(ids(static_cast<size_t>(length), 7), 5);
    engine->reset();
    const Submitted cold = run(*engine, request);
    EXPECT_EQ(cold.outcome().explanation.cachedTokens, 0);
    for (int again = 0; again < 2; ++again) {
      const Submitted warm = run(*engine, request);
      EXPECT_EQ(warm.text().ids, cold.text().ids) << length;
      EXPECT_EQ(warm.outcome().explanation.cachedTokens, length - 1);
    }
  }
  // A prompt that shares one page, a page and a token, one and a half pages.
  for (int64_t shared : {page, page + 1, page + page / 2}) {
    std::vector<TokenId> prompt = ids(static_cast<size_t>(2 * page), 7);
    for (int64_t i = shared; i < 2 * page; ++i)
      prompt[static_cast<size_t>(i)] = static_cast<TokenId>((prompt[static_cast<size_t>(i)] + 1) % 15);
    const Submitted warm = run(*engine, greedy(prompt, 5));
    EXPECT_EQ(warm.outcome().explanation.cachedTokens, shared);
    engine->reset();
    EXPECT_EQ(run(*engine, greedy(prompt, 5)).text().ids, warm.text().ids);
    run(*engine, greedy(ids(static_cast<size_t>(2 * page), 7), 5));
  }
}

// vllm 16832: a request that was preempted came back incomplete. 25780: its second computation counted as cache hits.
TEST(ServingReports, PreemptionIsInvisible) {
  ToyArtifact files(ToyRule::Checksum);
  auto roomy = openToy(files);
  auto tiny = openToy(files, {.chunkTokens = 16, .maxSequences = 16, .kvTokens = 64});
  std::vector<Submitted> all;
  std::vector<Request> requests;
  for (uint32_t i = 0; i < 16; ++i) {
    requests.push_back(greedy(ids(3 + i % 4, i), 40));
    requests.back().prompt[0] = static_cast<TokenId>(i);
    requests.back().sampling.logprobs = 1;
    requests.back().sampling.temperature = i % 2 == 0 ? 0 : 7;
    all.push_back(submit(*tiny, requests.back()));
  }
  finishAll(*tiny);
  int64_t preemptions = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    const Submitted solo = run(*roomy, requests[i]);
    EXPECT_EQ(all[i].text().ids, solo.text().ids);
    EXPECT_EQ(all[i].recorder->events.size(), solo.recorder->events.size()) << "each delta once";
    EXPECT_EQ(all[i].text().text, solo.text().text);
    for (size_t k = 0; k < solo.text().reports.size(); ++k)
      EXPECT_EQ(all[i].text().reports[k].logprob, solo.text().reports[k].logprob);
    EXPECT_EQ(all[i].outcome().explanation.promptTokens, static_cast<int64_t>(requests[i].prompt.size()));
    EXPECT_EQ(all[i].outcome().explanation.generatedTokens, 40);
    preemptions += all[i].outcome().explanation.preemptions;
  }
  const EngineStats stats = tiny->stats();
  EXPECT_GT(preemptions, 0);
  EXPECT_EQ(stats.counters[Counter::Preemptions], preemptions);
  EXPECT_GT(stats.counters[Counter::RecomputedTokens], 0);
  EXPECT_EQ(stats.counters[Counter::PrefixQueries], stats.counters[Counter::PromptTokens]);
  EXPECT_EQ(stats.counters[Counter::PrefixHits], 0) << "no prompt begins like another";
}

// model_server 4428: what was cancelled ran on for nobody.
TEST(ServingReports, CancellationTakesOneStep) {
  ToyArtifact files(ToyRule::Checksum);
  auto engine = openToy(files, {.chunkTokens = 4, .maxSequences = 2});
  const EngineStats before = engine->stats();
  // In decode, in prefill, in the queue.
  const Submitted decoding = submit(*engine, greedy({1}, 50));
  engine->step();
  const Submitted prefilling = submit(*engine, greedy(ids(40), 5));
  engine->step();
  const Submitted queued = submit(*engine, greedy({2}, 5));
  const Submitted kept = submit(*engine, greedy({5, 6}, 3));
  for (const Submitted *one : {&decoding, &prefilling, &queued})
    engine->cancel(one->id);
  engine->step();
  engine->step(); // Deliveries overlap with the step after.
  for (const Submitted *one : {&decoding, &prefilling, &queued}) {
    ASSERT_TRUE(one->recorder->outcome);
    EXPECT_TRUE(one->outcome().status.ok());
    EXPECT_EQ(one->text().reason, FinishReason::Cancelled);
  }
  EXPECT_EQ(decoding.text().ids.size(), 2u);
  EXPECT_TRUE(queued.text().ids.empty());
  finishAll(*engine);
  EXPECT_EQ(kept.text().ids.size(), 3u);
  engine->cancel(kept.id); // Too late, and no harm.
  engine->reset();
  EXPECT_EQ(engine->stats().counters[Counter::FailedSteps], 0);
  EXPECT_EQ(engine->cachedTokens(), 0);
  EXPECT_EQ(before.running, 0);
}

// vllm 31731: a long prompt stopped all decoding, and what did not fit stopped all behind it.
TEST(ServingReports, DecodingGoesOnBetweenChunks) {
  ToyArtifact files(ToyRule::Checksum);
  auto engine = openToy(files, {.chunkTokens = 12, .maxSequences = 11});
  std::vector<Submitted> streams;
  for (uint32_t i = 0; i < 10; ++i)
    streams.push_back(submit(*engine, greedy(ids(1, i), 60)));
  for (int i = 0; i < 5; ++i)
    engine->step();
  const Submitted large = submit(*engine, greedy(ids(40), 1));
  while (!large.recorder->outcome) {
    std::vector<size_t> before;
    for (const Submitted &stream : streams)
      before.push_back(stream.recorder->events.size());
    engine->step();
    for (size_t i = 0; i < streams.size(); ++i)
      EXPECT_EQ(streams[i].recorder->events.size(), before[i] + 1) << "every stream, every step";
  }
  finishAll(*engine);
}

TEST(ServingReports, AFloodOfSmallOnesDoesNotStarveALargeOne) {
  ToyArtifact files(ToyRule::Checksum);
  for (Policy policy : {Policy::Fcfs, Policy::Priority, Policy::PrefixAware}) {
    auto engine = openToy(files, {.chunkTokens = 8, .maxSequences = 4, .kvTokens = 64, .policy = policy});
    for (uint32_t i = 0; i < 4; ++i)
      submit(*engine, greedy(ids(2, i), 12));
    engine->step();
    const Submitted large = submit(*engine, greedy(ids(45, 99), 10));
    int64_t steps = 0, small = 0;
    for (uint32_t i = 0; !large.recorder->outcome && steps < 2000; ++i, ++steps) {
      Request request = greedy(ids(2, 1000 + i), 4);
      request.priority = -1;
      submit(*engine, request);
      ++small;
      engine->step();
    }
    EXPECT_TRUE(large.recorder->outcome) << steps << " steps";
    EXPECT_GT(small, 5);
    finishAll(*engine);
  }
}

// vllm 1623: tiny temperatures and top_p gave NaN, for the neighbours too.
TEST(ServingReports, ExtremeSamplingParameters) {
  ToyArtifact files(ToyRule::Checksum);
  auto engine = openToy(files, {.maxSequences = 8});
  const std::vector<TokenId> prompt = ids(9), known = run(*engine, greedy(prompt, 8)).text().ids;
  for (float temperature : {0.0f, 1e-30f, 1e-4f, 1.0f, 100.0f})
    for (float topP : {0.0f, 1e-6f, 1.0f})
      for (int topK : {-1, 0, 1, 1000000000})
        for (float minP : {0.0f, 1.0f}) {
          Request request = greedy(prompt, 8);
          request.sampling.temperature = temperature;
          request.sampling.topP = topP;
          request.sampling.topK = topK;
          request.sampling.minP = minP;
          const Submitted neighbour = submit(*engine, greedy(prompt, 8)), one = run(*engine, request);
          ASSERT_TRUE(one.outcome().status.ok());
          ASSERT_EQ(neighbour.text().ids, known);
          if (temperature <= 1e-4f || topP <= 1e-6f || topK == 1 || minP == 1)
            EXPECT_EQ(one.text().ids, known) << temperature << " " << topP << " " << topK << " " << minP;
        }
  for (auto change : {+[](SamplingParams &p) { p.temperature = -1; }, +[](SamplingParams &p) { p.topP = 1.5f; },
                      +[](SamplingParams &p) { p.minP = -0.1f; }, +[](SamplingParams &p) { p.topK = -2; },
                      +[](SamplingParams &p) { p.temperature = NAN; }}) {
    Request request = greedy(prompt, 8);
    change(request.sampling);
    EXPECT_EQ(engine->submit(request, std::make_shared<RequestRecorder>()).status().code(), ErrorCode::InvalidArgument);
  }
}

// vllm 3574: stop strings over several tokens leaked, or what was withheld got lost.
TEST(ServingReports, StopStringsCutExactly) {
  ToyArtifact files; // a b c d ...
  auto engine = openToy(files);
  struct Case {
    std::vector<std::string> stops;
    std::string text;
    FinishReason reason;
  };
  const Case cases[] = {{{"def"}, "bc", FinishReason::Stop},
                        {{"defX"}, "bcdefgh", FinishReason::Length},
                        {{"de", "def"}, "bc", FinishReason::Stop},
                        {{"fgh", "cdefX"}, "bcde", FinishReason::Stop},
                        {{"ghi"}, "bcdefgh", FinishReason::Length}};
  for (const Case &one : cases) {
    Request request = greedy({0}, 7);
    request.stopStrings = one.stops;
    submit(*engine, greedy({3}, 7));
    const Submitted done = run(*engine, request);
    EXPECT_EQ(done.text().text, one.text);
    EXPECT_EQ(done.text().reason, one.reason);
  }
  Request request = greedy({0}, 7);
  request.stopStrings = {""};
  EXPECT_FALSE(engine->submit(request, std::make_shared<RequestRecorder>()));
  request.stopStrings.assign(17, "x");
  EXPECT_FALSE(engine->submit(request, std::make_shared<RequestRecorder>()));
}

// vllm PR 16529: ids outside the vocabulary crashed the engine or wrote into a neighbour's logits.
TEST(ServingReports, IdsOutsideTheVocabularyAreRefused) {
  ToyArtifact files;
  auto engine = openToy(files);
  const Submitted neighbour = submit(*engine, greedy({0}, 10));
  engine->step();
  for (TokenId bad : {TokenId{-1}, TokenId{toyVocab}, TokenId{INT32_MAX}, TokenId{INT32_MIN}})
    for (auto place : {+[](Request &r, TokenId id) { r.prompt.push_back(id); },
                       +[](Request &r, TokenId id) { r.stopIds.push_back(id); },
                       +[](Request &r, TokenId id) { r.sampling.logitBias[id] = 1; },
                       +[](Request &r, TokenId id) { r.sampling.allowedIds.push_back(id); }}) {
      Request request = greedy({0}, 5);
      place(request, bad);
      Result<RequestId> id = engine->submit(request, std::make_shared<RequestRecorder>());
      ASSERT_FALSE(id);
      EXPECT_EQ(id.status().code(), ErrorCode::InvalidArgument);
      EXPECT_THAT(id.status().message(), testing::HasSubstr(std::to_string(bad)));
    }
  for (float bias : {101.0f, -101.0f, NAN, INFINITY}) {
    Request request = greedy({0}, 5);
    request.sampling.logitBias[1] = bias;
    EXPECT_FALSE(engine->submit(request, std::make_shared<RequestRecorder>()));
  }
  Request padded = greedy({0}, 5); // Rows of the embedding without a token: a bias does not bring them to life.
  padded.sampling.logitBias[toyRealVocab] = 100;
  const Submitted never = submit(*engine, padded);
  finishAll(*engine);
  EXPECT_EQ(never.text().text, "bcdef");
  EXPECT_EQ(neighbour.text().text, "bcdefghijk");
}

// llama.cpp 3817: a prompt longer than the context crashed or looped.
TEST(ServingReports, TheContextIsTheLimit) {
  ToyArtifact files;
  auto engine = openToy(files, {.maxSequences = 2});
  for (size_t length : {toyContext, toyContext + 1, int64_t{5000}}) {
    Result<RequestId> id =
        engine->submit(greedy(std::vector<TokenId>(length, 0), 1), std::make_shared<RequestRecorder>());
    ASSERT_FALSE(id);
    EXPECT_THAT(id.status().message(),
                testing::HasSubstr("has " + std::to_string(length) + " tokens, the context holds 64"));
  }
  for (int64_t maxTokens : {int64_t{1}, int64_t{600}, int64_t{-1}}) {
    const Submitted done = run(*engine, greedy(std::vector<TokenId>(toyContext - 1, 0), maxTokens));
    EXPECT_EQ(done.text().ids.size(), 1u);
    EXPECT_EQ(done.text().reason, FinishReason::Length);
  }
  EXPECT_EQ(run(*engine, greedy({0, 1}, 600)).text().ids.size(), 62u);
}
