//===- DecidingValues.h - what decides which accesses of a kernel happen -------------------===//
//
// The indices of loads and stores, the bounds of loops, the conditions of
// branches, and everything that these are computed from. All else, masks of
// scores above all, changes no byte.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/tile/TileDialect.h"

#include "llvm/ADT/DenseSet.h"

namespace fusec {

llvm::DenseSet<mlir::Value> decidingValues(tile::KernelOp kernel);

} // namespace fusec
