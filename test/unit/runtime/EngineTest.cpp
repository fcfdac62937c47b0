//===- EngineTest.cpp - generation on the toy model ---------------------------===//
//
// The toy's tokens are a..k, the two bytes of an e with acute accent, m, n, and
// an end token; by the Successor rule each is followed by the next.
//
//===----------------------------------------------------------------------===//

#include "runtime/engine/Engine.h"
#include "runtime/text/Tokenizer.h"
#include "test/unit/runtime/ToyArtifact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>

using namespace fusec;
using namespace fusec::runtime;
using namespace fusec::runtime::test;

namespace {

std::unique_ptr<Engine> open(const ToyArtifact &files, EngineOptions options = {}) {
  options.artifact = files.directory();
  options.level = "avx2";
  options.threads = std::max(options.threads, 1);
  Result<std::unique_ptr<Engine>> engine = Engine::create(options);
  EXPECT_TRUE(engine) << engine.status().message();
  return engine ? std::move(*engine) : nullptr;
}

Request greedy(std::vector<TokenId> prompt) {
  Request request;
  request.prompt = std::move(prompt);
  request.sampling = SamplingParams::greedy();
  return request;
}

/// What Checksum generates, by hand.
std::vector<TokenId> checksumContinuation(std::vector<TokenId> ids, size_t count) {
  size_t prompt = ids.size();
  int64_t sum = 0;
  for (size_t i = 0; ids.size() < prompt + count; ++i) {
    sum += static_cast<int64_t>(i + 1) * (ids[i] + 1);
    if (i + 1 == ids.size())
      ids.push_back(static_cast<TokenId>(sum % toyRealVocab));
  }
  return {ids.begin() + static_cast<int64_t>(prompt), ids.end()};
}

std::vector<TokenId> randomIds(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<TokenId> ids(count);
  for (TokenId &id : ids)
    id = static_cast<TokenId>(random() % toyRealVocab);
  return ids;
}

} // namespace

TEST(Engine, GeneratesUntilTheEndToken) {
  ToyArtifact files;
  auto engine = open(files);
  ASSERT_TRUE(engine);
  std::string streamed;
  std::vector<TokenId> ids;
  Result<Generation> done = engine->generate(greedy({7}), [&](const TokenEvent &event) {
    streamed += event.textDelta;
    ids.push_back(event.id);
    return true;
  });
  ASSERT_TRUE(done) << done.status().message();
  EXPECT_EQ(done->reason, FinishReason::Stop);
  EXPECT_EQ(done->ids, (std::vector<TokenId>{8, 9, 10, 11, 12, 13, 14}));
  EXPECT_EQ(done->text, "ijk\u00e9mn");
  EXPECT_EQ(streamed, done->text);
  EXPECT_EQ(ids, done->ids);
  EXPECT_EQ(done->timings.promptTokens, 1);
  EXPECT_EQ(done->timings.decodeTokens, 7);
}

TEST(Engine, TextDeltasHoldWholeCharacters) {
  ToyArtifact files;
  auto engine = open(files);
  ASSERT_TRUE(engine);
  std::vector<std::string> deltas;
  ASSERT_TRUE(engine->generate(greedy({10}), [&](const TokenEvent &event) {
    deltas.push_back(event.textDelta);
    return true;
  }));
  EXPECT_EQ(deltas, (std::vector<std::string>{"", "\u00e9", "m", "n"}));
}

TEST(Engine, StopStringsCutTheText) {
  ToyArtifact files;
  auto engine = open(files);
  ASSERT_TRUE(engine);
  struct Case {
    std::vector<std::string> stops;
    std::string text;
    FinishReason reason;
  };
  // maxTokens 6 after "a": bcdefg.
  const Case cases[] = {{{"ef"}, "bcd", FinishReason::Stop},  {{"fg", "de"}, "bc", FinishReason::Stop},
                        {{"b"}, "", FinishReason::Stop},      {{"fgh"}, "bcdefg", FinishReason::Length},
                        {{"g"}, "bcdef", FinishReason::Stop}, {{"xyz"}, "bcdefg", FinishReason::Length}};
  for (const Case &row : cases) {
    Request request = greedy({0});
    request.stopStrings = row.stops;
    request.maxTokens = 6;
    std::string streamed;
    Result<Generation> done = engine->generate(request, [&](const TokenEvent &event) {
      streamed += event.textDelta;
      return true;
    });
    ASSERT_TRUE(done);
    EXPECT_EQ(done->text, row.text);
    EXPECT_EQ(streamed, row.text);
    EXPECT_EQ(done->reason, row.reason) << row.text;
  }
}

