//===- KvLedger.cpp - KvManager's accounts, and their recount ------------------===//

#include "runtime/kv/KvManager.h"

#include <algorithm>
#include <string>
#include <utility>

namespace fusec::runtime {

/// Adds what the positions of live pages are good for. Only the last pages of a sequence hold less than a page of
/// tokens. One that several sequences share counts once: as a page is written by its only holder, all see the same
/// tokens in it.
void KvManager::countTokens(Ledger &ledger) const {
  std::vector<std::pair<BlockId, int64_t>> shared; // With the tokens it holds.
  auto count = [&](int64_t filled) { (filled == 0 ? ledger.reserved : ledger.tail) += options.pageTokens - filled; };
  for (const auto &[id, sequence] : sequences)
    for (int64_t i = sequence.length / options.pageTokens; i < static_cast<int64_t>(sequence.table.size()); ++i) {
      int64_t filled = std::max<int64_t>(0, sequence.length - i * options.pageTokens);
      if (allocator.holders(sequence.table[i], Holder::Sequence) == 1)
        count(filled);
      else
        shared.emplace_back(sequence.table[i], filled);
    }
  std::sort(shared.begin(), shared.end());
  shared.erase(std::unique(shared.begin(), shared.end()), shared.end());
  for (const auto &[block, filled] : shared)
    count(filled);
  ledger.held = ledger.live * options.pageTokens - ledger.tail - ledger.reserved;
}

Ledger KvManager::ledger() const {
  Ledger ledger;
  ledger.total = allocator.totalBlocks();
  ledger.sink = allocator.blocksOf(PageClass::Sink);
  ledger.live = allocator.blocksOf(PageClass::Live);
  ledger.cached = allocator.blocksOf(PageClass::Cached);
  ledger.parked = allocator.blocksOf(PageClass::Parked);
  ledger.free = allocator.freeBlocks();
  ledger.pageTokens = options.pageTokens;
  countTokens(ledger);
  return ledger;
}

std::vector<PageClass> KvManager::map() const {
  std::vector<PageClass> classes;
  classes.reserve(options.totalBlocks);
  for (int32_t block = 0; block < options.totalBlocks; ++block)
    classes.push_back(allocator.pageClass(BlockId{block}));
  return classes;
}

static Status mismatch(BlockId block, const char *what, int64_t expected, int64_t found) {
  return internalError("kv ledger: page " + std::to_string(toIndex(block)) + ": " + what + ": expected " +
                       std::to_string(expected) + ", found " + std::to_string(found));
}

Status KvManager::checkSequence(const Sequence &sequence) const {
  int64_t page = options.pageTokens;
  if (sequence.length > static_cast<int64_t>(sequence.table.size()) * page)
    return internalError("kv ledger: a sequence of " + std::to_string(sequence.length) + " tokens has " +
                         std::to_string(sequence.table.size()) + " pages");
  if (!sequence.usesTree)
    return {};
  if (static_cast<int64_t>(sequence.tail.size()) != sequence.length % page)
    return internalError("kv ledger: a sequence does not know the tokens of its last page");
  BlockId parent = sinkBlock;
  for (int64_t i = 0; i < sequence.length / page; parent = sequence.table[i++]) {
    BlockId block = sequence.table[i];
    if (!tree.contains(block) || tree.parent(block) != parent || tree.scope(block) != sequence.scope)
      return internalError("kv ledger: whole page " + std::to_string(i) + " of a sequence is not its path in the tree");
  }
  return {};
}

Status KvManager::checkHolders() const {
  std::vector<int32_t> inTables(options.totalBlocks, 0), inSteps(options.totalBlocks, 0);
  for (const auto &[id, sequence] : sequences)
    for (BlockId block : sequence.table)
      ++inTables[toIndex(block)];
  for (const auto &[id, sequence] : sequences)
    for (BlockId block : sequence.sources)
      ++inSteps[toIndex(block)];
  for (const Deferred &hold : deferred)
    ++inSteps[toIndex(hold.block)];
  for (int32_t i = 1; i < options.totalBlocks; ++i) {
    BlockId block{i};
    if (allocator.holders(block, Holder::Sequence) != inTables[i])
      return mismatch(block, "page tables", inTables[i], allocator.holders(block, Holder::Sequence));
    if (allocator.holders(block, Holder::Step) != inSteps[i])
      return mismatch(block, "unfinished steps", inSteps[i], allocator.holders(block, Holder::Step));
    if (allocator.holders(block, Holder::Tree) != tree.contains(block))
      return mismatch(block, "in the prefix tree", tree.contains(block), allocator.holders(block, Holder::Tree));
    if (tree.contains(block) && static_cast<int64_t>(tree.run(block).size()) < options.pageTokens && inTables[i] > 0)
      return mismatch(block, "partly filled in the prefix tree, page tables", 0, inTables[i]);
  }
  return {};
}

Status KvManager::check() const {
  FUSEC_RETURN_IF_ERROR(allocator.checkLedger());
  FUSEC_RETURN_IF_ERROR(tree.check());
  FUSEC_RETURN_IF_ERROR(checkHolders());
  for (const auto &[id, sequence] : sequences)
    FUSEC_RETURN_IF_ERROR(checkSequence(sequence));
  return ledger().balance();
}

} // namespace fusec::runtime
