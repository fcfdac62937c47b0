//===- Interleaving.cpp --------------------------------------------------------===//

#include "test/unit/runtime/Interleaving.h"

#include "test/unit/runtime/RequestRecorder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace fusec::runtime::test {

namespace {

struct Pair {
  std::shared_ptr<RequestRecorder> here = std::make_shared<RequestRecorder>();
  std::shared_ptr<RequestRecorder> solo = std::make_shared<RequestRecorder>();
  RequestId id{};
};

void expectSame(const std::vector<TokenReport> &a, const std::vector<TokenReport> &b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].id, b[i].id);
    EXPECT_EQ(std::memcmp(&a[i].logprob, &b[i].logprob, sizeof(float)), 0);
    ASSERT_EQ(a[i].top.size(), b[i].top.size());
    for (size_t k = 0; k < a[i].top.size(); ++k)
      EXPECT_EQ(std::memcmp(&a[i].top[k], &b[i].top[k], sizeof(TokenLogprob)), 0);
  }
}

void expectSame(const Generation &a, const Generation &b) {
  if (a.reason == FinishReason::Cancelled) { // A beginning of what there would have been.
    ASSERT_LE(a.ids.size(), b.ids.size());
    EXPECT_TRUE(std::equal(a.ids.begin(), a.ids.end(), b.ids.begin()));
    EXPECT_TRUE(b.text.starts_with(a.text));
    return;
  }
  EXPECT_EQ(a.ids, b.ids);
  EXPECT_EQ(a.text, b.text);
  EXPECT_EQ(a.reason, b.reason);
  EXPECT_EQ(a.stopId, b.stopId);
  EXPECT_EQ(a.stopString, b.stopString);
  expectSame(a.reports, b.reports);
  EXPECT_EQ(a.timings.promptTokens, b.timings.promptTokens);
  EXPECT_EQ(a.timings.decodeTokens, b.timings.decodeTokens);
  EXPECT_EQ(a.timings.prefillTokens + a.timings.cachedTokens, a.timings.promptTokens);
}

void expectSame(const RequestOutcome &found, const RequestOutcome &solo) {
  ASSERT_TRUE(found.status.ok()) << found.status.message();
  ASSERT_EQ(found.choices.size(), solo.choices.size());
  bool cancelled = false;
  for (size_t i = 0; i < found.choices.size(); ++i) {
    expectSame(found.choices[i], solo.choices[i]);
    cancelled |= found.choices[i].reason == FinishReason::Cancelled;
  }
  if (!cancelled)
    expectSame(found.promptLogprobs, solo.promptLogprobs);
}

void expectEmptyPool(const EngineStats &stats) {
  EXPECT_EQ(stats.pool.live + stats.pool.parked, 0);
  EXPECT_EQ(stats.pool.free + stats.pool.cached + stats.pool.sink, stats.pool.total);
  EXPECT_EQ(stats.running + stats.waiting, 0);
}

void arrive(Engine &engine, Engine &alone, const Request &request, std::vector<Pair> &pairs) {
  Pair pair;
  Result<RequestId> solo = alone.submit(request, pair.solo);
  ASSERT_TRUE(solo) << solo.status().message();
  while (!pair.solo->outcome)
    alone.step();
  Result<RequestId> id = engine.submit(request, pair.here);
  ASSERT_TRUE(id) << id.status().message();
  pair.id = *id;
  pairs.push_back(pair);
}

} // namespace

std::vector<TokenId> RandomSource::ids(size_t count, size_t vocab) {
  std::vector<TokenId> list(count);
  for (TokenId &id : list)
    id = static_cast<TokenId>(below(vocab));
  return list;
}

void varyRequest(Request &request, RandomSource &random, const std::vector<std::string> &stops) {
  request.sampling.temperature = random.oneIn(2) ? 0.0f : 1.0f;
  request.sampling.topP = random.oneIn(3) ? 0.8f : 1.0f;
  request.sampling.seed = random.below(5);
  request.sampling.logprobs = random.oneIn(3) ? 2 : -1;
  request.promptLogprobs = random.oneIn(6) ? 1 : -1;
  request.sampling.repetitionPenalty = random.oneIn(4) ? 1.5f : 1.0f;
  request.ignoreEos = random.oneIn(2);
  request.minTokens = random.oneIn(4) ? std::min<int64_t>(3, request.maxTokens) : 0;
  if (random.oneIn(4))
    request.stopStrings = stops;
  request.n = random.oneIn(4) ? 2 : 1;
  request.tenant = random.oneIn(5) ? "other" : "";
  request.skipPrefixCache = random.oneIn(8);
  request.priority = static_cast<int>(random.below(3));
}

void expectSoloEqualsBatched(Engine &engine, Engine &alone, const Interleaving &how) {
  RandomSource random(how.seed);
  std::vector<Pair> pairs;
  while (pairs.size() < how.requests || engine.hasWork()) {
    for (size_t count = random.below(how.arrivals); count > 0 && pairs.size() < how.requests; --count)
      ASSERT_NO_FATAL_FAILURE(arrive(engine, alone, how.next(random), pairs));
    if (!pairs.empty() && random.oneIn(how.cancelOneIn))
      engine.cancel(pairs[random.below(pairs.size())].id);
    engine.step();
  }
  for (const Pair &pair : pairs) {
    ASSERT_TRUE(pair.here->outcome);
    expectSame(*pair.here->outcome, *pair.solo->outcome);
  }
  expectEmptyPool(engine.stats());
}

} // namespace fusec::runtime::test
