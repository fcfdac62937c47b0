//===- PrefixTreeTest.cpp ----------------------------------------------------===//

#include "runtime/kv/PrefixTree.h"

#include <gtest/gtest.h>

#include <array>

using namespace fusec::runtime;

namespace {

constexpr CacheScope scope{7}, otherScope{8};
using Tokens = std::array<fusec::text::TokenId, 2>;
constexpr Tokens runA{1, 2}, runB{3, 4}, runC{5, 6};

struct TreeTest : testing::Test {
  PrefixTree tree{16, 2};
  BlockId add(CacheScope where, BlockId parent, Tokens run, int32_t page) {
    tree.insert(where, parent, run, BlockId{page});
    return BlockId{page};
  }
};

TEST_F(TreeTest, FindsRunsByPathAndScope) {
  BlockId a = add(scope, sinkBlock, runA, 3);
  BlockId b = add(scope, a, runB, 5);
  EXPECT_EQ(tree.find(scope, sinkBlock, runA), a);
  EXPECT_EQ(tree.find(scope, a, runB), b);
  EXPECT_EQ(tree.find(scope, sinkBlock, runB), std::nullopt) << "a run counts only after its prefix";
  EXPECT_EQ(tree.find(otherScope, sinkBlock, runA), std::nullopt);
  EXPECT_EQ(tree.find(scope, b, runA), std::nullopt);
  EXPECT_TRUE(tree.check().ok());
}

TEST_F(TreeTest, NeighboursInTokenOrderAreDifferentRuns) {
  add(scope, sinkBlock, {0, 0}, 1);
  add(scope, sinkBlock, {0, 1}, 2);
  add(scope, sinkBlock, {-1, 0}, 3);
  EXPECT_EQ(tree.find(scope, sinkBlock, Tokens{0, 1}), BlockId{2});
  EXPECT_EQ(tree.find(scope, sinkBlock, Tokens{1, 0}), std::nullopt);
}

TEST_F(TreeTest, EvictsOnlyIdleLeavesLeastRecentlyUsedFirst) {
  BlockId a = add(scope, sinkBlock, runA, 1);
  BlockId b = add(scope, a, runB, 2);
  BlockId c = add(scope, sinkBlock, runC, 3);
  EXPECT_EQ(tree.evict(), std::nullopt) << "all are held";
  tree.setIdle(b);
  tree.setIdle(a);
  tree.setIdle(c);
  tree.setBusy(b);
  tree.setIdle(b); // Used again: younger than c now.
  EXPECT_EQ(tree.evict(), c);
  EXPECT_EQ(tree.evict(), b);
  EXPECT_EQ(tree.evict(), a) << "became a leaf";
  EXPECT_EQ(tree.evict(), std::nullopt);
  EXPECT_EQ(tree.size(), 0);
  EXPECT_TRUE(tree.check().ok());
}

TEST_F(TreeTest, ParentsThatBecomeLeavesKeepTheirAge) {
  BlockId a = add(scope, sinkBlock, runA, 1);
  BlockId b = add(scope, a, runB, 2);
  BlockId c = add(scope, sinkBlock, runC, 3);
  tree.setIdle(b);
  tree.setIdle(c);
  tree.setIdle(a); // Last used after c.
  EXPECT_EQ(tree.evict(), b);
  EXPECT_EQ(tree.evict(), c);
  EXPECT_EQ(tree.evict(), a);
}

TEST_F(TreeTest, VersionTellsThatALookupMayBeStale) {
  uint64_t before = tree.version();
  BlockId a = add(scope, sinkBlock, runA, 1);
  EXPECT_NE(tree.version(), before);
  before = tree.version();
  tree.setIdle(a);
  EXPECT_EQ(tree.version(), before);
  tree.evict();
  EXPECT_NE(tree.version(), before);
}

} // namespace
