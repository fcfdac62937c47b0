//===- LogSoftmax.h - log-probabilities of a row of logits --------------------===//
#pragma once

#include "runtime/engine/SamplingParams.h"

#include <cstdint>
#include <span>

namespace fusec::runtime {

/// log(sum(exp(logits))), natural logarithm. NaN counts as -inf and +inf as
/// the largest finite number; a row that is -inf throughout gives -inf.
double logSumExp(std::span<const float> logits);

/// The log-probability of `id` after a row of logits, and of the `count` best of
/// the ids below `sampleableIds`.
TokenReport reportToken(std::span<const float> logits, int64_t sampleableIds, TokenId id, int count);

} // namespace fusec::runtime
