//===- SamplerTest.cpp - right values and extreme corners ----------------------===//

#include "runtime/engine/Sampler.h"
#include "runtime/engine/LogSoftmax.h"
#include "runtime/engine/SamplingMasses.h"
#include "test/unit/runtime/RandomLogits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <set>

using namespace fusec;
using namespace fusec::runtime;
using fusec::runtime::test::randomLogits;

namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float notANumber = std::numeric_limits<float>::quiet_NaN();

/// `count` draws from fresh samplers with seeds 0, 1, ...: a histogram.
std::vector<int> histogram(const SamplingParams &params, const std::vector<float> &logits, int count) {
  std::vector<int> hits(logits.size());
  for (int seed = 0; seed < count; ++seed) {
    SamplingParams seeded = params;
    seeded.seed = seed;
    Sampler sampler(seeded, {}, static_cast<int64_t>(logits.size()));
    Result<Sampler::Choice> choice = sampler.next(logits);
    EXPECT_TRUE(choice);
    ++hits[choice->id];
  }
  return hits;
}

std::set<TokenId> support(const SamplingParams &params, const std::vector<float> &logits) {
  std::vector<int> hits = histogram(params, logits, 2000);
  std::set<TokenId> ids;
  for (size_t id = 0; id < hits.size(); ++id)
    if (hits[id] > 0)
      ids.insert(static_cast<TokenId>(id));
  return ids;
}

TokenId pick(const SamplingParams &params, const std::vector<float> &logits, const std::vector<TokenId> &prompt = {}) {
  Sampler sampler(params, prompt, static_cast<int64_t>(logits.size()));
  Result<Sampler::Choice> choice = sampler.next(logits);
  EXPECT_TRUE(choice);
  return choice ? choice->id : -1;
}

} // namespace

TEST(Sampler, GreedyTakesTheLowestIdOfATie) {
  EXPECT_EQ(pick(SamplingParams::greedy(), {1, 3, 2, 3}), 1);
  EXPECT_EQ(pick(SamplingParams::greedy(), {-inf, notANumber, -5, -inf}), 2);
  EXPECT_EQ(pick(SamplingParams::greedy(), {1, inf, 2, inf}), 1);
}

TEST(Sampler, NoFiniteLogitIsAnError) {
  for (float temperature : {0.0f, 1.0f}) {
    SamplingParams params;
    params.temperature = temperature;
    Sampler sampler(params, {}, 3);
    EXPECT_FALSE(sampler.next(std::vector<float>{-inf, notANumber, -inf}));
  }
}

// Softmax of ln(1), ln(2), ln(4), ln(9) is 1/16, 2/16, 4/16, 9/16.
TEST(Sampler, DrawsFollowTheSoftmax) {
  std::vector<float> logits = {std::log(1.f), std::log(2.f), std::log(4.f), std::log(9.f)};
  const double expected[] = {1 / 16., 2 / 16., 4 / 16., 9 / 16.};
  const int count = 40000;
  std::vector<int> hits = histogram({}, logits, count);
  for (int id = 0; id < 4; ++id) {
    double sigma = std::sqrt(expected[id] * (1 - expected[id]) / count);
    EXPECT_NEAR(hits[id] / double(count), expected[id], 4 * sigma) << id;
  }
}

// Temperature 0.5 squares the odds: 1, 4, 16, 81 of 102.
TEST(Sampler, TemperatureSharpens) {
  std::vector<float> logits = {std::log(1.f), std::log(2.f), std::log(4.f), std::log(9.f)};
  SamplingParams params;
  params.temperature = 0.5;
  std::vector<int> hits = histogram(params, logits, 40000);
  EXPECT_NEAR(hits[3] / 40000., 81 / 102., 0.01);
  EXPECT_NEAR(hits[2] / 40000., 16 / 102., 0.01);
}

