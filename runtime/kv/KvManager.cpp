//===- KvManager.cpp ---------------------------------------------------------===//

#include "runtime/kv/KvManager.h"

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>

namespace fusec::runtime {

KvManager::KvManager(Options options)
    : options(options), allocator(options.totalBlocks), tree(options.totalBlocks, options.pageTokens) {
  assert(options.totalBlocks >= 1 && options.pageTokens >= 1);
}

KvManager::Sequence &KvManager::at(SequenceId id) {
  auto found = sequences.find(id);
  assert(found != sequences.end() && "the sequence is open");
  return found->second;
}

const KvManager::Sequence &KvManager::at(SequenceId id) const { return const_cast<KvManager *>(this)->at(id); }

//===-- Holders -------------------------------------------------------------===//

void KvManager::hold(BlockId block, Holder holder) {
  if (tree.contains(block) && allocator.pageClass(block) == PageClass::Cached)
    tree.setBusy(block);
  [[maybe_unused]] Status held = allocator.retain(block, holder);
  assert(held.ok());
}

void KvManager::drop(BlockId block, Holder holder) {
  [[maybe_unused]] Status released = allocator.release(block, holder);
  assert(released.ok());
  PageClass now = allocator.pageClass(block);
  if (now == PageClass::Cached)
    tree.setIdle(block);
  if (now == PageClass::Free && !copies.empty()) // A copy that nobody will read.
    for (size_t i = copies.size(); i-- > 0;)
      if (copies[i].to == block) {
        copies.erase(copies.begin() + static_cast<int64_t>(i));
        returnedCopies -= i < returnedCopies;
      }
}

/// Ends a sequence's hold, or lets the step that still names the page keep it.
void KvManager::giveUp(const Sequence &sequence, BlockId block) {
  if (!isFinished(sequence.lastStep)) {
    hold(block, Holder::Step);
    deferred.push_back({sequence.lastStep, block});
  }
  drop(block, Holder::Sequence);
}

/// A page for a sequence; the caller has checked that one is available.
BlockId KvManager::take() {
  if (allocator.freeBlocks() == 0) {
    std::optional<BlockId> victim = tree.evict();
    assert(victim && "availableBlocks counts what can be evicted");
    drop(*victim, Holder::Tree);
    ++counters.evicted;
  }
  Result<BlockId> block = allocator.allocate();
  assert(block);
  return *block;
}

//===-- Prefixes ------------------------------------------------------------===//

/// Follows the tree from `parent`, which holds the run before position `from`, and returns how far it got. The last
/// token is left out: it is computed to continue.
int64_t KvManager::walk(CacheScope scope, std::span<const TokenId> tokens, int64_t from, BlockId parent,
                        const std::function<void(BlockId)> &onPage) const {
  int64_t page = options.pageTokens, limit = static_cast<int64_t>(tokens.size()) - 1;
  while (from + page <= limit) {
    std::optional<BlockId> next = tree.find(scope, parent, tokens.subspan(from, page));
    if (!next)
      break;
    onPage(*next);
    parent = *next;
    from += page;
  }
  return from;
}

KvManager::Match KvManager::match(CacheScope scope, std::span<const TokenId> tokens) const {
  Match match;
  if (options.prefixCache)
    match.tokens = walk(scope, tokens, 0, sinkBlock,
                        [&](BlockId block) { match.idleBlocks += allocator.pageClass(block) == PageClass::Cached; });
  return match;
}

KvManager::Opened KvManager::open(CacheScope scope, std::span<const TokenId> tokens, bool usePrefix) {
  SequenceId id{++lastSequence};
  Sequence &sequence = sequences[id];
  sequence.scope = scope;
  sequence.usesTree = usePrefix && options.prefixCache;
  if (sequence.usesTree) {
    ++counters.queries;
    counters.queriedTokens += static_cast<int64_t>(tokens.size());
    counters.hitTokens += extendFromCache(id, tokens);
  }
  return {id, sequence.length};
}

int64_t KvManager::extendFromCache(SequenceId id, std::span<const TokenId> tokens) {
  Sequence &sequence = at(id);
  int64_t whole = sequence.length / options.pageTokens;
  if (!sequence.usesTree || static_cast<int64_t>(sequence.table.size()) != blocksFor(sequence.length))
    return sequence.length;
  BlockId parent = whole == 0 ? sinkBlock : sequence.table[whole - 1];
  std::vector<BlockId> found;
  int64_t reached = walk(sequence.scope, tokens, whole * options.pageTokens, parent, [&](BlockId block) {
    hold(block, Holder::Sequence);
    found.push_back(block);
  });
  if (found.empty())
    return sequence.length;
  if (sequence.length % options.pageTokens != 0) { // The whole page replaces the part that is computed.
    giveUp(sequence, sequence.table.back());
    sequence.table.pop_back();
    sequence.tail.clear();
  }
  sequence.table.insert(sequence.table.end(), found.begin(), found.end());
  return sequence.length = reached;
}

/// The sequence's last page is full with `run`: it enters the tree, or makes way for the page that has the run already.
void KvManager::publish(Sequence &sequence, std::span<const TokenId> run) {
  int64_t index = sequence.length / options.pageTokens - 1;
  BlockId own = sequence.table[index];
  BlockId parent = index == 0 ? sinkBlock : sequence.table[index - 1];
  if (std::optional<BlockId> cached = tree.find(sequence.scope, parent, run)) {
    hold(*cached, Holder::Sequence);
    sequence.table[index] = *cached;
    giveUp(sequence, own);
    ++counters.deduplicated;
    return;
  }
  tree.insert(sequence.scope, parent, run, own);
  hold(own, Holder::Tree);
  ++counters.published;
}

void KvManager::flush() {
  while (std::optional<BlockId> block = tree.evict()) {
    drop(*block, Holder::Tree);
    ++counters.evicted;
  }
}

//===-- Page tables ---------------------------------------------------------===//

/// Whether writing up to `tokens` touches a partly filled page that others hold too.
bool KvManager::mustCopy(const Sequence &sequence, int64_t tokens) const {
  int64_t page = sequence.length / options.pageTokens;
  bool inPage = sequence.length % options.pageTokens != 0;
  return tokens > sequence.length && inPage && allocator.referenceCount(sequence.table[page]) > 1;
}

int32_t KvManager::blocksToReserve(SequenceId id, int64_t tokens) const {
  const Sequence &sequence = at(id);
  int64_t missing = std::max<int64_t>(0, blocksFor(tokens) - static_cast<int64_t>(sequence.table.size()));
  return static_cast<int32_t>(missing + mustCopy(sequence, tokens));
}

Status KvManager::reserve(SequenceId id, int64_t tokens) {
  int32_t needed = blocksToReserve(id, tokens);
  if (needed == 0)
    return {};
  if (needed > availableBlocks())
    return resourceExhausted("kv cache: " + std::to_string(needed) + " more pages are needed, " +
                             std::to_string(availableBlocks()) + " of " + std::to_string(options.totalBlocks - 1) +
                             " are available");
  Sequence &sequence = at(id);
  if (mustCopy(sequence, tokens)) {
    BlockId &last = sequence.table[sequence.length / options.pageTokens];
    BlockId copy = take();
    copies.push_back({last, copy});
    giveUp(sequence, std::exchange(last, copy));
    ++counters.copied;
  }
  while (static_cast<int64_t>(sequence.table.size()) < blocksFor(tokens))
    sequence.table.push_back(take());
  return {};
}

void KvManager::append(SequenceId id, std::span<const TokenId> tokens) {
  Sequence &sequence = at(id);
  assert(sequence.length + static_cast<int64_t>(tokens.size()) <=
             static_cast<int64_t>(sequence.table.size()) * options.pageTokens &&
         "room was reserved");
  if (!sequence.usesTree) {
    sequence.length += static_cast<int64_t>(tokens.size());
    return;
  }
  for (TokenId token : tokens) {
    sequence.tail.push_back(token);
    ++sequence.length;
    if (static_cast<int64_t>(sequence.tail.size()) < options.pageTokens)
      continue;
    publish(sequence, sequence.tail);
    sequence.tail.clear();
  }
}

SequenceId KvManager::fork(SequenceId id) {
  Sequence copy = at(id);
  copy.table.resize(blocksFor(copy.length)); // Reserved pages stay with the first.
  assert(isFinished(copy.lastStep) && "a running step would write to a shared page");
  copy.lastStep = {};
  for (BlockId block : copy.table)
    hold(block, Holder::Sequence);
  SequenceId child{++lastSequence};
  sequences.emplace(child, std::move(copy));
  return child;
}

std::vector<PageCopy> KvManager::takeCopies() {
  returnedCopies = 0;
  return std::exchange(copies, {});
}

void KvManager::returnCopies(std::span<const PageCopy> undone) {
  copies.insert(copies.begin() + static_cast<int64_t>(returnedCopies), undone.begin(), undone.end());
  returnedCopies += undone.size();
}

void KvManager::close(SequenceId id) {
  Sequence &sequence = at(id);
  // From the end: of a path in the tree the first pages count as used last.
  for (size_t i = sequence.table.size(); i-- > 0;)
    giveUp(sequence, sequence.table[i]);
  sequences.erase(id);
}

//===-- Steps ---------------------------------------------------------------===//

bool KvManager::isFinished(StepEpoch epoch) const { return unfinished.empty() || epoch < unfinished.front(); }

StepEpoch KvManager::beginStep(std::span<const SequenceId> named) {
  StepEpoch epoch{++lastEpoch};
  unfinished.push_back(epoch);
  for (SequenceId id : named)
    at(id).lastStep = epoch;
  return epoch;
}

void KvManager::finishStep(StepEpoch epoch) {
  std::erase(unfinished, epoch);
  std::erase_if(deferred, [&](const Deferred &hold) {
    bool over = isFinished(hold.until);
    if (over)
      drop(hold.block, Holder::Step);
    return over;
  });
}

} // namespace fusec::runtime
