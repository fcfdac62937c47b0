//===- Decision.h - one fusion looked at --------------------------------------------===//
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

#include <optional>
#include <string>

namespace fusec {

/// One edge looked at. `fused` with the seconds saved per token, or the reason against.
struct Decision {
  mlir::Operation *producer = nullptr;
  mlir::Operation *consumer = nullptr;
  std::string kind; ///< derive, epilogue, prologue, row, inline, horizontal, side-by-side
  bool fused = false;
  std::string reason;
  std::optional<double> secondsSaved = std::nullopt; ///< Per token, by the cost model; negative: fusing costs.
  std::string obligation = {};                       ///< derive, refused: the obligation that failed.
  mlir::DictionaryAttr proof = {};                   ///< derive, fused: how each obligation was met.
};

} // namespace fusec
