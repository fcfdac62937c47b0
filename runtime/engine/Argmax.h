//===- Argmax.h - the best of a row of logits -------------------------------------===//
#pragma once

#include <cstdint>
#include <span>

namespace fusec::runtime {

/// Index of the largest value, the lowest of equal ones; -1 when none is above
/// -inf. NaN counts as -inf and +inf as the largest finite number.
int32_t argmax(std::span<const float> values);

} // namespace fusec::runtime
