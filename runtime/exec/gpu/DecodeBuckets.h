//===- DecodeBuckets.h - which captured graph a step fits -----------------------===//
//
// A decode step, that is one token of each of S sequences with one row of logits
// each, runs as a graph captured for a bucket: sequences rounded up to a power of
// two, pages of context likewise, both at most what memory is planned for. A
// bucket is a value of all symbols (T = S = R, B, C = B pages), so it is the
// whole key of a graph: nothing else decides which kernels are launched how.
//
// Values; immutable.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/exec/GraphStats.h"
#include "runtime/exec/Manifest.h"
#include "runtime/exec/StepInput.h"

#include <cstdint>
#include <optional>

namespace fusec::runtime {

class DecodeBuckets {
public:
  /// `maxSequences`: of the largest graph.
  DecodeBuckets(const SymbolValues &maxima, int64_t pageTokens, int64_t maxSequences);

  struct Choice {
    std::optional<SymbolValues> bucket;
    EagerReason reason = EagerReason::Prefill; ///< When there is no bucket.
  };
  /// For a step that was checked, and its symbols.
  Choice choose(const StepInput &input, const SymbolValues &values) const;

private:
  int64_t maxRows, maxBlocks, pageTokens;
};

} // namespace fusec::runtime
