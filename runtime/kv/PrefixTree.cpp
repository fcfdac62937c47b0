//===- PrefixTree.cpp --------------------------------------------------------===//

#include "runtime/kv/PrefixTree.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <string>

namespace fusec::runtime {

/// Any total order will do; that of the bytes is the quickest.
bool PrefixTree::RunLess::operator()(Run a, Run b) const { return std::memcmp(a.data(), b.data(), a.size_bytes()) < 0; }

PrefixTree::PrefixTree(int32_t totalBlocks, int64_t pageTokens)
    : pageTokens(pageTokens), tokens(static_cast<size_t>(std::max(totalBlocks, 1)) * pageTokens),
      nodes(std::max(totalBlocks, 1)) {}

PrefixTree::Children *PrefixTree::childrenOf(CacheScope scope, BlockId parent) {
  return parent == sinkBlock ? &roots[scope] : &nodes[toIndex(parent)].children;
}

std::optional<BlockId> PrefixTree::find(CacheScope scope, BlockId parent, Run run) const {
  assert(static_cast<int64_t>(run.size()) == pageTokens);
  const Children *children = nullptr;
  if (parent != sinkBlock) {
    children = &nodes[toIndex(parent)].children;
  } else if (auto root = roots.find(scope); root != roots.end()) {
    children = &root->second;
  }
  if (!children)
    return std::nullopt;
  auto child = children->find(run);
  return child == children->end() ? std::nullopt : std::optional(child->second);
}

void PrefixTree::insert(CacheScope scope, BlockId parent, Run newRun, BlockId page) {
  assert(page != sinkBlock && !contains(page) && "a page holds one run");
  assert((parent == sinkBlock || contains(parent)) && "runs follow runs");
  std::copy(newRun.begin(), newRun.end(), tokens.begin() + toIndex(page) * pageTokens);
  Node &node = nodes[toIndex(page)];
  node.present = true;
  node.idle = false;
  node.parent = parent;
  node.scope = scope;
  if (parent != sinkBlock)
    evictable.erase({nodes[toIndex(parent)].lastUse, parent});
  [[maybe_unused]] bool added = childrenOf(scope, parent)->emplace(run(page), page).second;
  assert(added && "look a run up before inserting it");
  ++count;
  ++changes;
}

void PrefixTree::setIdle(BlockId page) {
  Node &node = nodes[toIndex(page)];
  assert(node.present && !node.idle);
  node.idle = true;
  node.lastUse = ++clock;
  if (node.children.empty())
    evictable.insert({node.lastUse, page});
}

void PrefixTree::setBusy(BlockId page) {
  Node &node = nodes[toIndex(page)];
  assert(node.present && node.idle);
  node.idle = false;
  evictable.erase({node.lastUse, page});
}

std::optional<BlockId> PrefixTree::evict() {
  if (evictable.empty())
    return std::nullopt;
  BlockId page = evictable.begin()->second;
  evictable.erase(evictable.begin());
  Node &node = nodes[toIndex(page)];
  Children *siblings = childrenOf(node.scope, node.parent);
  siblings->erase(run(page));
  if (node.parent == sinkBlock && siblings->empty())
    roots.erase(node.scope); // Scopes come from clients: none may stay behind.
  if (node.parent != sinkBlock && isEvictable(nodes[toIndex(node.parent)]))
    evictable.insert({nodes[toIndex(node.parent)].lastUse, node.parent});
  node.present = false;
  --count;
  ++changes;
  return page;
}

Status PrefixTree::check() const {
  int32_t present = 0;
  size_t leaves = 0;
  for (int32_t block = 1; block < static_cast<int32_t>(nodes.size()); ++block) {
    const Node &node = nodes[block];
    if (!node.present)
      continue;
    ++present;
    leaves += isEvictable(node);
    std::string what = "prefix tree: page " + std::to_string(block);
    if (find(node.scope, node.parent, run(BlockId{block})) != BlockId{block})
      return internalError(what + " is not found by its tokens");
    if (node.parent != sinkBlock && (!contains(node.parent) || scope(node.parent) != node.scope))
      return internalError(what + " has no parent of its scope");
    if (node.parent != sinkBlock && !node.idle && nodes[toIndex(node.parent)].idle)
      return internalError(what + " is held, the page before it is not");
    if (isEvictable(node) && !evictable.contains({node.lastUse, BlockId{block}}))
      return internalError(what + " could be evicted but is not listed");
  }
  if (present != count || leaves != evictable.size())
    return internalError("prefix tree: " + std::to_string(present) + " pages, " + std::to_string(leaves) +
                         " idle leaves; counted " + std::to_string(count) + " and " + std::to_string(evictable.size()));
  return {};
}

} // namespace fusec::runtime
