//===- StepInput.h - one step of the model: what goes in ---------------------===//
//
// Plain data that borrows its arrays for the duration of the step. Tokens of
// all sequences are packed; T = tokens.size().
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/text/TokenId.h"

#include <cstdint>
#include <span>

namespace fusec::runtime {

/// The largest step that memory is planned for.
struct StepLimits {
  int64_t tokens = 1;        ///< T
  int64_t sequences = 1;     ///< S
  int64_t outputRows = 1;    ///< R
  int64_t contextTokens = 1; ///< Per sequence, cached and new; B and C follow from it.
};

struct StepInput {
  std::span<const text::TokenId> tokens; ///< [T], each in [0, vocab).
  std::span<const int32_t> positions;    ///< [T], each token's place in its sequence.
  std::span<const int32_t> sequences;    ///< [T], rows of blockTable.
  std::span<const int32_t> blockTable;   ///< [S, blockStride], physical pages; covers every position.
  int64_t blockStride = 0;               ///< B
  std::span<const int32_t> outputRows;   ///< [R], indices into tokens; may be empty.
};

} // namespace fusec::runtime
