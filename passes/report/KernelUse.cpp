//===- KernelUse.cpp -----------------------------------------------------------------===//
#include "passes/report/KernelUse.h"

using namespace mlir;

namespace fusec {

namespace {

bool isLoadedIndex(Value index) {
  auto cast = index.getDefiningOp<arith::IndexCastOp>();
  return cast && cast.getIn().getDefiningOp<tile::LoadOp>();
}

/// Whether the access takes single slices of dimension 0 by a loaded index.
bool isGather(tile::BufferType type, ValueRange indices, AffineMap map) {
  if (map.getNumResults() == 0) // a scalar
    return false;
  auto first = dyn_cast<AffineDimExpr>(map.getResult(0));
  return first && !type.isPaged() && isLoadedIndex(indices[first.getPosition()]);
}

} // namespace

SmallVector<ArgumentUse> usesOf(tile::KernelOp kernel) {
  SmallVector<ArgumentUse> uses(kernel.getBody().getNumArguments());
  kernel.walk([&](Operation *op) {
    if (auto load = dyn_cast<tile::LoadOp>(op)) {
      if (auto arg = dyn_cast<BlockArgument>(load.getBuffer()); arg && arg.getOwner()->getParentOp() == kernel) {
        uses[arg.getArgNumber()].read = true;
        uses[arg.getArgNumber()].gathered |=
            isGather(cast<tile::BufferType>(arg.getType()), load.getIndices(), load.getMap());
      }
    } else if (auto store = dyn_cast<tile::StoreOp>(op)) {
      if (auto arg = dyn_cast<BlockArgument>(store.getBuffer()); arg && arg.getOwner()->getParentOp() == kernel)
        uses[arg.getArgNumber()].written = true;
    }
  });
  return uses;
}

} // namespace fusec
