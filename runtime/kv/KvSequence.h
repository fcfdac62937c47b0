//===- KvSequence.h - the pages that hold one sequence -----------------------===//
//
// A block table with a length: page i holds positions
// [i * pageTokens, (i + 1) * pageTokens). Owns one reference to each of its
// pages and gives them back when destroyed. Move-only; borrows the allocator,
// which must outlive it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kv/BlockAllocator.h"

#include <cstdint>
#include <span>
#include <vector>

namespace fusec::runtime {

class KvSequence {
public:
  KvSequence(BlockAllocator &allocator, int64_t pageTokens);
  ~KvSequence();
  KvSequence(KvSequence &&other) noexcept;
  KvSequence &operator=(KvSequence &&other) = delete;
  KvSequence(const KvSequence &) = delete;
  KvSequence &operator=(const KvSequence &) = delete;

  /// Makes room for positions [0, tokens). On ResourceExhausted nothing changes.
  Status reserve(int64_t tokens);
  /// Keeps positions [0, tokens) and returns the pages beyond them.
  void truncate(int64_t tokens);

  std::span<const BlockId> blocks() const { return table; }
  int64_t capacityTokens() const { return static_cast<int64_t>(table.size()) * pageTokens; }

private:
  BlockAllocator *allocator;
  int64_t pageTokens;
  std::vector<BlockId> table;
};

} // namespace fusec::runtime
