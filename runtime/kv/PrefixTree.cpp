//===- PrefixTree.cpp --------------------------------------------------------===//

#include "runtime/kv/PrefixTree.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <iterator>
#include <string>

namespace fusec::runtime {

static int64_t commonTokens(PrefixTree::Run a, PrefixTree::Run b) {
  return std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
}

/// The order of a dictionary. Of the letters any order will do; that of the bytes is the quickest, and whoever shares
/// the most bytes also shares the most tokens.
bool PrefixTree::RunLess::operator()(Run a, Run b) const {
  int order = std::memcmp(a.data(), b.data(), std::min(a.size_bytes(), b.size_bytes()));
  return order != 0 ? order < 0 : a.size() < b.size();
}

PrefixTree::PrefixTree(int32_t totalBlocks, int64_t pageTokens)
    : pageTokens(pageTokens), tokens(static_cast<size_t>(std::max(totalBlocks, 1)) * pageTokens),
      nodes(std::max(totalBlocks, 1)) {}

PrefixTree::Children *PrefixTree::childrenOf(CacheScope scope, BlockId parent) {
  return parent == sinkBlock ? &roots[scope] : &nodes[toIndex(parent)].children;
}

const PrefixTree::Children *PrefixTree::findChildren(CacheScope scope, BlockId parent) const {
  if (parent != sinkBlock)
    return &nodes[toIndex(parent)].children;
  auto root = roots.find(scope);
  return root == roots.end() ? nullptr : &root->second;
}

std::optional<PrefixTree::Near> PrefixTree::nearest(CacheScope scope, BlockId parent, Run wanted) const {
  const Children *children = findChildren(scope, parent);
  if (!children)
    return std::nullopt;
  Near best;
  auto consider = [&](const auto &child) {
    if (int64_t common = commonTokens(child.first, wanted); common > best.common)
      best = {child.second, common};
  };
  auto after = children->lower_bound(wanted);
  if (after != children->end())
    consider(*after);
  if (after != children->begin() && best.common < static_cast<int64_t>(wanted.size()))
    consider(*std::prev(after));
  return best.common > 0 ? std::optional(best) : std::nullopt;
}

std::optional<BlockId> PrefixTree::insert(CacheScope scope, BlockId parent, Run newRun, BlockId page) {
  assert(page != sinkBlock && !contains(page) && "a page holds one run");
  assert(!newRun.empty() && static_cast<int64_t>(newRun.size()) <= pageTokens);
  assert((parent == sinkBlock || (contains(parent) && isWhole(parent))) && "runs follow whole pages");
  std::optional<Near> shorter = nearest(scope, parent, newRun);
  assert((!shorter || shorter->common < static_cast<int64_t>(newRun.size())) && "look a run up before inserting it");
  if (shorter && shorter->common < static_cast<int64_t>(run(shorter->page).size()))
    shorter.reset();
  std::copy(newRun.begin(), newRun.end(), tokens.begin() + toIndex(page) * pageTokens);
  Node &node = nodes[toIndex(page)];
  node.present = true;
  node.idle = false;
  node.length = static_cast<int32_t>(newRun.size());
  node.parent = parent;
  node.scope = scope;
  if (parent != sinkBlock)
    evictable.erase({nodes[toIndex(parent)].lastUse, parent});
  childrenOf(scope, parent)->emplace(run(page), page);
  ++count;
  tokenCount += node.length;
  ++changes;
  if (!shorter)
    return std::nullopt;
  remove(shorter->page);
  return shorter->page;
}

/// Of a leaf.
void PrefixTree::remove(BlockId page) {
  Node &node = nodes[toIndex(page)];
  assert(node.present && node.children.empty());
  evictable.erase({node.lastUse, page});
  Children *siblings = childrenOf(node.scope, node.parent);
  siblings->erase(run(page));
  if (node.parent == sinkBlock && siblings->empty())
    roots.erase(node.scope); // Scopes come from clients: none may stay behind.
  if (node.parent != sinkBlock && isEvictable(nodes[toIndex(node.parent)]))
    evictable.insert({nodes[toIndex(node.parent)].lastUse, node.parent});
  node.present = false;
  --count;
  tokenCount -= node.length;
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
  remove(page);
  return page;
}

std::vector<std::vector<text::TokenId>> PrefixTree::paths(CacheScope wanted) const {
  std::vector<std::vector<text::TokenId>> paths;
  for (int32_t block = 1; block < static_cast<int32_t>(nodes.size()); ++block) {
    if (!nodes[block].present || nodes[block].scope != wanted || !nodes[block].children.empty())
      continue;
    std::vector<text::TokenId> &path = paths.emplace_back();
    for (BlockId page{block}; page != sinkBlock; page = parent(page))
      path.insert(path.begin(), run(page).begin(), run(page).end());
  }
  return paths;
}

Status PrefixTree::checkNode(BlockId page) const {
  const Node &node = nodes[toIndex(page)];
  std::string what = "prefix tree: page " + std::to_string(toIndex(page));
  if (node.length < 1 || node.length > pageTokens)
    return internalError(what + " has a run of " + std::to_string(node.length) + " tokens, expected 1 to " +
                         std::to_string(pageTokens));
  const Children *siblings = findChildren(node.scope, node.parent);
  auto self = siblings ? siblings->find(run(page)) : Children::const_iterator();
  if (!siblings || self == siblings->end() || self->second != page)
    return internalError(what + " is not found by its tokens");
  if (auto next = std::next(self); next != siblings->end() && commonTokens(next->first, run(page)) == node.length)
    return internalError(what + " holds what page " + std::to_string(toIndex(next->second)) + " begins with");
  if (node.parent != sinkBlock && (!contains(node.parent) || scope(node.parent) != node.scope || !isWhole(node.parent)))
    return internalError(what + " has no whole parent of its scope");
  if (node.parent != sinkBlock && !node.idle && nodes[toIndex(node.parent)].idle)
    return internalError(what + " is held, the page before it is not");
  if (isEvictable(node) && !evictable.contains({node.lastUse, page}))
    return internalError(what + " could be evicted but is not listed");
  return {};
}

Status PrefixTree::check() const {
  int32_t present = 0;
  int64_t held = 0;
  size_t leaves = 0;
  for (int32_t block = 1; block < static_cast<int32_t>(nodes.size()); ++block) {
    if (!nodes[block].present)
      continue;
    ++present;
    held += nodes[block].length;
    leaves += isEvictable(nodes[block]);
    FUSEC_RETURN_IF_ERROR(checkNode(BlockId{block}));
  }
  if (present != count || held != tokenCount || leaves != evictable.size())
    return internalError("prefix tree: " + std::to_string(present) + " pages, " + std::to_string(held) + " tokens, " +
                         std::to_string(leaves) + " idle leaves; counted " + std::to_string(count) + ", " +
                         std::to_string(tokenCount) + " and " + std::to_string(evictable.size()));
  return {};
}

} // namespace fusec::runtime
