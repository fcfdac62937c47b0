//===- KernelWriter.h - groups of graph ops as tile kernels -------------------===//
//
// What one group becomes: one kernel for rows, or one per range of rows for
// contractions. The kernels of a group take the same buffers in the same order.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/fusion/Grouping.h"
#include "passes/lowering/TileChoice.h"
#include "passes/lowering/TileEvaluator.h"

#include "mlir/IR/BuiltinOps.h"

namespace fusec {

/// A group ready to be written: who is in it and what it must store.
struct KernelGroup {
  int number = 0;
  llvm::SmallVector<mlir::Operation *> ops; ///< Members in graph order.
  llvm::SmallVector<mlir::Value> stored;    ///< Results read elsewhere.
  bool contains(mlir::Operation *op) const { return llvm::is_contained(ops, op); }
  /// Inlined ops are computed in every kernel that reads them.
  bool computes(mlir::Operation *op) const { return contains(op) || op->hasAttr("inline"); }
};

/// A written kernel and when it runs.
struct WrittenKernel {
  tile::KernelOp kernel;
  llvm::SmallVector<mlir::Value> graphValues; ///< Per argument; null for the block table.
  std::string symbol;                         ///< Runs when symbol <= limit; empty: always.
  int64_t limit = 0;
};

/// Writes the group's kernels at the end of `module`; empty with an error emitted on failure.
llvm::SmallVector<WrittenKernel> writeRowKernel(mlir::ModuleOp module, const KernelGroup &group,
                                                const TileTarget &target);
llvm::SmallVector<WrittenKernel> writeContractKernels(mlir::ModuleOp module, const KernelGroup &group,
                                                      const TileTarget &target);
/// The variants of one launch.
using LaunchKernels = llvm::SmallVector<WrittenKernel>;
/// The launches of a derived loop: one, or one and the merge of its splits.
llvm::SmallVector<LaunchKernels> writeCascadeKernels(mlir::ModuleOp module, const KernelGroup &group,
                                                     const TileTarget &target);

/// `element` with `identity` in the lanes that reach beyond `dim`; the frame's last index runs along it.
mlir::Value maskTail(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value element, mlir::Value identity,
                     const fuse::Dim &dim, const Frame &frame);
/// Folds the lanes of `partials` by the reduction's combine: to scalars, or per row to one lane.
llvm::SmallVector<mlir::Value> foldLanes(mlir::OpBuilder &builder, mlir::Location loc, fuse::ReduceOp op,
                                         llvm::ArrayRef<mlir::Value> partials);
/// Extent of a dimension inside a kernel: a constant or `tile.extent`.
mlir::Value extentOf(mlir::OpBuilder &builder, mlir::Location loc, const fuse::Dim &dim);
/// A kernel with its entry block and terminator; the builder is left before the terminator.
tile::KernelOp createKernel(mlir::OpBuilder &builder, mlir::Location loc, mlir::StringRef name,
                            llvm::ArrayRef<std::pair<fuse::Dim, int64_t>> grid, mlir::DictionaryAttr schedule);

} // namespace fusec
