//===- PrefixTreeTest.cpp ----------------------------------------------------===//

#include "runtime/kv/PrefixTree.h"

#include <gtest/gtest.h>

#include <vector>

using namespace fusec::runtime;

namespace {

constexpr CacheScope scope{7}, otherScope{8};
using Tokens = std::vector<fusec::text::TokenId>;
const Tokens runA{1, 2}, runB{3, 4}, runC{5, 6};

struct TreeTest : testing::Test {
  PrefixTree tree{16, 2};
  BlockId add(CacheScope where, BlockId parent, const Tokens &run, int32_t page) {
    EXPECT_EQ(tree.insert(where, parent, run, BlockId{page}), std::nullopt);
    return BlockId{page};
  }
  /// The page that begins with all of `run`.
  std::optional<BlockId> find(CacheScope where, BlockId parent, const Tokens &run) const {
    std::optional<PrefixTree::Near> near = tree.nearest(where, parent, run);
    return near && near->common == static_cast<int64_t>(run.size()) ? std::optional(near->page) : std::nullopt;
  }
};

TEST_F(TreeTest, FindsRunsByPathAndScope) {
  BlockId a = add(scope, sinkBlock, runA, 3);
  BlockId b = add(scope, a, runB, 5);
  EXPECT_EQ(find(scope, sinkBlock, runA), a);
  EXPECT_EQ(find(scope, a, runB), b);
  EXPECT_EQ(find(scope, sinkBlock, runB), std::nullopt) << "a run counts only after its prefix";
  EXPECT_EQ(find(otherScope, sinkBlock, runA), std::nullopt);
  EXPECT_EQ(find(scope, b, runA), std::nullopt);
  EXPECT_TRUE(tree.check().ok());
}

TEST_F(TreeTest, NeighboursInTokenOrderAreDifferentRuns) {
  add(scope, sinkBlock, {0, 0}, 1);
  add(scope, sinkBlock, {0, 1}, 2);
  add(scope, sinkBlock, {-1, 0}, 3);
  EXPECT_EQ(find(scope, sinkBlock, {0, 1}), BlockId{2});
  EXPECT_EQ(find(scope, sinkBlock, {1, 0}), std::nullopt);
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

struct WideTreeTest : testing::Test {
  PrefixTree tree{16, 4};
  /// Page and tokens in common of what begins most like `run`.
  std::pair<int32_t, int64_t> near(Tokens run, BlockId parent = sinkBlock) const {
    std::optional<PrefixTree::Near> found = tree.nearest(scope, parent, run);
    return found ? std::pair(toIndex(found->page), found->common) : std::pair(0, int64_t(0));
  }
};

TEST_F(WideTreeTest, FindsTheRunThatBeginsMostLikeTheTokens) {
  tree.insert(scope, sinkBlock, Tokens{1, 2, 3, 4}, BlockId{1});
  tree.insert(scope, sinkBlock, Tokens{1, 2, 9, 9}, BlockId{2});
  tree.insert(scope, sinkBlock, Tokens{256, 2, 3, 4}, BlockId{3}); // Begins with the byte 0, like 512.
  EXPECT_EQ(near({1, 2, 3, 4}), std::pair(1, int64_t(4)));
  EXPECT_EQ(near({1, 2, 3, 9}), std::pair(1, int64_t(3)));
  EXPECT_EQ(near({1, 2, 9}), std::pair(2, int64_t(3)));
  EXPECT_EQ(near({1, 2, 3}), std::pair(1, int64_t(3)));
  EXPECT_EQ(near({1, 7}).second, 1);
  EXPECT_EQ(near({256, 2, 4, 4}), std::pair(3, int64_t(2)));
  EXPECT_EQ(near({512, 2, 3, 4}).second, 0);
  EXPECT_EQ(near({2}).second, 0);
  EXPECT_EQ(near({1, 2, 3, 4}, BlockId{1}).second, 0) << "nothing follows";
}

TEST_F(WideTreeTest, ALongerRunTakesThePlaceOfOneItBeginsWith) {
  EXPECT_EQ(tree.insert(scope, sinkBlock, Tokens{1, 2}, BlockId{1}), std::nullopt);
  EXPECT_EQ(tree.insert(scope, sinkBlock, Tokens{1, 3}, BlockId{2}), std::nullopt);
  tree.setIdle(BlockId{1});
  EXPECT_EQ(tree.heldTokens(), 4);
  EXPECT_EQ(tree.insert(scope, sinkBlock, Tokens{1, 2, 3}, BlockId{3}), BlockId{1});
  EXPECT_EQ(tree.insert(scope, sinkBlock, Tokens{1, 2, 3, 4}, BlockId{4}), BlockId{3}) << "also a held one";
  EXPECT_FALSE(tree.contains(BlockId{1}));
  EXPECT_EQ(tree.size(), 2);
  EXPECT_EQ(tree.heldTokens(), 6);
  tree.insert(scope, BlockId{4}, Tokens{5}, BlockId{5});
  EXPECT_EQ(tree.paths(scope), (std::vector<Tokens>{{1, 3}, {1, 2, 3, 4, 5}}));
  EXPECT_TRUE(tree.check().ok()) << tree.check().message();
  EXPECT_EQ(tree.evict(), std::nullopt) << "what was idle has left";
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
