//===- SlicedProduct.h - loops over slices of k ----------------------------===//
//
// What a contraction with a stored weight looks like in a kernel:
//
//   for slice: total += (for k in slice: part = dot(x[m, k], W[k, n], part))
//
// for one or more products at once. Printed as one call (EmitProduct.cpp).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/tile/TileDialect.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <optional>

namespace fusec::codegen::cuda {

struct SlicedProduct {
  mlir::scf::ForOp slices, steps; ///< The loop over slices, and that over the steps of one.
  llvm::SmallVector<tile::DotOp> dots;
  int64_t columns = 0; ///< Extent of k.
  int64_t slice = 0;
  int64_t step = 0;
  bool isSpread = false;   ///< Slices may run on different warps at once.
  bool isStreamed = false; ///< The matrices come through a ring in shared memory.
  mlir::Type operand;      ///< What both operands are rounded to, or null.

  /// The rows and lanes of the sums.
  mlir::VectorType sumType() { return llvm::cast<mlir::VectorType>(dots.front().getType()); }
};

/// The product that `loop` is; nullopt for any other loop.
std::optional<SlicedProduct> matchSlicedProduct(mlir::scf::ForOp loop);

} // namespace fusec::codegen::cuda
