//===- Reductions.h - reductions and contractions alike -----------------------------===//
//
// A contraction is a sum of products, so both `fuse.reduce` and `fuse.contract`
// are reductions: rows, one folded dimension, elements.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/fuse/FuseDialect.h"

namespace fusec {

/// A reduction as derivation sees it.
struct Reduction {
  mlir::Operation *op = nullptr;
  mlir::Value element;               ///< What is folded; for a contraction the operand that has rows.
  unsigned operand = 0;              ///< Contraction: which operand `element` is.
  llvm::SmallVector<fuse::Dim> rows; ///< Dimensions of `element` but the last.
  fuse::Dim folded;                  ///< Its last.
};

/// A reduction over the last dimension of its first input, or nothing.
std::optional<Reduction> asReduction(fuse::ReduceOp op);
/// A contraction whose operand `operand` is indexed by distinct dimensions, the summed one last; or nothing.
std::optional<Reduction> asReduction(fuse::ContractOp op, unsigned operand);

/// The reduction whose rows `value` holds, seen through elementwise ops and views; null: none.
mlir::Operation *reductionBehind(mlir::Value value);

/// Iteration dimensions in terms of the result's dimensions; summed ones become 0.
llvm::SmallVector<mlir::AffineExpr> iterationOf(mlir::AffineMap resultMap, mlir::Builder &b);

} // namespace fusec
