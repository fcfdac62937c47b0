//===- BlockAllocator.h - which KV pages are free, and who holds the others --===//
//
// Hands out page numbers and counts who holds each: sequences, unfinished steps
// that still name a page its sequence gave up, the prefix tree. It knows numbers
// only: no tokens, no memory. Page 0 is the sink: padding writes go there, so it
// is never handed out. Always: sink + free + live + parked + cached = total.
//
// Threading: none; one owner.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"

#include <array>
#include <cstdint>
#include <vector>

namespace fusec::runtime {

/// A physical page of the KV cache. Its own type, so that it is not mixed up
/// with token positions or indices into a block table.
enum class BlockId : int32_t {};

inline constexpr BlockId sinkBlock{0};

inline constexpr int32_t toIndex(BlockId id) { return static_cast<int32_t>(id); }

/// Who holds a page. A page is free when nobody does.
enum class Holder : uint8_t {
  Sequence, ///< A page table.
  Step,     ///< A sequence gave the page up while an unfinished step names it.
  Tree,     ///< The prefix tree; at most once.
};
inline constexpr size_t numHolders = 3;

/// What a page is used for, from its holders: the first class that applies.
enum class PageClass : uint8_t {
  Sink,
  Live,   ///< A sequence holds it.
  Parked, ///< No sequence, but an unfinished step.
  Cached, ///< Only the prefix tree: can be evicted at once.
  Free,
};
inline constexpr size_t numPageClasses = 5;

class BlockAllocator {
public:
  /// Pages 0 .. totalBlocks-1, all free except the sink. totalBlocks >= 1.
  explicit BlockAllocator(int32_t totalBlocks);

  /// A free page that one sequence holds, or ResourceExhausted.
  Result<BlockId> allocate();
  /// One more holder of a page that is not free. Internal error for the sink, a
  /// free page and an unknown id; the state is then unchanged.
  Status retain(BlockId id, Holder holder = Holder::Sequence);
  /// One holder fewer; the last one frees the page. Errors as for retain, and
  /// Internal when no such holder holds it.
  Status release(BlockId id, Holder holder = Holder::Sequence);

  /// All holders.
  int32_t referenceCount(BlockId id) const;
  int32_t holders(BlockId id, Holder holder) const;
  PageClass pageClass(BlockId id) const;

  int32_t totalBlocks() const { return static_cast<int32_t>(pages.size()); }
  int32_t freeBlocks() const { return static_cast<int32_t>(freeList.size()); }
  /// Neither free nor the sink.
  int32_t liveBlocks() const { return totalBlocks() - 1 - freeBlocks(); }
  int32_t blocksOf(PageClass kind) const { return classCounts[static_cast<size_t>(kind)]; }

  /// Recounts everything; Internal error when the ledger does not balance.
  Status checkLedger() const;

private:
  using Page = std::array<int32_t, numHolders>; ///< Count of each kind of holder.

  bool isKnown(BlockId id) const { return toIndex(id) >= 0 && toIndex(id) < totalBlocks(); }
  Status requireHeld(BlockId id, const char *verb) const;
  void add(BlockId id, Holder holder, int32_t delta);

  std::vector<Page> pages;
  std::vector<BlockId> freeList; ///< Used as a stack: the page freed last is still warm.
  std::array<int32_t, numPageClasses> classCounts{};
};

} // namespace fusec::runtime