// "nX" is never completed: what was held back arrives with the end token, in an event of its own.
TEST(Engine, HeldBackTextIsReleasedAtTheEnd) {
  ToyArtifact files;
  auto engine = open(files);
  ASSERT_TRUE(engine);
  Request request = greedy({12});
  request.stopStrings = {"mnX"};
  std::vector<TokenEvent> events;
  Result<Generation> done = engine->generate(request, [&](const TokenEvent &event) {
    events.push_back(event);
    return true;
  });
  ASSERT_TRUE(done);
  EXPECT_EQ(done->text, "mn");
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[1].textDelta, "");
  EXPECT_EQ(events[2].id, TokenEvent::noToken);
  EXPECT_EQ(events[2].textDelta, "mn");
}

TEST(Engine, StopIdsAndIgnoreEos) {
  ToyArtifact files;
  auto engine = open(files);
  ASSERT_TRUE(engine);
  Request request = greedy({0});
  request.stopIds = {4};
  Result<Generation> done = engine->generate(request);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->text, "bcd");
  EXPECT_EQ(done->reason, FinishReason::Stop);

  request = greedy({13});
  request.ignoreEos = true;
  request.maxTokens = 4;
  done = engine->generate(request);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->ids, (std::vector<TokenId>{14, 15, 0, 1}));
  EXPECT_EQ(done->text, "nab");
  EXPECT_EQ(done->reason, FinishReason::Length);
}

// The answer depends neither on the chunk size nor on the number of threads.
TEST(Engine, ChunksAndThreadsDoNotChangeTheIds) {
  ToyArtifact files(ToyRule::Checksum);
  for (int threads : {1, 2})
    for (int64_t chunk : {1, 2, 3, 4, 5, 7, 8, 16, 33, 64, 1000}) {
      auto engine = open(files, {.threads = threads, .chunkTokens = chunk});
      ASSERT_TRUE(engine);
      for (size_t length : {1, 3, 4, 5, 8, 9, 17, 33}) {
        Request request = greedy(randomIds(length, 3));
        request.ignoreEos = true;
        request.maxTokens = 20;
        Result<Generation> done = engine->generate(request);
        ASSERT_TRUE(done) << done.status().message();
        EXPECT_EQ(done->ids, checksumContinuation(request.prompt, 20)) << "chunk " << chunk << " length " << length;
        EXPECT_EQ(done->timings.prefillTokens + done->timings.cachedTokens, static_cast<int64_t>(length));
      }
    }
}

TEST(Engine, TheContextIsTheLimit) {
  ToyArtifact files;
  auto engine = open(files, {.contextTokens = 10});
  ASSERT_TRUE(engine);
  for (int64_t maxTokens : {int64_t{-1}, int64_t{1}, int64_t{600}}) {
    Request request = greedy(std::vector<TokenId>(9, 0));
    request.maxTokens = maxTokens;
    Result<Generation> done = engine->generate(request);
    ASSERT_TRUE(done);
    EXPECT_EQ(done->ids.size(), 1u);
    EXPECT_EQ(done->reason, FinishReason::Length);
  }
  for (size_t length : {10, 11, 5000}) {
    Result<Generation> done = engine->generate(greedy(std::vector<TokenId>(length, 0)));
    ASSERT_FALSE(done);
    EXPECT_EQ(done.status().code(), ErrorCode::InvalidArgument);
    EXPECT_THAT(done.status().message(),
                testing::HasSubstr("has " + std::to_string(length) + " tokens, the context holds 10"));
  }
  Result<Generation> all = engine->generate(greedy({0, 1, 2}));
  ASSERT_TRUE(all);
  EXPECT_EQ(all->ids.size(), 7u);
  EXPECT_EQ(all->reason, FinishReason::Length);
}

