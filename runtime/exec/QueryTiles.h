//===- QueryTiles.h - a step's tokens in runs of one sequence -----------------===//
//
// Attention kernels of GPUs take several tokens of one sequence at once. The
// list names them: (first token, tokens) of each run of up to `most` tokens
// that lie side by side and belong to one sequence.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <span>

namespace fusec::runtime {

/// Entries of the list; `sequences` [T], `most` >= 1.
int64_t countQueryTiles(std::span<const int32_t> sequences, int64_t most);

/// Writes the list, [countQueryTiles(), 2].
void writeQueryTiles(std::span<const int32_t> sequences, int64_t most, int32_t *out);

} // namespace fusec::runtime
