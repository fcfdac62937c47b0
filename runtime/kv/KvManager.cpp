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

/// For its first copy, which no step has tried yet: no step names the page.
bool KvManager::waitsForCopy(BlockId block) const {
  return std::any_of(copies.begin() + static_cast<int64_t>(returnedCopies), copies.end(),
                     [&](const PageCopy &copy) { return copy.to == block; });
}

/// Ends a sequence's hold, or lets the step that still names the page keep it.
void KvManager::giveUp(const Sequence &sequence, BlockId block) {
  if (!isFinished(sequence.lastStep) && !waitsForCopy(block)) {
    hold(block, Holder::Step);
    deferred.push_back({sequence.lastStep, block});
  }
  drop(block, Holder::Sequence);
}

/// The sequence holds the source until it knows that the copy is done, which it does when it grows.
void KvManager::queueCopy(Sequence &sequence, BlockId from, BlockId to) {
  copies.push_back({from, to});
  hold(from, Holder::Step);
  sequence.sources.push_back(from);
  ++counters.copied;
}

void KvManager::dropSources(Sequence &sequence) {
  for (BlockId block : std::exchange(sequence.sources, {}))
    if (isFinished(sequence.lastStep))
      drop(block, Holder::Step);
    else
      deferred.push_back({sequence.lastStep, block});
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

/// Copying a page of P tokens moves 2 * P * kvBytes over the memory, computing k tokens takes k * 2 * parameters
/// operations: they cost the same at k = P * (kvBytes / parameters) * (operations per second / bytes per second). That
/// is P / 250 for 8 billion parameters with 128 KiB per token on a GPU that does 250 operations per byte, P / 150 for
/// 135 million with 45 KiB on a CPU that does 20. Ten times that covers one thread that copies, and launches.
int64_t KvManager::leastCopied() const { return std::max<int64_t>(1, options.pageTokens / 16); }

BlockId KvManager::parentOf(const Sequence &sequence, int64_t index) const {
  return index == 0 ? sinkBlock : sequence.table[index - 1];
}

/// Follows the tree from `parent`, which holds the run before position `from`. The last token is left out: it is
/// computed to continue.
KvManager::Found KvManager::walk(CacheScope scope, std::span<const TokenId> tokens, int64_t from, BlockId parent,
                                 const std::function<void(BlockId)> &onPage) const {
  int64_t page = options.pageTokens, limit = static_cast<int64_t>(tokens.size()) - 1;
  while (from < limit) {
    auto next = tree.nearest(scope, parent, tokens.subspan(from, std::min(page, limit - from)));
    if (!next || next->common < leastCopied())
      break;
    if (next->common < page)
      return {from, {next->page, next->common}};
    onPage(next->page);
    parent = next->page;
    from += page;
  }
  return {from, {}};
}

KvManager::Match KvManager::match(CacheScope scope, std::span<const TokenId> tokens) const {
  Match match;
  if (!options.prefixCache)
    return match;
  Found found = walk(scope, tokens, 0, sinkBlock, [&](BlockId block) { match.idleBlocks += isCached(block); });
  match.tokens = found.whole;
  bool idle = found.part.tokens > 0 && isCached(found.part.source);
  if (found.part.tokens > 0 && availableBlocks() - match.idleBlocks > idle) {
    match.tokens += found.part.tokens;
    match.idleSources = idle;
  }
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
  int64_t page = options.pageTokens, index = sequence.length / page;
  if (!sequence.usesTree || static_cast<int64_t>(sequence.table.size()) != blocksFor(sequence.length))
    return sequence.length;
  std::vector<BlockId> pages;
  Found found = walk(sequence.scope, tokens, index * page, parentOf(sequence, index), [&](BlockId block) {
    hold(block, Holder::Sequence);
    pages.push_back(block);
  });
  if (!pages.empty()) {
    if (sequence.length % page != 0) { // The whole page replaces the part that is computed.
      dropSources(sequence);
      giveUp(sequence, sequence.table.back());
      sequence.table.pop_back();
      sequence.tail.clear();
    }
    sequence.table.insert(sequence.table.end(), pages.begin(), pages.end());
    sequence.length = found.whole;
  }
  if (sequence.length == found.whole && found.part.tokens > 0)
    copyPart(sequence, tokens.subspan(found.whole, found.part.tokens), found.part);
  return sequence.length;
}

/// The sequence goes on inside a page with a copy of what is cached of it, if a page besides that one is available. So
/// it has room for at least one token, and can grow while the other page is held.
void KvManager::copyPart(Sequence &sequence, std::span<const TokenId> tokens, const Part &part) {
  if (availableBlocks() <= isCached(part.source))
    return;
  hold(part.source, Holder::Step); // Taking the page must not evict it.
  BlockId own = take();
  queueCopy(sequence, part.source, own);
  drop(part.source, Holder::Step);
  sequence.table.push_back(own);
  sequence.tail.assign(tokens.begin(), tokens.end());
  sequence.length += part.tokens;
}

void KvManager::insert(CacheScope scope, BlockId parent, std::span<const TokenId> run, BlockId page) {
  std::optional<BlockId> shorter = tree.insert(scope, parent, run, page);
  hold(page, Holder::Tree);
  ++counters.published;
  if (!shorter)
    return;
  drop(*shorter, Holder::Tree);
  ++counters.extended;
}

/// The sequence's last page is full with `run`: it enters the tree, or makes way for the page that has the run already.
void KvManager::publish(Sequence &sequence, std::span<const TokenId> run) {
  int64_t index = sequence.length / options.pageTokens - 1;
  BlockId own = sequence.table[index], parent = parentOf(sequence, index);
  auto cached = tree.nearest(sequence.scope, parent, run);
  if (!cached || cached->common < options.pageTokens)
    return insert(sequence.scope, parent, run, own);
  hold(cached->page, Holder::Sequence);
  sequence.table[index] = cached->page;
  giveUp(sequence, own);
  ++counters.deduplicated;
}

/// A sequence that ends leaves its partly filled page, unless the tree has the same tokens or others still write there.
/// With copies that may not be done it has computed nothing of its own.
void KvManager::publishTail(Sequence &sequence) {
  int64_t index = sequence.length / options.pageTokens, count = static_cast<int64_t>(sequence.tail.size());
  if (count < leastCopied() || !sequence.sources.empty() ||
      allocator.holders(sequence.table[index], Holder::Sequence) > 1)
    return;
  BlockId parent = parentOf(sequence, index);
  auto cached = tree.nearest(sequence.scope, parent, sequence.tail);
  if (!cached || cached->common < count)
    insert(sequence.scope, parent, sequence.tail, sequence.table[index]);
}

void KvManager::flush() {
  while (std::optional<BlockId> block = tree.evict()) {
    drop(*block, Holder::Tree);
    ++counters.evicted;
  }
}

//===-- Page tables ---------------------------------------------------------===//

/// Whether writing up to `tokens` touches a partly filled page that other sequences have too. Steps and copies that
/// read it are no reason: they read what is there already, which nobody writes again.
bool KvManager::mustCopy(const Sequence &sequence, int64_t tokens) const {
  int64_t page = sequence.length / options.pageTokens;
  bool inPage = sequence.length % options.pageTokens != 0;
  return tokens > sequence.length && inPage && allocator.holders(sequence.table[page], Holder::Sequence) > 1;
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
    queueCopy(sequence, last, copy);
    giveUp(sequence, std::exchange(last, copy));
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
  if (!tokens.empty())
    dropSources(sequence);
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
  assert(isFinished(copy.namedBy) && "a running step would write to a shared page");
  copy.lastStep = copy.namedBy = {};
  for (BlockId block : copy.table)
    hold(block, Holder::Sequence);
  for (BlockId block : copy.sources)
    hold(block, Holder::Step);
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
  if (sequence.usesTree)
    publishTail(sequence);
  dropSources(sequence);
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
    at(id).lastStep = at(id).namedBy = epoch;
  for (auto &[id, sequence] : sequences)
    if (!sequence.sources.empty())
      sequence.lastStep = epoch;
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
