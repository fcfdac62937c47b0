//===- Cascade.h - reductions that share one loop -------------------------------------===//
//
// `--fuse-derive` gives the members of a cascade one number (attribute
// `cascade`). Everything else about it is read off the graph here: what must be
// computed per element on the way (scores, masks), and which row value each
// member is repaired for.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/derive/Reductions.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace fusec {

constexpr llvm::StringLiteral cascadeAttr = "cascade";

struct CascadeMember {
  Reduction reduction;
  mlir::Value dependency; ///< The row value that `repair` is for; null: none.
};

struct Cascade {
  int64_t number = 0;
  llvm::SmallVector<fuse::Dim> rows;
  fuse::Dim folded;
  llvm::SmallVector<CascadeMember> members;      ///< In graph order.
  llvm::SmallVector<mlir::Operation *> prologue; ///< Per element, read by members only; in graph order.

  bool isMember(mlir::Operation *op) const;
  bool isPrologue(mlir::Operation *op) const { return llvm::is_contained(prologue, op); }
};

/// The reduction form of a member of a cascade.
std::optional<Reduction> memberReduction(mlir::Operation *op);
/// The cascade that `ops` form; they have one shape of rows and one folded dimension.
Cascade cascadeOf(int64_t number, llvm::ArrayRef<mlir::Operation *> ops);
/// Whether a cascade's kernel can compute the contraction's tiles itself: its result is laid out as rows
/// and folded dimension, it sums over one dimension, and one operand alone runs along the folded one.
bool canNest(fuse::ContractOp op, const Cascade &cascade);
/// All cascades of a function, by number.
std::vector<Cascade> cascadesOf(mlir::func::FuncOp function);

/// Row values of reductions over the same loop that the elements of `r` use. A value at other
/// coordinates than its rows is reported in `obstacle` instead.
llvm::SmallVector<mlir::Value> rowValuesOf(const Reduction &r, std::string &obstacle);

} // namespace fusec
