//===- TileDialect.h - the tile dialect's classes ---------------------------===//
#pragma once

#include "ir/fuse/FuseDialect.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/SymbolTable.h"

#include "ir/tile/TileDialect.h.inc"
#include "ir/tile/TileEnums.h.inc"
#define GET_TYPEDEF_CLASSES
#include "ir/tile/TileTypes.h.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/tile/TileAttrs.h.inc"
#define GET_OP_CLASSES
#include "ir/tile/TileOps.h.inc"

namespace fusec::tile {
/// A unit attribute of `scf.for`; see the dialect's description.
inline constexpr llvm::StringLiteral spreadAttr = "tile.spread";
/// On such a loop: its stored matrices come through a ring in shared memory.
inline constexpr llvm::StringLiteral streamAttr = "tile.stream";
} // namespace fusec::tile
