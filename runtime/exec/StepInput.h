//===- StepInput.h - one step of the model: what goes in, what comes out ------===//
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

/// How the token after a row is chosen; legal ranges as in runtime/engine/SamplingParams.h.
struct RowSampling {
  float temperature = 0; ///< 0 = the best id.
  int32_t topK = 0;      ///< <= 0: off.
  float topP = 1;
  float minP = 0;
  uint64_t seed = 0;
  uint64_t draw = 0; ///< Number of the draw in the seed's stream.
};

struct StepInput {
  std::span<const text::TokenId> tokens; ///< [T], each in [0, vocab).
  std::span<const int32_t> positions;    ///< [T], each token's place in its sequence.
  std::span<const int32_t> sequences;    ///< [T], rows of blockTable.
  std::span<const int32_t> blockTable;   ///< [S, blockStride], physical pages; covers every position.
  int64_t blockStride = 0;               ///< B
  std::span<const int32_t> outputRows;   ///< [R], indices into tokens; may be empty.
  /// [R], or empty: then logits are wanted. Only where Executor::samplesOnDevice().
  std::span<const RowSampling> sampling = {};
  /// [S], which sequence a row of blockTable is, never used twice for others; empty: row s is sequence s. Layouts that
  /// map pages go by it.
  std::span<const uint64_t> sequenceIds = {};
};

/// What a step gives; valid until the next one.
struct StepOutput {
  /// [R, vocab], or the hidden states [R, width] of an artifact for embeddings; empty when tokens were chosen on the
  /// device.
  std::span<const float> logits;
  std::span<const text::TokenId> choices; ///< [R], -1 where nothing is possible; empty when they were not.
};

} // namespace fusec::runtime
