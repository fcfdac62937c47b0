//===- OpName.h - what the model calls an op ---------------------------------------===//
#pragma once

#include "mlir/IR/Operation.h"

#include <string>

namespace fusec {

/// The model's own tensor or node that a location carries; of several, the first; else "?".
std::string modelName(mlir::Location loc);

/// "blk.0.attn_q.weight:contract": the model's name and the op's.
std::string opName(mlir::Operation *op);

/// opName, and "#2", "#3", ... when ops before it in its block have the same one: what a fusion
/// plan and the reports call the op. It depends on the graph alone. Linear in the block.
std::string uniqueOpName(mlir::Operation *op);

/// "blk.7.attn_q" -> "blk.*.attn_q": one name for what repeats in every layer.
std::string withoutLayer(llvm::StringRef name);
/// The 7 of "blk.7.attn_q"; -1 for names outside of layers.
int64_t layerOf(llvm::StringRef name);

} // namespace fusec
