//===- Dot.h - sums of products, the inner loop of contractions ---------------===//
#pragma once

#include "ir/reference/Precision.h"
#include "ir/reference/Tensor.h"

#include <optional>

namespace fusec::reference {

/// How a chain of multiply-adds rounds.
struct DotRounding {
  Precision precision;
  Element accumulate;
  /// Every operand is exact in f32, so that single-precision fma applies.
  bool singleOperands;

  /// What both operands are rounded to before they are multiplied. Sums then have no stated order: they are exact
  /// to f64 and rounded once.
  std::optional<Element> operands;

  static DotRounding of(Precision precision, Element accumulate, Element lhs, Element rhs);
};

/// A matrix [n, k] in memory; one of the pointers is null.
struct DotMatrix {
  const float *floats;
  const double *doubles;
  int64_t nStep, kStep;

  /// Over a tensor's storage, from position `base`.
  static DotMatrix of(const Tensor &tensor, int64_t base, int64_t nStep, int64_t kStep) {
    const float *single = tensor.floats();
    return {single ? single + base : nullptr, single ? nullptr : tensor.doubles() + base, nStep, kStep};
  }
};

/// `acc[n] += sum_k x[k] * matrix[n, k]`: per n one chain over ascending k.
void accumulateDots(const DotRounding &rounding, llvm::ArrayRef<double> x, const DotMatrix &matrix,
                    llvm::MutableArrayRef<double> acc);

} // namespace fusec::reference
