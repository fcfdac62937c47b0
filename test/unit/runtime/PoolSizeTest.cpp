//===- PoolSizeTest.cpp - sizes of an engine, resolved against each other -------===//

#include "runtime/engine/PoolSize.h"
#include "test/unit/runtime/ToyArtifact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace fusec;
using namespace fusec::runtime;
using namespace fusec::runtime::test;

namespace {

/// Pages of 4 tokens and 16 bytes, a context of 64.
Result<PoolSize> size(const EngineOptions &options) {
  static const Result<Manifest> manifest = parseManifest(toyManifest(), "toy", toyWeightsBytes);
  return sizePool(options, *manifest);
}

std::string refusal(const EngineOptions &options) {
  Result<PoolSize> found = size(options);
  return found ? "accepted" : found.status().message();
}

} // namespace

TEST(PoolSize, HoldsAContextForEachSequence) {
  Result<PoolSize> found = size({.maxSequences = 3});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->numPages, 3 * 16 + 1);
  EXPECT_EQ(found->options.kvTokens, 192);
  EXPECT_EQ(found->options.contextTokens, 64);
  EXPECT_EQ(found->options.chunkTokens, 192);
  EXPECT_GE(found->maxOutputRows, 3);
}

TEST(PoolSize, FollowsTheBudget) {
  Result<PoolSize> tokens = size({.maxSequences = 3, .kvTokens = 103});
  ASSERT_TRUE(tokens);
  EXPECT_EQ(tokens->numPages, 25 + 1) << "whole pages";
  Result<PoolSize> bytes = size({.maxSequences = 3, .kvBytes = 20 * 16 + 15});
  ASSERT_TRUE(bytes);
  EXPECT_EQ(bytes->numPages, 20) << "with the sink";
}

// Without a wish for the context it is what the pool holds; with one, the pool must hold it.
TEST(PoolSize, FitsTheContextToThePool) {
  Result<PoolSize> found = size({.kvTokens = 20});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->options.contextTokens, 20);
  EXPECT_THAT(
      refusal({.contextTokens = 64, .kvTokens = 60}),
      testing::HasSubstr("holds 60 tokens (15 pages of 16 bytes), one context of 64 tokens needs 16 pages: give "
                         "it at least 272 bytes"));
  EXPECT_THAT(refusal({.kvBytes = 16}), testing::HasSubstr("holds 0 tokens"));
}

TEST(PoolSize, EveryRunningSequenceHasATokenInAStep) {
  Result<PoolSize> found = size({.chunkTokens = 2, .maxSequences = 7});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->options.chunkTokens, 7);
}

TEST(PoolSize, RefusesNonsense) {
  EXPECT_THAT(refusal({.maxSequences = 0}), testing::HasSubstr("sequences that run at once: expected 1 to 4096"));
  EXPECT_THAT(refusal({.kvBytes = -1}), testing::HasSubstr("kv bytes"));
  EXPECT_THAT(refusal({.kvTokens = -1}), testing::HasSubstr("kv tokens"));
  EXPECT_THAT(refusal({.kvBytes = 1000, .kvTokens = 1000}), testing::HasSubstr("two sizes"));
}
