//===- LogSoftmax.h - log-probabilities of a row of logits --------------------===//
#pragma once

#include <span>

namespace fusec::runtime {

/// log(sum(exp(logits))), natural logarithm. NaN counts as -inf and +inf as
/// the largest finite number; a row that is -inf throughout gives -inf.
double logSumExp(std::span<const float> logits);

} // namespace fusec::runtime