TEST(Sampler, OneSamplersDrawsAreIndependent) {
  SamplingParams params;
  params.seed = 7;
  Sampler sampler(params, {}, 2);
  std::vector<float> logits = {0, 0};
  int ones = 0, repeats = 0, last = -1;
  for (int i = 0; i < 10000; ++i) {
    TokenId id = sampler.next(logits)->id;
    ones += id;
    repeats += id == last;
    last = id;
  }
  EXPECT_NEAR(ones, 5000, 200);
  EXPECT_NEAR(repeats, 5000, 200);
}

TEST(Sampler, EqualSeedsGiveEqualTokens) {
  std::vector<float> logits(100, 0.f);
  auto ids = [&](uint64_t seed) {
    SamplingParams params;
    params.seed = seed;
    Sampler sampler(params, {}, 100);
    std::vector<TokenId> sampled;
    for (int i = 0; i < 20; ++i)
      sampled.push_back(sampler.next(logits)->id);
    return sampled;
  };
  EXPECT_EQ(ids(3), ids(3));
  EXPECT_NE(ids(3), ids(4));
}

TEST(Sampler, TopKKeepsTheBestAndLowIdsOfTies) {
  SamplingParams params;
  params.topK = 2;
  EXPECT_EQ(support(params, {0, 2, 1, 1.5}), (std::set<TokenId>{1, 3}));
  EXPECT_EQ(support(params, {1, 1, 1, 1}), (std::set<TokenId>{0, 1}));
  params.topK = 1000000000;
  EXPECT_EQ(support(params, {0, 0, 0, 0}).size(), 4u);
  params.topK = -1;
  EXPECT_EQ(support(params, {0, 0, 0, 0}).size(), 4u);
}

TEST(Sampler, TopPKeepsTheSmallestNucleus) {
  std::vector<float> logits = {std::log(1.f), std::log(2.f), std::log(4.f), std::log(9.f)}; // 9/16 = 0.5625
  SamplingParams params;
  params.topP = 0.5;
  EXPECT_EQ(support(params, logits), (std::set<TokenId>{3}));
  params.topP = 0.6;
  EXPECT_EQ(support(params, logits), (std::set<TokenId>{2, 3}));
  params.topP = 0.9;
  EXPECT_EQ(support(params, logits), (std::set<TokenId>{1, 2, 3}));
  params.topP = 0;
  EXPECT_EQ(support(params, logits), (std::set<TokenId>{3}));
}

// More candidates than one sorted prefix of the implementation.
TEST(Sampler, TopPOverAFlatVocabulary) {
  SamplingParams params;
  params.topP = 0.25;
  std::vector<float> logits(2000, 0.f);
  std::vector<int> hits = histogram(params, logits, 20000);
  for (size_t id = 500; id < 2000; ++id)
    EXPECT_EQ(hits[id], 0) << id;
  EXPECT_GT(*std::min_element(hits.begin(), hits.begin() + 500), 0);
}

// Against a full sort: every draw lies in the nucleus.
TEST(Sampler, TopPAgreesWithAFullSort) {
  std::mt19937 random(2);
  std::normal_distribution<float> normal(0, 3);
  std::vector<float> logits(5000);
  std::generate(logits.begin(), logits.end(), [&] { return normal(random); });
  std::vector<TokenId> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](TokenId a, TokenId b) { return logits[a] > logits[b]; });
  double normalizer = logSumExp(logits);
  for (float topP : {0.01f, 0.3f, 0.5f, 0.9f, 0.999f}) {
    std::set<TokenId> nucleus;
    double reached = 0;
    for (size_t i = 0; reached < topP; ++i) {
      nucleus.insert(order[i]);
      reached += std::exp(logits[order[i]] - normalizer);
    }
    SamplingParams params;
    params.topP = topP;
    for (int seed = 0; seed < 300; ++seed) {
      params.seed = seed;
      EXPECT_TRUE(nucleus.count(pick(params, logits))) << topP;
    }
  }
}

