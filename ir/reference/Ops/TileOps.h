//===- TileOps.h - one function per op of a tile kernel -------------------------===//
//
// Each reads its operands from the frame and sets its results. The ops have
// passed their verifiers; what only run-time values can break is an error.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/reference/TileFrame.h"

namespace fusec::reference {

// TileMemory.cpp
Status runLoad(TileFrame &frame, mlir::Operation *op);
Status runScratch(TileFrame &frame, mlir::Operation *op);
Status runStore(TileFrame &frame, mlir::Operation *op);
Status runPrefetch(TileFrame &frame, mlir::Operation *op);

// TileCompute.cpp
Status runDot(TileFrame &frame, mlir::Operation *op);
Status runExtent(TileFrame &frame, mlir::Operation *op);
Status runIndex(TileFrame &frame, mlir::Operation *op);
Status runLaneOp(TileFrame &frame, mlir::Operation *op);
Status runOrigin(TileFrame &frame, mlir::Operation *op);
Status runScalarConstant(TileFrame &frame, mlir::Operation *op);
Status runTileReduce(TileFrame &frame, mlir::Operation *op);

// Vectors.cpp
Status runBroadcast(TileFrame &frame, mlir::Operation *op);
Status runExtract(TileFrame &frame, mlir::Operation *op);
Status runExtractStridedSlice(TileFrame &frame, mlir::Operation *op);
Status runFromElements(TileFrame &frame, mlir::Operation *op);
Status runInsert(TileFrame &frame, mlir::Operation *op);
Status runShapeCast(TileFrame &frame, mlir::Operation *op);
Status runShuffle(TileFrame &frame, mlir::Operation *op);

// Control.cpp
Status runFor(TileFrame &frame, mlir::Operation *op);
Status runIf(TileFrame &frame, mlir::Operation *op);

} // namespace fusec::reference
