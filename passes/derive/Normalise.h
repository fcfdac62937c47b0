//===- Normalise.h - graphs that say the same look the same -----------------------===//
#pragma once

#include "ir/fuse/FuseDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace fusec {

/// Index maps over dimensions of extent 1: their index is 0, so `d0 + d1` along a dimension of extent 1 is
/// that dimension. Maps that are the identity but for such dimensions become it; views that are go away.
void normaliseUnitDims(mlir::func::FuncOp function);

/// Merges one elementwise op that an operand of `op` reads element for element, and that reads a row value,
/// into the operand's own, when that shows row factors that can move (LinearMaps.h). The merged op is
/// recomputed, whoever else reads it. False: there is none.
bool openOperand(fuse::ContractOp op);

} // namespace fusec