namespace {

/// The definition, without any short cut: weigh all, sort all, cut, draw.
TokenId drawBySorting(const SamplingParams &params, std::vector<float> scores) {
  for (float &score : scores)
    score = std::isnan(score) ? -inf : std::min(score, std::numeric_limits<float>::max());
  const float best = *std::max_element(scores.begin(), scores.end());
  struct Entry {
    TokenId id;
    SamplingMass mass;
  };
  std::vector<Entry> kept;
  SamplingMass all = 0;
  for (size_t id = 0; id < scores.size(); ++id) {
    const SamplingMass mass = samplingWeight(scores[id], best, params.temperature);
    all += mass;
    if (mass >= std::max<SamplingMass>(samplingLeast(params.minP), 1))
      kept.push_back({static_cast<TokenId>(id), mass});
  }
  std::sort(kept.begin(), kept.end(), [&](const Entry &a, const Entry &b) {
    return scores[a.id] != scores[b.id] ? scores[a.id] > scores[b.id] : a.id < b.id;
  });
  auto sum = [&] {
    SamplingMass sum = 0;
    for (const Entry &entry : kept)
      sum += entry.mass;
    return sum;
  };
  const bool hasTopK = params.topK > 0 && static_cast<size_t>(params.topK) < scores.size();
  if (hasTopK)
    kept.resize(std::min(kept.size(), static_cast<size_t>(params.topK)));
  if (params.topP < 1) {
    const SamplingMass wanted = samplingNucleus(params.topP, hasTopK ? sum() : all);
    SamplingMass reached = 0;
    size_t count = 0;
    while (count < kept.size() && reached < wanted)
      reached += kept[count++].mass;
    kept.resize(count);
  }
  std::sort(kept.begin(), kept.end(), [](const Entry &a, const Entry &b) { return a.id < b.id; });
  SamplingMass target = samplingTarget(samplingUniform(params.seed, 0), sum());
  for (const Entry &entry : kept) {
    if (entry.mass > target)
      return entry.id;
    target -= entry.mass;
  }
  return -1;
}

} // namespace

TEST(Sampler, AgreesWithAFullSort) {
  std::mt19937 random(8);
  auto one = [&](auto... values) { return std::array{values...}[random() % sizeof...(values)]; };
  SamplingParams coldest;
  coldest.temperature = 1e-6f;
  int distinct = 0;
  for (int round = 0; round < 300; ++round) {
    const std::vector<float> logits = randomLogits(random, one(1, 63, 64, 65, 1000, 5003, 20000));
    SamplingParams params;
    params.temperature = one(1e-6f, 0.1f, 0.7f, 1.0f, 4.0f, 100.0f, 1e30f);
    params.topK = one(0, 0, 1, 5, 40, 300, 3000, 100000);
    params.topP = one(1.0f, 0.1f, 0.5f, 0.95f, 0.9999f);
    params.minP = one(0.0f, 0.0f, 0.05f, 0.5f, 1e-9f);
    for (params.seed = 0; params.seed < 4; ++params.seed) {
      const TokenId expected = drawBySorting(params, logits);
      ASSERT_EQ(pick(params, logits), expected)
          << logits.size() << " logits, temperature " << params.temperature << ", top_k " << params.topK << ", top_p "
          << params.topP << ", min_p " << params.minP;
      distinct += expected != drawBySorting(coldest, logits);
    }
  }
  EXPECT_GT(distinct, 300) << "most draws are not simply the best";
}

// Top-p is taken of what top-k left: 4/13 and 9/13 = 0.69.
TEST(Sampler, TopPComesAfterTopK) {
  std::vector<float> logits = {std::log(1.f), std::log(2.f), std::log(4.f), std::log(9.f)};
  SamplingParams params;
  params.topK = 2;
  params.topP = 0.65;
  EXPECT_EQ(support(params, logits), (std::set<TokenId>{3}));
}

TEST(Sampler, MinPIsRelativeToTheBest) {
  std::vector<float> logits = {std::log(1.f), std::log(2.f), std::log(4.f), std::log(9.f)};
  SamplingParams params;
  params.minP = 0.3; // 4/9 stays, 2/9 goes.
  EXPECT_EQ(support(params, logits), (std::set<TokenId>{2, 3}));
  params.minP = 1;
  EXPECT_EQ(support(params, logits), (std::set<TokenId>{3}));
}

