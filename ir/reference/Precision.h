//===- Precision.h - how the reference interpreter rounds --------------------===//
#pragma once

#include <cstdint>

namespace fusec::reference {

enum class Precision : uint8_t {
  /// Every arithmetic op rounds to its IR type; `contract` and `tile.dot` are
  /// one chain of fused multiply-adds in the accumulate type, in the stated
  /// order. The bits a faithful kernel gives, but for its exp, sin, ...
  Exact,
  /// Everything in double without rounding: the mathematical oracle.
  F64,
};

} // namespace fusec::reference
