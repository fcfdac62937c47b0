//===- CascadeShape.h - tile shape of a cascade's kernels ------------------------===//
//
// All choices are made here once, before emission; kernels record them.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/derive/Cascade.h"
#include "passes/lowering/IndexBounds.h"
#include "passes/lowering/TileChoice.h"

namespace fusec {

struct CascadeShape {
  Cascade cascade;
  IndexBounds bounds;         ///< Where elements are not the identity for every member.
  int64_t rows = 1;           ///< Rows of the last row dimension per program.
  int64_t block = 64;         ///< Elements of the folded dimension per iteration.
  int64_t step = 2;           ///< Positions of a product per iteration.
  int64_t split = 0;          ///< Elements whose carriers are merged as one; 0: all are one.
  int64_t splitRows = 0;      ///< Programs per split for at most this many of the first row dimension; 0: never.
  bool onTensorCores = false; ///< Products are whole tiles with rounded operands, from registers.
  int64_t tokens = 0;         ///< GPU: tokens of one sequence per program of a query tile; 0: no such form.
  llvm::SmallVector<llvm::SmallVector<int64_t>> lanes; ///< Per member, groups of accumulator lanes of a product.

  /// Whether another member depends on member `i`.
  bool isRoot(unsigned i) const;
  /// Whether member `i` is repaired by a factor.
  bool scales(unsigned i) const;
  /// Whether the product `i` has a result dimension beside the rows.
  bool hasOwnLanes(unsigned i) const;
  llvm::ArrayRef<int64_t> lanesOf(unsigned i) const { return lanes[i]; }
  /// The product whose result has the shape of `value`.
  std::optional<unsigned> productLike(mlir::Value value) const;
  /// Summed elements per iteration of a nested product.
  int64_t stepOver(const fuse::Dim &summed) const;
  /// Floats of one row's carriers, folded.
  int64_t carrierWidth() const;
  /// An extent that holds the number of splits.
  fuse::Dim splits(mlir::MLIRContext *context) const;
};

/// The shape for the cascade among `ops`; an error is emitted when no kernel form fits.
mlir::FailureOr<CascadeShape> chooseCascadeShape(llvm::ArrayRef<mlir::Operation *> ops, const TileTarget &target);

} // namespace fusec
