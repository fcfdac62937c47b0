//===- Normalise.cpp --------------------------------------------------------------------===//
#include "passes/derive/Normalise.h"

#include "passes/derive/LinearMaps.h"
#include "passes/derive/Reductions.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace fusec::fuse;

namespace fusec {

namespace {

GraphTensorType typeOf(Value value) { return cast<GraphTensorType>(value.getType()); }
bool isUnit(const Dim &dim) { return dim.isStatic() && dim.size == 1; }

/// `map` from the dimensions `from` into `to`, without the indices that are always 0.
AffineMap withoutUnits(AffineMap map, ArrayRef<Dim> from, ArrayRef<Dim> to) {
  MLIRContext *context = map.getContext();
  AffineExpr zero = getAffineConstantExpr(0, context);
  SmallVector<AffineExpr> dims;
  for (auto [i, dim] : llvm::enumerate(from))
    dims.push_back(isUnit(dim) ? zero : getAffineDimExpr(i, context));
  SmallVector<AffineExpr> results;
  for (auto [i, expr] : llvm::enumerate(map.getResults())) {
    bool unit = isUnit(to[i]);
    bool own = unit && i < from.size() && isUnit(from[i]);
    results.push_back(own ? getAffineDimExpr(i, context) : unit ? zero : expr.replaceDims(dims));
  }
  return simplifyAffineMap(AffineMap::get(map.getNumDims(), 0, results, context));
}

void normalise(MapOp op) {
  SmallVector<AffineMap> maps;
  for (auto [i, input] : llvm::enumerate(op.getInputs()))
    maps.push_back(withoutUnits(op.getMap(i), typeOf(op.getResult()).getDims(), typeOf(input).getDims()));
  op.setMapsAttr(Builder(op.getContext()).getAffineMapArrayAttr(maps));
}

/// An input that is a map of the same shape read element for element, with a reduction's row value among its own.
std::optional<unsigned> openableInput(MapOp op) {
  for (auto [i, input] : llvm::enumerate(op.getInputs())) {
    auto inner = input.getDefiningOp<MapOp>();
    if (!inner || !op.getMap(i).isIdentity() || inner.getType() != op.getType())
      continue;
    unsigned last = typeOf(inner.getResult()).getRank() - 1;
    for (unsigned k = 0; k < inner.getInputs().size(); ++k)
      if (!inner.getMap(k).isFunctionOfDim(last) && reductionBehind(inner.getInputs()[k]))
        return i;
    if (openableInput(inner))
      return i;
  }
  return std::nullopt;
}

/// A new map that computes input `i` of `op` by itself.
MapOp merged(MapOp op, unsigned i) {
  auto inner = op.getInputs()[i].getDefiningOp<MapOp>();
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (unsigned k = 0; k < op.getInputs().size(); ++k)
    if (k != i) {
      inputs.push_back(op.getInputs()[k]);
      maps.push_back(op.getMap(k));
    }
  for (unsigned k = 0; k < inner.getInputs().size(); ++k) {
    inputs.push_back(inner.getInputs()[k]);
    maps.push_back(inner.getMap(k));
  }
  OpBuilder b(op);
  auto all = MapOp::create(b, op.getLoc(), op.getType(), inputs, b.getAffineMapArrayAttr(maps));
  Block &block = all.getBody().emplaceBlock();
  for (Value input : inputs)
    block.addArgument(typeOf(input).getElementType(), op.getLoc());
  OpBuilder inside = OpBuilder::atBlockEnd(&block);
  unsigned own = op.getInputs().size() - 1;
  IRMapping mapping;
  mapping.map(inner.getBody().getArguments(), block.getArguments().drop_front(own));
  for (Operation &inner : inner.getBody().front().without_terminator())
    inside.clone(inner, mapping);
  Value value = mapping.lookupOrDefault(inner.getBody().front().getTerminator()->getOperand(0));
  for (unsigned k = 0, next = 0; k < op.getInputs().size(); ++k)
    mapping.map(op.getBody().getArgument(k), k == i ? value : Value(block.getArgument(next++)));
  for (Operation &outer : op.getBody().front())
    inside.clone(outer, mapping);
  return all;
}

} // namespace

void normaliseUnitDims(func::FuncOp function) {
  for (Operation &op : llvm::make_early_inc_range(function.getBody().front())) {
    if (auto map = dyn_cast<MapOp>(op))
      normalise(map);
    auto view = dyn_cast<ViewOp>(op);
    if (!view)
      continue;
    AffineMap map = withoutUnits(view.getMap(), typeOf(view.getResult()).getDims(), typeOf(view.getSource()).getDims());
    view.setMapAttr(AffineMapAttr::get(map));
    if (map.isIdentity() && view.getSource().getType() == view.getType()) {
      view.getResult().replaceAllUsesWith(view.getSource());
      view.erase();
    }
  }
}

bool openOperand(ContractOp op) {
  for (unsigned side : {0u, 1u}) {
    auto map = op->getOperand(side).getDefiningOp<MapOp>();
    std::optional<unsigned> input = map ? openableInput(map) : std::nullopt;
    if (!input)
      continue;
    MapOp all = merged(map, *input);
    op->setOperand(side, all);
    std::string ignored;
    if (findRowFactors(op, ignored)) {
      if (map->use_empty())
        map.erase();
      return true;
    }
    op->setOperand(side, map);
    all.erase();
  }
  return false;
}

} // namespace fusec
