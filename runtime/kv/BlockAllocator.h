//===- BlockAllocator.h - which KV pages are free, and who uses the others ---===//
//
// Hands out page numbers with reference counts. It knows numbers only: no
// tokens, no memory. Page 0 is the sink: padding writes go there, so it is never
// handed out. Always: 1 sink + free + live = total.
//
// Threading: none; one owner.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <vector>

namespace fusec::runtime {

/// A physical page of the KV cache. Its own type, so that it is not mixed up
/// with token positions or indices into a block table.
enum class BlockId : int32_t {};

inline constexpr BlockId sinkBlock{0};

inline constexpr int32_t toIndex(BlockId id) { return static_cast<int32_t>(id); }

class BlockAllocator {
public:
  /// Pages 0 .. totalBlocks-1, all free except the sink. totalBlocks >= 1.
  explicit BlockAllocator(int32_t totalBlocks);

  /// A free page with reference count 1, or ResourceExhausted.
  Result<BlockId> allocate();
  /// One more owner of a live page. Internal error for the sink, a free page and
  /// an unknown id; the state is then unchanged.
  Status retain(BlockId id);
  /// One owner fewer; the last one frees the page. Errors as for retain.
  Status release(BlockId id);

  int32_t referenceCount(BlockId id) const;
  int32_t totalBlocks() const { return static_cast<int32_t>(references.size()); }
  int32_t freeBlocks() const { return static_cast<int32_t>(freeList.size()); }
  int32_t liveBlocks() const { return live; }

  /// Recounts everything; Internal error when the ledger does not balance.
  Status checkLedger() const;

private:
  Status requireLive(BlockId id, const char *verb) const;

  std::vector<int32_t> references; ///< Per page; 0 = free.
  std::vector<BlockId> freeList;   ///< Used as a stack: the page freed last is still warm.
  int32_t live = 0;
};

} // namespace fusec::runtime