// Penalty 1.5: 2 -> 1.3333, -2 -> -3; each seen id once.
TEST(Sampler, RepetitionPenaltyMakesSeenTokensLessLikely) {
  SamplingParams params = SamplingParams::greedy();
  params.repetitionPenalty = 1.5;
  std::vector<TokenId> prompt = {0, 0, 0};
  EXPECT_EQ(pick(params, {2, 1.3334f}, prompt), 1);
  EXPECT_EQ(pick(params, {2, 1.3333f}, prompt), 0);
  EXPECT_EQ(pick(params, {-2, -2.9999f}, prompt), 1);
  EXPECT_EQ(pick(params, {-2, -3.0001f}, prompt), 0);
}

TEST(Sampler, RepetitionPenaltySeesTheOutputToo) {
  SamplingParams params = SamplingParams::greedy();
  params.repetitionPenalty = 4;
  Sampler sampler(params, {}, 3);
  std::vector<float> logits = {3, 2, 1};
  EXPECT_EQ(sampler.next(logits)->id, 0);
  EXPECT_EQ(sampler.next(logits)->id, 1);
  EXPECT_EQ(sampler.next(logits)->id, 2);
  EXPECT_EQ(sampler.next(logits)->id, 0);
}

// score - presence - frequency * count, counting sampled tokens only.
TEST(Sampler, PresenceAndFrequencyCountTheOutput) {
  SamplingParams params = SamplingParams::greedy();
  params.presencePenalty = 0.5;
  params.frequencyPenalty = 1;
  Sampler sampler(params, std::vector<TokenId>{0, 0}, 2);
  std::vector<float> logits = {3, 0.75};
  EXPECT_EQ(sampler.next(logits)->id, 0); // 3 against 0.75: the prompt does not count.
  EXPECT_EQ(sampler.next(logits)->id, 0); // 1.5
  EXPECT_EQ(sampler.next(logits)->id, 1); // 0.5
  EXPECT_EQ(sampler.next(logits)->id, 0); // 0.5 against -0.75
}

TEST(Sampler, BiasComesFirst) {
  SamplingParams params = SamplingParams::greedy();
  params.logitBias = {{1, 100}, {2, -100}};
  EXPECT_EQ(pick(params, {5, 0, 90}), 1);
  params.logitBias = {{0, -100}};
  params.repetitionPenalty = 2; // (5 - 100) * 2 = -190 < -150: the penalty sees the biased, negative logit.
  EXPECT_EQ(pick(params, {5, -150}, {0}), 1);
}

TEST(Sampler, PaddingRowsAreNeverSampled) {
  std::vector<float> logits = {0, 1, 50, 60};
  for (float temperature : {0.0f, 1.0f, 100.0f})
    for (int seed = 0; seed < 50; ++seed) {
      SamplingParams params;
      params.temperature = temperature;
      params.seed = seed;
      params.logitBias = {{3, 100}};
      Sampler sampler(params, {}, 2);
      EXPECT_LT(sampler.next(logits)->id, 2);
    }
}

TEST(Sampler, ExtremeCornersEqualGreedy) {
  std::vector<float> logits = {-1, 3, 2.999f, -inf, notANumber, -3e38f};
  for (float temperature : {0.0f, 1e-45f, 1e-30f, 1e-4f, 1.0f, 100.0f, 3e38f})
    for (float topP : {0.0f, 1e-6f, 1.0f})
      for (int topK : {-1, 0, 1, 1000000000})
        for (float minP : {0.0f, 1.0f}) {
          SamplingParams params;
          params.temperature = temperature;
          params.topP = topP;
          params.topK = topK;
          params.minP = minP;
          ASSERT_TRUE(params.validate(6).ok());
          TokenId id = pick(params, logits);
          bool greedy = temperature < 1e-3f || topP < 1 || topK == 1 || (minP == 1 && temperature <= 100);
          if (greedy)
            EXPECT_EQ(id, 1) << temperature << " " << topP << " " << topK << " " << minP;
          EXPECT_TRUE(id >= 0 && id != 3 && id != 4);
        }
}

