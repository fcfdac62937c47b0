//===- KvManager.h - page tables of all sequences, shared where they may be ---===//
//
// Owns the answer to "which page holds position i of sequence s". Sequences
// share the whole pages of cached prefixes and, after a fork, all pages; where a
// cached prefix ends inside a page, they begin with a copy of it. A page is
// written only by the one sequence that has it (copy-on-write).
//
//   KvManager kv({.totalBlocks = 64, .pageTokens = 64});
//   auto [id, cached] = kv.open(scope, prompt);          // KV of `cached` tokens is there.
//   if (kv.reserve(id, prompt.size()).ok()) {
//     std::vector<PageCopy> copies = kv.takeCopies();      // Do them, in order ...
//     StepEpoch step = kv.beginStep({&id, 1});             // ... then run the step, which names blocks(id).
//     kv.finishStep(step);
//     kv.append(id, prompt.subspan(cached));               // Now later prompts can share it.
//   }
//   kv.close(id);
//
// Page lifetime: a page that an unfinished step names is not handed out, even
// when its sequence is closed meanwhile (its class is then "parked").
//
// Numbers only: no memory, no device, no policy. Steps run in the order of
// their epochs. Threading: none; one owner.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/kv/BlockAllocator.h"
#include "runtime/kv/Ledger.h"
#include "runtime/kv/PageCopy.h"
#include "runtime/kv/PrefixTree.h"
#include "runtime/text/TokenId.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

namespace fusec::runtime {

using text::TokenId;

/// An open sequence of a KvManager; never used twice.
enum class SequenceId : uint64_t {};
/// A step, in the order of beginStep; 0 is before the first.
enum class StepEpoch : uint64_t {};

/// Since the start.
struct CacheStats {
  int64_t queries = 0;       ///< open() calls that looked for a prefix.
  int64_t queriedTokens = 0; ///< Their tokens.
  int64_t hitTokens = 0;     ///< Of these, found.
  int64_t published = 0;     ///< Pages that entered the prefix tree.
  int64_t deduplicated = 0;  ///< Pages given back because the tree had their run already.
  int64_t extended = 0;      ///< Pages that left the tree because a longer run took their place.
  int64_t evicted = 0;       ///< Pages that left the tree for want of room.
  int64_t copied = 0;        ///< Copies on write, of forks and of cached pages that are shared in part.
};

class KvManager {
public:
  struct Options {
    int32_t totalBlocks = 1; ///< With the sink.
    int64_t pageTokens = 64;
    bool prefixCache = true;
  };
  explicit KvManager(Options options);

  /// What open() would find. Changes nothing.
  struct Match {
    int64_t tokens = 0;      ///< At most one token less than asked for.
    int32_t idleBlocks = 0;  ///< Whole pages of these that are evictable now: opening makes them live.
    int32_t idleSources = 0; ///< The same for a page that is copied: it is held only until the copy is made.
  };
  Match match(CacheScope scope, std::span<const TokenId> tokens) const;
  int64_t cachedPrefix(CacheScope scope, std::span<const TokenId> tokens) const { return match(scope, tokens).tokens; }

  /// A new sequence that shares the cached pages of its prefix: the KV of its first `cached` tokens is there, once the
  /// copies that wait are done. The last token is never among them: it has to be computed to continue. A prefix that
  /// ends inside a cached page takes one page, if one is available, for a copy of it. Without `usePrefix` the sequence
  /// neither uses nor feeds the prefix tree.
  struct Opened {
    SequenceId id{};
    int64_t cached = 0;
  };
  Opened open(CacheScope scope, std::span<const TokenId> tokens, bool usePrefix = true);

  /// Moves on to what others have published since, as open() does: `tokens` are all tokens of the sequence, computed or
  /// not. Returns the new length. Does nothing when pages beyond the length are reserved already.
  int64_t extendFromCache(SequenceId id, std::span<const TokenId> tokens);

  /// Makes positions [length, tokens) writable: takes pages, evicts idle cached ones for it, replaces a shared last
  /// page by a copy. ResourceExhausted, with the state unchanged, when availableBlocks() are too few.
  Status reserve(SequenceId id, int64_t tokens);
  /// Pages that reserve() would take.
  int32_t blocksToReserve(SequenceId id, int64_t tokens) const;

  /// The KV of these tokens, which follow the sequence's, is computed. Room must have been reserved, and the copies
  /// that waited before be done. Whole pages enter the prefix tree; where the tree has the same run already, its page
  /// replaces the sequence's.
  void append(SequenceId id, std::span<const TokenId> tokens);

  /// A second sequence with the same tokens, on the same pages. No unfinished step may name the first one or copy for
  /// it, and what it had reserved must be reserved again before it is written.
  SequenceId fork(SequenceId id);

