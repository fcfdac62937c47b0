//===- Grouping.h - which ops share a kernel -----------------------------------===//
//
// Three kinds of kernel exist. A `Rows` kernel handles one row per program:
// elementwise ops and reductions over the last dimension, in passes over the
// row. A `Contract` kernel computes a tile of one or more contractions over
// one iteration space and the elementwise ops that follow them. A `Cascade`
// kernel runs the reductions that `--fuse-derive` gave one loop, with all that
// their elements need on the way and the elementwise ops that follow.
//
// Legality is a function that gives the failed condition, profit another that
// gives the seconds saved; `group` only combines them. Each decision is kept.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/fuse/FuseDialect.h"
#include "passes/fusion/Cost.h"
#include "passes/fusion/DataFlow.h"
#include "passes/fusion/Decision.h"
#include "passes/fusion/FusionControl.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace fusec {

enum class GroupKind { Rows, Contract, Cascade };

struct Group {
  GroupKind kind = GroupKind::Rows;
  llvm::SmallVector<fuse::Dim> rows;        ///< Rows, Cascade: the dimensions of a row value.
  llvm::SmallVector<mlir::Operation *> ops; ///< Members in graph order.
};

struct Grouping {
  std::vector<Group> groups;                        ///< In an order that respects all dependences.
  llvm::DenseMap<mlir::Operation *, int> groupOf;   ///< Index into `groups`.
  llvm::SmallPtrSet<mlir::Operation *, 16> inlined; ///< Recomputed in each consumer's kernel.
  std::vector<Decision> decisions;
};

/// Groups every computing op of the function; each legal fusion is asked for at `control`.
Grouping group(mlir::func::FuncOp function, CostModel cost, FusionControl &control);

} // namespace fusec