TEST(Sampler, LogprobsAreOfTheRawDistribution) {
  SamplingParams params = SamplingParams::greedy();
  params.logprobs = 2;
  params.temperature = 0.01f;
  params.logitBias = {{0, 100}};
  Sampler sampler(params, {}, 4);
  std::vector<float> logits = {std::log(1.f), std::log(2.f), std::log(4.f), std::log(9.f)};
  Result<Sampler::Choice> choice = sampler.next(logits);
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->id, 0);
  EXPECT_NEAR(choice->logprob, std::log(1 / 16.), 1e-6);
  ASSERT_EQ(choice->topLogprobs.size(), 2u);
  EXPECT_EQ(choice->topLogprobs[0].id, 3);
  EXPECT_NEAR(choice->topLogprobs[0].logprob, std::log(9 / 16.), 1e-6);
  EXPECT_EQ(choice->topLogprobs[1].id, 2);
}

//===----------------------------------------------------------------------===//
// Choosing elsewhere
//===----------------------------------------------------------------------===//

// A device that is given the row chooses from it; the sampler goes on as if it had chosen itself.
TEST(Sampler, GoesOnAfterAChoiceOfAnother) {
  std::mt19937 rng(3);
  std::normal_distribution<float> normal(0, 2);
  std::vector<float> logits(50);
  for (float &logit : logits)
    logit = normal(rng);
  for (float temperature : {0.0f, 1.0f}) {
    SamplingParams params;
    params.temperature = temperature;
    params.seed = 9;
    Sampler own(params, {}, 50), told(params, {}, 50);
    for (uint64_t draw = 0; draw < 8; ++draw) {
      const RowSampling row = *told.rowSampling();
      EXPECT_EQ(row.draw, temperature == 0 ? 0 : draw);
      EXPECT_EQ(row.seed, 9u);
      const TokenId id = own.next(logits)->id;
      EXPECT_EQ(told.accept(id)->id, id);
    }
    EXPECT_EQ(told.accept(-1).status().message(), "sampling: no token has a finite logit");
  }
}

TEST(Sampler, NeedsTheLogitsForWhatARowDoesNotSay) {
  auto needs = [](auto change) {
    SamplingParams params;
    change(params);
    return !Sampler(params, {}, 10).rowSampling();
  };
  EXPECT_FALSE(needs([](SamplingParams &p) { p.topK = 3, p.topP = 0.5f, p.minP = 0.1f; }));
  EXPECT_TRUE(needs([](SamplingParams &p) { p.logprobs = 0; }));
  EXPECT_TRUE(needs([](SamplingParams &p) { p.logitBias[1] = 1; }));
  EXPECT_TRUE(needs([](SamplingParams &p) { p.repetitionPenalty = 1.1f; }));
  EXPECT_TRUE(needs([](SamplingParams &p) { p.presencePenalty = 0.1f; }));
  EXPECT_TRUE(needs([](SamplingParams &p) { p.frequencyPenalty = -0.1f; }));
}

TEST(Sampler, RestrictionsHoldForOneToken) {
  Sampler sampler(SamplingParams::greedy(), {}, 40);
  std::vector<float> logits(40, 0.0f);
  logits[33] = 5, logits[7] = 4;
  const uint32_t allowed[] = {1u << 7 | 1u << 3, 0};
  const TokenId banned[] = {7};
  EXPECT_EQ(sampler.next(logits, {allowed, {}})->id, 7);
  EXPECT_EQ(sampler.next(logits, {allowed, banned})->id, 3);
  EXPECT_EQ(sampler.next(logits, {{}, banned})->id, 33);
  EXPECT_EQ(sampler.next(logits)->id, 33);
  const uint32_t none[] = {0, 0};
  EXPECT_FALSE(sampler.next(logits, {none, {}}));
}
