//===- OpName.h - what the model calls an op ---------------------------------------===//
#pragma once

#include "mlir/IR/Operation.h"

#include <string>

namespace fusec {

/// The model's own tensor or node that a location carries; of several, the first; else "?".
std::string modelName(mlir::Location loc);

/// "blk.0.attn_q.weight:contract": the model's name and the op's.
std::string opName(mlir::Operation *op);

} // namespace fusec
