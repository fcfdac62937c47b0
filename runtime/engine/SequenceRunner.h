//===- SequenceRunner.h - the one live sequence and its steps -----------------===//
//
// Knows which tokens have their KV in the cache, and appends more: allocates
// pages, builds the step's positions and block table, runs the executor.
//
// Ownership: owns the sequence's pages; borrows executor and allocator, which
// must outlive it. Threading: one thread at a time.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/exec/Executor.h"
#include "runtime/kv/BlockAllocator.h"
#include "runtime/kv/KvSequence.h"

#include <cstdint>
#include <span>
#include <vector>

namespace fusec::runtime {

/// Which rows of an appended chunk want logits.
enum class ChunkRows { None, Last, All };

class SequenceRunner {
public:
  SequenceRunner(Executor &executor, BlockAllocator &allocator, int64_t pageTokens);

  /// Keeps the KV of the longest common prefix with `prompt`, of which at least
  /// the last token is always left to compute: it yields the logits. Returns the
  /// number of tokens kept.
  int64_t keepCommonPrefix(std::span<const text::TokenId> prompt);

  /// Appends `chunk` (at most the executor's token limit) and returns the wanted
  /// logits or, with `sampling` for each wanted row, the chosen ids; valid until
  /// the next append. On error the sequence is unchanged.
  Result<StepOutput> append(std::span<const text::TokenId> chunk, ChunkRows rows,
                            std::span<const RowSampling> sampling = {});

  void clear();
  std::span<const text::TokenId> tokens() const { return cached; }

private:
  StepInput buildInput(std::span<const text::TokenId> chunk, ChunkRows rows);

  Executor &executor;
  KvSequence pages;
  std::vector<text::TokenId> cached; ///< Tokens whose KV is in the pages.
  // Work space of one step.
  std::vector<int32_t> positions, sequences, blockTable, outputRows;
};

} // namespace fusec::runtime