// The same prompt again, longer and shorter ones around page borders, divergence: warm equals cold.
TEST(Engine, PrefixReuseEqualsAColdRun) {
  ToyArtifact files(ToyRule::Checksum);
  auto warm = open(files, {.chunkTokens = 5});
  ASSERT_TRUE(warm);
  std::vector<TokenId> base = randomIds(30, 5), other = randomIds(30, 6);
  for (size_t length : {1, 1, 3, 4, 4, 5, 5, 8, 8, 8, 4, 12, 6, 13, 20, 20, 7}) {
    for (size_t shared : {size_t{0}, length / 2, length}) {
      Request request = greedy({base.begin(), base.begin() + length});
      std::copy(other.begin() + shared, other.begin() + length, request.prompt.begin() + shared);
      request.ignoreEos = true;
      request.maxTokens = 9;
      Result<Generation> done = warm->generate(request);
      ASSERT_TRUE(done);
      EXPECT_EQ(done->ids, checksumContinuation(request.prompt, 9));
      EXPECT_LE(done->timings.cachedTokens, static_cast<int64_t>(length) - 1);
    }
  }
  // A chat turn: prompt + answer + more. Of the 15 tokens computed, none is computed again.
  warm->reset();
  EXPECT_EQ(warm->cachedTokens(), 0);
  Request turn = greedy({base.begin(), base.begin() + 10});
  turn.ignoreEos = true;
  turn.maxTokens = 6;
  Result<Generation> first = warm->generate(turn);
  ASSERT_TRUE(first);
  EXPECT_EQ(warm->cachedTokens(), 15);
  turn.prompt.insert(turn.prompt.end(), first->ids.begin(), first->ids.end());
  turn.prompt.push_back(3);
  Result<Generation> second = warm->generate(turn);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->timings.cachedTokens, 15);
  EXPECT_EQ(second->timings.prefillTokens, 2);
  EXPECT_EQ(second->ids, checksumContinuation(turn.prompt, 6));
}

TEST(Engine, CancelsByCallbackAndByFlag) {
  ToyArtifact files(ToyRule::Checksum);
  auto engine = open(files, {.chunkTokens = 2});
  ASSERT_TRUE(engine);
  Request request = greedy(randomIds(12, 1));
  request.ignoreEos = true;
  int events = 0;
  Result<Generation> done = engine->generate(request, [&](const TokenEvent &) { return ++events < 3; });
  ASSERT_TRUE(done);
  EXPECT_EQ(done->reason, FinishReason::Cancelled);
  EXPECT_EQ(done->ids.size(), 3u);

  std::atomic<bool> cancel{true};
  request.cancel = &cancel;
  request.prompt[0] = (request.prompt[0] + 1) % 16;
  done = engine->generate(request);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->reason, FinishReason::Cancelled);
  EXPECT_TRUE(done->ids.empty());
  EXPECT_EQ(done->timings.prefillTokens, 0) << "cancelled before the first chunk";

  cancel = false;
  request.maxTokens = 5;
  done = engine->generate(request);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->ids, checksumContinuation(request.prompt, 5)) << "a cancelled run leaves the engine usable";
}

TEST(Engine, InvalidRequestsChangeNothing) {
  ToyArtifact files;
  auto engine = open(files);
  ASSERT_TRUE(engine);
  ASSERT_TRUE(engine->generate(greedy({1, 2, 3})));
  int64_t cached = engine->cachedTokens();
  EXPECT_FALSE(engine->generate(greedy({})));
  EXPECT_FALSE(engine->generate(greedy({toyVocab})));
  Request request = greedy({1});
  request.sampling.temperature = -1;
  EXPECT_FALSE(engine->generate(request));
  EXPECT_EQ(engine->cachedTokens(), cached);
}

// The padding columns 16..19 have the best logits of all.
TEST(Engine, NeverSamplesBeyondTheTokenizer) {
  ToyArtifact files;
  auto engine = open(files);
  ASSERT_TRUE(engine);
  EXPECT_EQ(engine->tokenizer().size(), toyRealVocab);
  Request request = greedy({0});
  request.ignoreEos = true;
  request.maxTokens = 40;
  request.sampling.temperature = 3;
  request.sampling.seed = 11;
  Result<Generation> done = engine->generate(request);
  ASSERT_TRUE(done);
  for (TokenId id : done->ids)
    EXPECT_LT(id, toyRealVocab);
  Result<Generation> again = engine->generate(request);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->ids, done->ids) << "equal seeds";
}
