//===- SequenceHistory.h - the inputs of a step, as the runtime builds them -----===//
#pragma once

#include "ir/reference/Tensor.h"

namespace fusec::reference {

/// Tokens that one sequence gets in a step.
struct Chunk {
  int64_t sequence;
  std::vector<int32_t> tokens;
};

enum class LogitRows { All, LastOfChunk };

/// Inputs of a step by their fixed names; all i32 vectors.
struct StepInputs {
  Tensor tokens, positions, sequences, outputRows;
  int64_t context = 0; ///< Tokens of the longest sequence of the step, this step's included.
};

/// How many tokens each sequence holds.
class SequenceHistory {
public:
  explicit SequenceHistory(int64_t sequences) : lengths(sequences, 0) {}

  /// Packs the chunks and counts their tokens. InvalidArgument for a sequence that does not exist.
  Result<StepInputs> append(llvm::ArrayRef<Chunk> chunks, LogitRows rows);
  int64_t count() const { return static_cast<int64_t>(lengths.size()); }
  int64_t length(int64_t sequence) const { return lengths[sequence]; }
  void truncate(int64_t sequence, int64_t length) { lengths[sequence] = std::min(lengths[sequence], length); }

private:
  std::vector<int64_t> lengths;
};

/// `context` rounded up to whole pages; pages of 0 positions round nothing.
int64_t roundToPages(int64_t context, int64_t page);

} // namespace fusec::reference
