//===- MapCluster.h - a lambda of elementwise ops under construction -------===//
//
// Used by EmitMap.cpp (tiles as arguments of `map`) and EmitElement.cpp
// (expressions of the place).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cuda/KernelPrinter.h"

namespace fusec::codegen::cuda {

/// Values that are written again wherever they are read.
bool isFree(mlir::Operation *op);
/// One op on each element of tiles, or a value that is free.
bool isElementwise(mlir::Operation *op);

struct KernelPrinter::Cluster {
  Cluster(TileShape shape, const TileLayout &layout) : shape(shape), layout(&layout) {
    TileShape padded = layout.padded(shape);
    row = laneIndex("row", padded.rows);
    col = laneIndex("col", padded.lanes);
  }

  TileShape shape;
  const TileLayout *layout;
  LambdaText lambda;
  std::vector<std::string> tiles;           ///< Arguments of the map, one per parameter of the lambda.
  llvm::DenseMap<mlir::Value, CExpr> known; ///< Ops of the chain.
  bool usesPlace = false;                   ///< Names row or col.

  // EmitElement.cpp: no tiles; loads are written out too.
  bool isElement = false;
  bool inVectors = false;      ///< Loads along the lanes bring 8 elements.
  bool failsInVectors = false; ///< One of them cannot, or something else differs from lane to lane.
  IndexExpr row, col;          ///< The place, with its range.

  IndexExpr rowIndex(bool varies) { return place(varies, row); }
  IndexExpr colIndex(bool varies) {
    failsInVectors |= varies;
    return place(varies, col);
  }

private:
  IndexExpr place(bool varies, const IndexExpr &index) {
    usesPlace |= varies;
    return varies ? index : IndexExpr::constant(0);
  }
};

} // namespace fusec::codegen::cuda
