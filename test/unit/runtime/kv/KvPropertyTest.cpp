//===- KvPropertyTest.cpp - random calls of KvManager against a naive model -----===//

#include "test/unit/runtime/kv/KvModel.h"

#include <gtest/gtest.h>

#include <cstdlib>

using namespace fusec::runtime;

static void runTrace(KvManager::Options options, uint32_t seed, int operations) {
  test::KvModel model(options, seed);
  for (int i = 0; i < operations; ++i) {
    std::string wrong = model.act();
    ASSERT_EQ(wrong, "") << "seed " << seed << ", operation " << i;
  }
  EXPECT_EQ(model.drain(), "") << "seed " << seed;
}

// 100,000 operations over many pool sizes, each followed by a recount and a comparison of every sequence's content.
// Pages of 40 tokens have parts that are too short to copy; every fifth pool is so large that nothing is evicted.
TEST(KvProperty, EverySequenceFindsItsTokensAndNothingIsLost) {
  int rounds = std::getenv("FUSEC_FULL") ? 1000 : 100;
  for (int round = 0; round < rounds; ++round)
    runTrace({.totalBlocks = round % 5 == 4 ? 2000 : 2 + (round * 7) % 61,
              .pageTokens = round % 7 == 6 ? 40 : 1 + round % 6,
              .prefixCache = round % 10 != 9},
             static_cast<uint32_t>(round), 1000);
}

// The trace must reach what it is there for.
TEST(KvProperty, TracesShareEvictCopyAndDeduplicate) {
  test::KvModel model({.totalBlocks = 24, .pageTokens = 4, .prefixCache = true}, 1);
  bool parked = false;
  for (int i = 0; i < 12000; ++i) {
    ASSERT_EQ(model.act(), "");
    parked |= model.kv.ledger().parked > 0;
  }
  const CacheStats &stats = model.kv.stats();
  EXPECT_TRUE(parked);
  EXPECT_GT(stats.hitTokens, 100);
  EXPECT_GT(stats.published, 100);
  EXPECT_GT(stats.deduplicated, 20);
  EXPECT_GT(stats.evicted, 50);
  EXPECT_GT(stats.extended, 5);
  EXPECT_GT(model.partHits, 100);
  EXPECT_GT(stats.copied - model.partHits, 30) << "of forks";
}
