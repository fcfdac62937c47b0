//===- Cost.h - what a kernel costs, in seconds -------------------------------===//
//
// One formula decides every fusion:
//
//   cost = launches * launch + bytes / bandwidth + operations / rate
//
// summed over two typical steps, one token and `tokens` tokens, each per
// token. The constants describe a host core pair; they only have to rank.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/fuse/FuseDialect.h"

namespace fusec {

/// Work of a candidate kernel (or of the part that a decision changes).
struct Work {
  double launches = 0;
  double bytes = 0;      ///< Moved to or from buffers.
  double operations = 0; ///< Scalar operations; exp, sin and the like count many.
  Work operator+(const Work &o) const { return {launches + o.launches, bytes + o.bytes, operations + o.operations}; }
  Work operator*(double n) const { return {launches, bytes * n, operations * n}; }
};

class CostModel {
public:
  /// `tokens`, `context`: the larger step that is weighed beside a step of one token.
  CostModel(int64_t tokens, int64_t context) : steps{{1, context}, {tokens, context}} {}

  /// Weighs work that depends on the step's sizes; `work` is called with each step.
  double secondsPerToken(llvm::function_ref<Work(const CostModel &)> work);

  /// Folding rows of `elements` for every tile of a contraction along `lanes`, beyond the first time.
  double secondsOfFoldingAgain(llvm::ArrayRef<fuse::Dim> elements, const fuse::Dim &lanes);

  /// Number of elements of a shape in the current step.
  double elements(llvm::ArrayRef<fuse::Dim> dims) const;
  /// Bytes of a tensor in the current step; stored weights by their block format.
  double bytes(fuse::GraphTensorType type) const;
  /// Scalar operations of one evaluation of a map's body.
  static double operationsPerElement(fuse::MapOp op);

private:
  struct Step {
    int64_t tokens, context;
  };
  Step steps[2];
  Step step{1, 1};
};

} // namespace fusec
