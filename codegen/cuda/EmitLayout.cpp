//===- EmitLayout.cpp ------------------------------------------------------===//
#include "codegen/cuda/EmitLayout.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace fusec::codegen::cuda {

TileShape shapeOf(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  if (!vector || vector.getRank() == 0)
    return {};
  int64_t lanes = vector.getDimSize(vector.getRank() - 1);
  return {vector.getNumElements() / lanes, lanes};
}

TileShape TileLayout::padded(TileShape shape) const {
  auto pad = [](int64_t extent, int64_t unit, bool padsOne) {
    return extent == 1 && !padsOne ? 1 : static_cast<int64_t>(llvm::alignTo(extent, unit));
  };
  return {pad(shape.rows, rowUnit, padsOneRow), pad(shape.lanes, laneUnit, padsOneLane)};
}

TileLayouts::TileLayouts(int threads) { add({.name = "L", .type = "Lanes<" + std::to_string(threads) + ">"}); }

const TileLayout *TileLayouts::add(TileLayout layout) { return &all.emplace_back(std::move(layout)); }

const TileLayout &TileLayouts::of(Value value) const {
  const TileLayout *layout = assigned.lookup(value);
  return layout ? *layout : lanes();
}

void TileLayouts::assignAfter(Operation *op, const TileLayout *layout) {
  auto assignTile = [&](Value value) {
    if (isa<VectorType>(value.getType()))
      assign(value, layout);
  };
  auto assignResults = [&](Operation *other) {
    llvm::for_each(other->getResults(), assignTile);
    for (Region &region : other->getRegions())
      llvm::for_each(region.getArguments(), assignTile);
  };
  llvm::for_each(op->getResults(), assignTile);
  for (Operation *next = op->getNextNode(); next; next = next->getNextNode())
    next->walk(assignResults);
}

} // namespace fusec::codegen::cuda
