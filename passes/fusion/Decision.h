//===- Decision.h - one fusion looked at --------------------------------------------===//
#pragma once

#include "mlir/IR/Operation.h"

#include <string>

namespace fusec {

/// One edge looked at. `fused` with the seconds saved per token, or the reason against.
struct Decision {
  mlir::Operation *producer = nullptr;
  mlir::Operation *consumer = nullptr;
  std::string kind; ///< epilogue, prologue, row, inline, horizontal
  bool fused = false;
  std::string reason;
};

} // namespace fusec
