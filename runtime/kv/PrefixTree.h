//===- PrefixTree.h - from runs of tokens to the pages that hold their KV ----===//
//
// One node per cached page. A node's path from its scope's root spells the tokens
// whose keys and values its page holds, one whole page per step. Children are
// found by comparing token ids: no hash decides, so no collision can mix two
// prompts, and none can be crafted to make a lookup slow.
//
//   std::optional<BlockId> page = sinkBlock;          // A root.
//   while ((page = tree.find(scope, *page, nextRun)))
//     ...;
//
// A node that a page table holds, or that has children, is never evicted: only
// idle leaves are, least recently used first. Who holds a page is the
// allocator's knowledge; KvManager says when a page becomes idle or busy. As
// page tables hold whole paths, below an idle node all is idle.
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
  using Run = std::span<const text::TokenId>; ///< Exactly one page of tokens.

  /// For pages 1 .. totalBlocks-1 of `pageTokens` tokens each.
  PrefixTree(int32_t totalBlocks, int64_t pageTokens);

  /// The page that holds `run` after `parent` (sinkBlock: at the start). O(log of the siblings).
  std::optional<BlockId> find(CacheScope scope, BlockId parent, Run run) const;
  /// Adds a node for `page`, busy. `run` must not be there yet, `parent` must be (or be sinkBlock).
  void insert(CacheScope scope, BlockId parent, Run run, BlockId page);

  /// No page table holds the node any more: it counts as just used, and may be evicted once it has no children.
  void setIdle(BlockId page);
  void setBusy(BlockId page);
  /// Removes the idle leaf that was used least recently, and returns its page. O(log n).
  std::optional<BlockId> evict();

  bool contains(BlockId page) const { return nodes[toIndex(page)].present; }
  BlockId parent(BlockId page) const { return nodes[toIndex(page)].parent; }
  CacheScope scope(BlockId page) const { return nodes[toIndex(page)].scope; }
  Run run(BlockId page) const { return {tokens.data() + toIndex(page) * pageTokens, static_cast<size_t>(pageTokens)}; }
  int32_t size() const { return count; }
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
    BlockId parent = sinkBlock;
    CacheScope scope{};
    uint64_t lastUse = 0;
    Children children;
  };

  Children *childrenOf(CacheScope scope, BlockId parent);
  bool isEvictable(const Node &node) const { return node.present && node.idle && node.children.empty(); }

  int64_t pageTokens;
  std::vector<text::TokenId> tokens; ///< [page, pageTokens]
  std::vector<Node> nodes;           ///< By page; entry 0 is unused.
  std::map<CacheScope, Children> roots;
  std::set<std::pair<uint64_t, BlockId>> evictable; ///< Idle leaves, least recently used first.
  int32_t count = 0;
  uint64_t clock = 0, changes = 0;
};

} // namespace fusec::runtime
