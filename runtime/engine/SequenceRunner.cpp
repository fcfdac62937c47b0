//===- SequenceRunner.cpp ----------------------------------------------------===//

#include "runtime/engine/SequenceRunner.h"

#include <algorithm>
#include <numeric>

namespace fusec::runtime {

SequenceRunner::SequenceRunner(Executor &executor, BlockAllocator &allocator, int64_t pageTokens)
    : executor(executor), pages(allocator, pageTokens) {}

int64_t SequenceRunner::keepCommonPrefix(std::span<const text::TokenId> prompt) {
  size_t limit = std::min(cached.size(), prompt.empty() ? 0 : prompt.size() - 1);
  size_t kept = 0;
  while (kept < limit && cached[kept] == prompt[kept])
    ++kept;
  cached.resize(kept);
  pages.truncate(static_cast<int64_t>(kept));
  return static_cast<int64_t>(kept);
}

Result<StepOutput> SequenceRunner::append(std::span<const text::TokenId> chunk, ChunkRows rows,
                                          std::span<const RowSampling> sampling) {
  FUSEC_RETURN_IF_ERROR(pages.reserve(static_cast<int64_t>(cached.size() + chunk.size())));
  StepInput input = buildInput(chunk, rows);
  input.sampling = sampling;
  Result<StepOutput> output = executor.step(input);
  if (output)
    cached.insert(cached.end(), chunk.begin(), chunk.end());
  else
    pages.truncate(static_cast<int64_t>(cached.size()));
  return output;
}

StepInput SequenceRunner::buildInput(std::span<const text::TokenId> chunk, ChunkRows rows) {
  positions.resize(chunk.size());
  std::iota(positions.begin(), positions.end(), static_cast<int32_t>(cached.size()));
  sequences.assign(chunk.size(), 0);
  blockTable.clear();
  for (BlockId block : pages.blocks())
    blockTable.push_back(toIndex(block));
  outputRows.clear();
  if (rows == ChunkRows::Last)
    outputRows.push_back(static_cast<int32_t>(chunk.size()) - 1);
  if (rows == ChunkRows::All) {
    outputRows.resize(chunk.size());
    std::iota(outputRows.begin(), outputRows.end(), 0);
  }
  return {chunk, positions, sequences, blockTable, static_cast<int64_t>(blockTable.size()), outputRows};
}

void SequenceRunner::clear() {
  cached.clear();
  pages.truncate(0);
}

} // namespace fusec::runtime