  /// Copies that became necessary since the last call; to be done, in this order, before the step that begins next.
  /// Their sources stay as they are until it is finished.
  std::vector<PageCopy> takeCopies();
  /// What takeCopies() would return.
  std::span<const PageCopy> waitingCopies() const { return copies; }
  /// The step that these copies were taken for failed: they come first among the next ones. Of several steps, the
  /// copies of the earlier one are returned first, and all before the steps are finished.
  void returnCopies(std::span<const PageCopy> undone);

  /// Gives the pages back. Those in the prefix tree stay cached; the partly filled last one enters it.
  void close(SequenceId id);

  /// The page table; covers what is reserved. Valid until the sequence changes.
  std::span<const BlockId> blocks(SequenceId id) const { return at(id).table; }
  /// Tokens whose KV is there.
  int64_t length(SequenceId id) const { return at(id).length; }
  bool isOpen(SequenceId id) const { return sequences.contains(id); }
  size_t numSequences() const { return sequences.size(); }

  /// A step that names the pages these sequences have now, and makes the copies taken before. O(open sequences).
  StepEpoch beginStep(std::span<const SequenceId> named);
  void finishStep(StepEpoch epoch);

  /// Drops all idle cached pages.
  void flush();

  /// Tokens whose KV can be found, by all scopes together.
  int64_t cachedTokens() const { return tree.heldTokens(); }
  /// What can be found in a scope, as tokens from the start: for tests and pictures. O(all tokens).
  std::vector<std::vector<TokenId>> cachedPaths(CacheScope scope) const { return tree.paths(scope); }

  int64_t pageTokens() const { return options.pageTokens; }
  /// Of a page that is shared in part: fewer tokens are computed rather than copied.
  int64_t leastCopied() const;
  int32_t totalBlocks() const { return options.totalBlocks; }
  int64_t blocksFor(int64_t tokens) const { return (tokens + options.pageTokens - 1) / options.pageTokens; }
  /// Free or evictable.
  int32_t availableBlocks() const { return allocator.freeBlocks() + allocator.blocksOf(PageClass::Cached); }
  /// O(number of sequences).
  Ledger ledger() const;
  const CacheStats &stats() const { return counters; }
  /// For each page what it is used for, for a picture of the pool. O(pages).
  std::vector<PageClass> map() const;

  /// Recounts everything from the page tables: Internal error when any invariant does not hold. O(pool).
  Status check() const;

private:
  struct Sequence {
    CacheScope scope{};
    bool usesTree = false;
    int64_t length = 0;
    std::vector<BlockId> table;
    std::vector<TokenId> tail;    ///< Tokens of the partly filled last page, until it can be published.
    std::vector<BlockId> sources; ///< Of copies that may not be done yet; held like what a step reads.
    StepEpoch namedBy{};          ///< The last step that names it.
    StepEpoch lastStep{}; ///< Not before that, and not before one that copies for it: its pages live until then.
  };
  /// The part of a page that continues a prefix.
  struct Part {
    BlockId source{};
    int64_t tokens = 0;
  };
  struct Found {
    int64_t whole = 0; ///< Tokens in whole pages, with those before.
    Part part;         ///< Of the next page.
  };
  /// A hold that ends with a step.
  struct Deferred {
    StepEpoch until{};
    BlockId block{};
  };

  Sequence &at(SequenceId id);
  const Sequence &at(SequenceId id) const;
  Found walk(CacheScope scope, std::span<const TokenId> tokens, int64_t from, BlockId parent,
             const std::function<void(BlockId)> &onPage) const;
  bool isCached(BlockId block) const { return allocator.pageClass(block) == PageClass::Cached; }
  BlockId parentOf(const Sequence &sequence, int64_t index) const;
  bool mustCopy(const Sequence &sequence, int64_t tokens) const;
  BlockId take();
  void hold(BlockId block, Holder holder);
  void drop(BlockId block, Holder holder);
  void giveUp(const Sequence &sequence, BlockId block);
  bool waitsForCopy(BlockId block) const;
  void queueCopy(Sequence &sequence, BlockId from, BlockId to);
  void dropSources(Sequence &sequence);
  void copyPart(Sequence &sequence, std::span<const TokenId> tokens, const Part &part);
  void publish(Sequence &sequence, std::span<const TokenId> run);
  void publishTail(Sequence &sequence);
  void insert(CacheScope scope, BlockId parent, std::span<const TokenId> run, BlockId page);
  bool isFinished(StepEpoch epoch) const;
  void countTokens(Ledger &ledger) const;
  Status checkHolders() const;
  Status checkSequence(const Sequence &sequence) const;

  Options options;
  BlockAllocator allocator;
  PrefixTree tree;
  std::unordered_map<SequenceId, Sequence> sequences;
  std::vector<PageCopy> copies;
  size_t returnedCopies = 0;        ///< The first of these.
  std::deque<StepEpoch> unfinished; ///< Ascending.
  std::vector<Deferred> deferred;
  uint64_t lastSequence = 0, lastEpoch = 0;
  CacheStats counters;
};

} // namespace fusec::runtime
