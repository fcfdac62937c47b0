//===- DataFlow.h - who computes what whom reads --------------------------------------===//
//
// The graph as grouping sees it: only ops that compute, with index-only ops
// looked through.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/fuse/FuseDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace fusec {

/// Views, reshapes, stored tensors and gathers of paged caches compute nothing:
/// they become index maps of whoever reads them.
bool isIndexOnly(mlir::Operation *op);

/// The ops that produce what `op` reads, looking through index-only ops.
llvm::SmallVector<mlir::Operation *> computingProducers(mlir::Operation *op);
/// The ops that read `op`'s results, looking through index-only ops.
llvm::SmallVector<mlir::Operation *> computingUsers(mlir::Operation *op);
/// Whether a value is the op's result seen through index-only ops.
bool computesFrom(mlir::Value value, mlir::Operation *op);

/// Whether a contraction's right operand is a matrix that no kernel computes, the same for all rows.
bool multipliesMatrix(fuse::ContractOp op);

/// The computing ops of a function and their edges, found once.
class DataFlow {
public:
  explicit DataFlow(mlir::func::FuncOp function);
  /// In graph order.
  llvm::ArrayRef<mlir::Operation *> computing() const { return ops; }
  size_t position(mlir::Operation *op) const { return nodes.at(op).position; }
  llvm::ArrayRef<mlir::Operation *> producers(mlir::Operation *op) const { return nodes.at(op).producers; }
  llvm::ArrayRef<mlir::Operation *> users(mlir::Operation *op) const { return nodes.at(op).users; }

private:
  struct Node {
    size_t position = 0;
    llvm::SmallVector<mlir::Operation *> producers, users;
  };
  llvm::SmallVector<mlir::Operation *> ops;
  llvm::DenseMap<mlir::Operation *, Node> nodes;
};

} // namespace fusec
