//===- EmbeddingPool.h - from the hidden states of a text to its embedding -------===//
//
//   EmbeddingPool pool({width, Pooling::Mean});
//   pool.add(position, row);       // of each position, or of the last one: see needsAllRows()
//   FUSEC_ASSIGN_OR_RETURN(std::vector<float> embedding, pool.take());
//
// Rows are summed in f64 in the order of their positions, so that the result
// does not depend on how many of them come at a time. A row that comes again
// after a preemption gives the same and is ignored.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/exec/ModelInfo.h"

#include <cstdint>
#include <span>
#include <vector>

namespace fusec::runtime {

class EmbeddingPool {
public:
  explicit EmbeddingPool(EmbeddingInfo info) : info(info) {}

  /// Whether rows of all positions are needed, else that of the last.
  bool needsAllRows() const { return info.pooling != Pooling::Last; }
  /// `row`: [width], the hidden state at `position`.
  void add(int64_t position, std::span<const float> row);
  /// [width], of length 1 in L2; only zeros when the hidden states are. InternalError when they are not finite.
  Result<std::vector<float>> take() const;

private:
  EmbeddingInfo info;
  int64_t next = 0; ///< Rows of positions below are in, where all are needed.
  std::vector<double> sum;
};

} // namespace fusec::runtime
