//===- PrefixTree.h - from runs of tokens to the pages that hold their KV ----===//
//
// One node per cached page. A node's run are the tokens whose keys and values its
// page holds: a whole page of them or, in a leaf, fewer. Its path from its scope's
// root spells all tokens before. Runs are compared by token ids: no hash decides,
// so no collision can mix two prompts, and none can be crafted to make a lookup slow.
//
//   BlockId parent = sinkBlock;                          // A root.
//   while (auto next = tree.nearest(scope, parent, tokens)) // ... next->common of these are in next->page.
//     ...;
//
// No run begins with a sibling's: a longer one takes the place of a shorter one.
// So siblings are in the order of their tokens, and those that begin most like
// some tokens stand beside the place where these would be.
//
// A node that somebody holds, or that has children, is never evicted: only idle
// leaves are, least recently used first. Who holds a page is the allocator's
// knowledge; KvManager says when a page becomes idle or busy. Whoever holds a
// page holds its path, so below an idle node all is idle.
//
// A page is in the tree at most once, so nodes are numbered by their page.
// Threading: none; one owner.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/kv/BlockAllocator.h"
#include "runtime/text/TokenId.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace fusec::runtime {

/// What cached KV depends on besides the tokens: a 64-bit digest of model,
/// adapter, KV storage and the tenant's salt. Equal tokens of different scopes
/// never share a page.
enum class CacheScope : uint64_t {};

class PrefixTree {
public:
  using Run = std::span<const text::TokenId>; ///< 1 to pageTokens tokens.

  /// For pages 1 .. totalBlocks-1 of `pageTokens` tokens each.
  PrefixTree(int32_t totalBlocks, int64_t pageTokens);

  /// The page after `parent` (sinkBlock: at the start) that begins with the most tokens of `wanted`, and how many; none
  /// when no page begins with its first token. O(log of the siblings) comparisons.
  struct Near {
    BlockId page{};
    int64_t common = 0; ///< At least 1.
  };
  std::optional<Near> nearest(CacheScope scope, BlockId parent, Run wanted) const;
  /// Adds a node for `page`, busy. No sibling may begin with `run`; `parent` must be a whole page of the tree (or
  /// sinkBlock). Removes the sibling that `run` begins with, if there is one, and returns its page.
  std::optional<BlockId> insert(CacheScope scope, BlockId parent, Run run, BlockId page);

  /// Nobody holds the node any more: it counts as just used, and may be evicted once it has no children.
  void setIdle(BlockId page);
  void setBusy(BlockId page);
  /// Removes the idle leaf that was used least recently, and returns its page. O(log n).
  std::optional<BlockId> evict();

  bool contains(BlockId page) const { return nodes[toIndex(page)].present; }
  BlockId parent(BlockId page) const { return nodes[toIndex(page)].parent; }
  CacheScope scope(BlockId page) const { return nodes[toIndex(page)].scope; }
  Run run(BlockId page) const {
    return {tokens.data() + toIndex(page) * pageTokens, static_cast<size_t>(nodes[toIndex(page)].length)};
  }
  int32_t size() const { return count; }
  /// Of all nodes.
  int64_t heldTokens() const { return tokenCount; }
  /// Every path to a leaf of a scope as its tokens. O(all tokens).
  std::vector<std::vector<text::TokenId>> paths(CacheScope scope) const;
  /// Changes whenever a page enters or leaves: what was looked up before may be stale.
  uint64_t version() const { return changes; }

  /// Walks everything; Internal error when links, runs or the list of idle leaves disagree.
  Status check() const;

private:
  struct RunLess {
    bool operator()(Run a, Run b) const;
  };
  using Children = std::map<Run, BlockId, RunLess>; ///< Keys point into `tokens`.
  struct Node {
    bool present = false, idle = false;
    int32_t length = 0; ///< Tokens of its run.
    BlockId parent = sinkBlock;
    CacheScope scope{};
    uint64_t lastUse = 0;
    Children children;
  };

  Children *childrenOf(CacheScope scope, BlockId parent);
  const Children *findChildren(CacheScope scope, BlockId parent) const;
  bool isEvictable(const Node &node) const { return node.present && node.idle && node.children.empty(); }
  bool isWhole(BlockId page) const { return static_cast<int64_t>(run(page).size()) == pageTokens; }
  void remove(BlockId page);
  Status checkNode(BlockId page) const;

  int64_t pageTokens;
  std::vector<text::TokenId> tokens; ///< [page, pageTokens]
  std::vector<Node> nodes;           ///< By page; entry 0 is unused.
  std::map<CacheScope, Children> roots;
  std::set<std::pair<uint64_t, BlockId>> evictable; ///< Idle leaves, least recently used first.
  int32_t count = 0;
  int64_t tokenCount = 0;
  uint64_t clock = 0, changes = 0;
};

} // namespace fusec::runtime
