//===- DecodeBuckets.cpp -------------------------------------------------------===//

#include "runtime/exec/gpu/DecodeBuckets.h"

#include <algorithm>
#include <bit>
#include <vector>

namespace fusec::runtime {

namespace {

int64_t roundUpTo(int64_t value, int64_t most) {
  return std::min<int64_t>(most, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(value))));
}

/// Every sequence has exactly one of the tokens.
bool isOnePerSequence(const StepInput &input, const SymbolValues &values) {
  if (values[Symbol::Tokens] != values[Symbol::Sequences] || values[Symbol::Tokens] != values[Symbol::OutputRows])
    return false;
  std::vector<bool> seen(input.sequences.size(), false);
  for (int32_t sequence : input.sequences) {
    if (seen[sequence])
      return false;
    seen[sequence] = true;
  }
  return true;
}

} // namespace

DecodeBuckets::DecodeBuckets(const SymbolValues &maxima, int64_t pageTokens, int64_t maxSequences)
    : maxRows(std::min({maxSequences, maxima[Symbol::Tokens], maxima[Symbol::Sequences], maxima[Symbol::OutputRows]})),
      maxBlocks(maxima[Symbol::Blocks]), pageTokens(pageTokens) {}

DecodeBuckets::Choice DecodeBuckets::choose(const StepInput &input, const SymbolValues &values) const {
  if (!isOnePerSequence(input, values))
    return {std::nullopt, EagerReason::Prefill};
  if (values[Symbol::Tokens] > maxRows)
    return {std::nullopt, EagerReason::TooManySequences};
  const int64_t rows = roundUpTo(values[Symbol::Tokens], maxRows);
  const int64_t blocks = roundUpTo(values[Symbol::Context] / pageTokens, maxBlocks);
  SymbolValues bucket;
  bucket[Symbol::Tokens] = bucket[Symbol::Sequences] = bucket[Symbol::OutputRows] = rows;
  bucket[Symbol::QueryTiles] = values[Symbol::QueryTiles] > 0 ? rows : 0; // A token each.
  bucket[Symbol::Blocks] = blocks;
  bucket[Symbol::Context] = blocks * pageTokens;
  return {bucket, {}};
}

} // namespace fusec::runtime
