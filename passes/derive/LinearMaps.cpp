//===- LinearMaps.cpp ------------------------------------------------------------------===//
#include "passes/derive/LinearMaps.h"

#include "passes/derive/Reductions.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace fusec::fuse;

namespace fusec {

namespace {

/// How a scalar of the body depends on fresh and row inputs.
enum class Part { Row, Fresh, Mixed };

bool isZeroConstant(Value value) {
  auto constant = value.getDefiningOp<arith::ConstantOp>();
  auto number = constant ? dyn_cast<FloatAttr>(constant.getValue()) : FloatAttr();
  return number && number.getValue().isZero();
}

/// Splits a body into fresh data and the steps that a row scales it with.
class BodySplit {
public:
  BodySplit(MapOp map, ArrayRef<unsigned> rowInputs) : body(map.getBody().front()) {
    for (unsigned i : rowInputs)
      rowArguments.insert(body.getArgument(i));
  }

  /// Whether the yielded value is fresh data scaled by rows.
  bool analyse() { return isScaled(yielded()) && isMixed(yielded()); }
  Value yielded() { return body.getTerminator()->getOperand(0); }

  /// The yielded value without its row steps.
  Value fresh(OpBuilder &b, IRMapping &mapping) { return emitFresh(b, yielded(), mapping); }
  /// The row steps applied to `sum`; `mapping` holds the row arguments.
  Value scaled(OpBuilder &b, Value sum, IRMapping &mapping) { return emitScaled(b, yielded(), sum, mapping); }

private:
  Part partOf(Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return rowArguments.contains(argument) ? Part::Row : Part::Fresh;
    bool row = false, fresh = isa<IndexOp>(value.getDefiningOp());
    for (Value operand : value.getDefiningOp()->getOperands()) {
      if (operand.getDefiningOp<arith::ConstantOp>())
        continue;
      Part part = partOf(operand);
      row |= part != Part::Fresh;
      fresh |= part != Part::Row;
    }
    return row && fresh ? Part::Mixed : row ? Part::Row : Part::Fresh;
  }
  bool isMixed(Value value) { return partOf(value) == Part::Mixed; }
  bool isRow(Value value) { return partOf(value) == Part::Row; }

  /// fresh, scaled * row, row * scaled, scaled / row, -scaled, select(row, 0, scaled).
  bool isScaled(Value value) {
    if (!isMixed(value))
      return partOf(value) == Part::Fresh;
    Operation *op = value.getDefiningOp();
    auto operand = [&](unsigned i) { return op->getOperand(i); };
    if (isa<arith::MulFOp>(op))
      return (isRow(operand(0)) || isScaled(operand(0))) && (isRow(operand(1)) || isScaled(operand(1)));
    if (isa<arith::DivFOp>(op))
      return isScaled(operand(0)) && isRow(operand(1));
    if (isa<arith::NegFOp>(op))
      return isScaled(operand(0));
    if (isa<arith::SelectOp>(op))
      return isRow(operand(0)) && ((isZeroConstant(operand(1)) && isScaled(operand(2))) ||
                                   (isZeroConstant(operand(2)) && isScaled(operand(1))));
    return false;
  }

  /// Clones what computes `value` without splitting it.
  Value cloneWhole(OpBuilder &b, Value value, IRMapping &mapping) {
    if (mapping.contains(value))
      return mapping.lookup(value);
    Operation *op = value.getDefiningOp();
    for (Value operand : op->getOperands())
      cloneWhole(b, operand, mapping);
    return b.clone(*op, mapping)->getResult(0);
  }

  Value emitFresh(OpBuilder &b, Value value, IRMapping &mapping) {
    if (!isMixed(value))
      return cloneWhole(b, value, mapping);
    Operation *op = value.getDefiningOp();
    if (isa<arith::DivFOp, arith::NegFOp>(op))
      return emitFresh(b, op->getOperand(0), mapping);
    if (isa<arith::SelectOp>(op))
      return emitFresh(b, op->getOperand(isZeroConstant(op->getOperand(1)) ? 2 : 1), mapping);
    Value left = op->getOperand(0), right = op->getOperand(1);
    if (isRow(left) || isRow(right))
      return emitFresh(b, isRow(left) ? right : left, mapping);
    Value a = emitFresh(b, left, mapping), c = emitFresh(b, right, mapping);
    return arith::MulFOp::create(b, op->getLoc(), a, c);
  }

  Value emitScaled(OpBuilder &b, Value value, Value sum, IRMapping &mapping) {
    if (!isMixed(value))
      return sum;
    Operation *op = value.getDefiningOp();
    Location loc = op->getLoc();
    if (isa<arith::DivFOp>(op)) {
      Value inner = emitScaled(b, op->getOperand(0), sum, mapping);
      return arith::DivFOp::create(b, loc, inner, cloneWhole(b, op->getOperand(1), mapping));
    }
    if (isa<arith::NegFOp>(op))
      return arith::NegFOp::create(b, loc, emitScaled(b, op->getOperand(0), sum, mapping));
    if (isa<arith::SelectOp>(op)) {
      Value condition = cloneWhole(b, op->getOperand(0), mapping);
      bool zeroFirst = isZeroConstant(op->getOperand(1));
      Value inner = emitScaled(b, op->getOperand(zeroFirst ? 2 : 1), sum, mapping);
      Value zero = cloneWhole(b, op->getOperand(zeroFirst ? 1 : 2), mapping);
      return arith::SelectOp::create(b, loc, condition, zeroFirst ? zero : inner, zeroFirst ? inner : zero);
    }
    Value left = op->getOperand(0), right = op->getOperand(1);
    if (isRow(left) || isRow(right)) {
      Value inner = emitScaled(b, isRow(left) ? right : left, sum, mapping);
      return arith::MulFOp::create(b, loc, inner, cloneWhole(b, isRow(left) ? left : right, mapping));
    }
    return emitScaled(b, left, emitScaled(b, right, sum, mapping), mapping);
  }

  Block &body;
  llvm::SmallDenseSet<Value> rowArguments;
};

bool alongSum(AffineMap map, ContractOp op) {
  return llvm::any_of(op.getSummedDims(), [&](unsigned d) { return map.isFunctionOfDim(d); });
}

} // namespace

std::optional<RowFactors> findRowFactors(ContractOp op, std::string &obstacle) {
  for (unsigned side : {0u, 1u}) {
    auto map = (side == 0 ? op.getLhs() : op.getRhs()).getDefiningOp<MapOp>();
    if (!map)
      continue;
    RowFactors factors{map, side, {}, nullptr};
    for (unsigned i = 0; i < map.getInputs().size(); ++i)
      if (!alongSum(map.getMap(i).compose(op.getMap(side)), op)) {
        factors.rowInputs.push_back(i);
        if (!factors.reduction)
          factors.reduction = reductionBehind(map.getInputs()[i]);
      }
    if (!factors.reduction || !cast<GraphTensorType>(map.getType()).getElementType().isF32())
      continue;
    // Row inputs that no reduction gives (a mask's position) are fresh data unless they scale.
    if (BodySplit(map, factors.rowInputs).analyse())
      return factors;
    llvm::erase_if(factors.rowInputs, [&](unsigned i) { return !reductionBehind(map.getInputs()[i]); });
    if (BodySplit(map, factors.rowInputs).analyse())
      return factors;
    obstacle = "the elements are not fresh data scaled by a row";
  }
  return std::nullopt;
}

MapOp moveBehindSum(ContractOp op, const RowFactors &factors) {
  MapOp map = factors.map;
  OpBuilder b(op);
  BodySplit split(map, factors.rowInputs);
  // 1. The operand without its row factors.
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  SmallVector<unsigned> freshInputs;
  for (unsigned i = 0; i < map.getInputs().size(); ++i)
    if (!llvm::is_contained(factors.rowInputs, i)) {
      inputs.push_back(map.getInputs()[i]);
      maps.push_back(map.getMap(i));
      freshInputs.push_back(i);
    }
  auto fresh = MapOp::create(b, map.getLoc(), map.getType(), inputs, b.getAffineMapArrayAttr(maps));
  {
    Block &block = fresh.getBody().emplaceBlock();
    OpBuilder inside = OpBuilder::atBlockEnd(&block);
    IRMapping mapping;
    for (unsigned i : freshInputs) {
      BlockArgument from = map.getBody().getArgument(i);
      mapping.map(from, block.addArgument(from.getType(), from.getLoc()));
    }
    YieldOp::create(inside, map.getLoc(), split.fresh(inside, mapping));
  }
  bool plain = fresh.getInputs().size() == 1 && fresh.getMap(0).isIdentity() &&
               fresh.getInputs()[0].getType() == fresh.getType() &&
               fresh.getBody().front().getTerminator()->getOperand(0) == fresh.getBody().getArgument(0);
  // 2. The sum: the op stays, with fresh data as its operand.
  op->setOperand(factors.operand, plain ? fresh.getInputs()[0] : fresh.getResult());
  // 3. The row factors, over the result's dimensions.
  auto type = cast<GraphTensorType>(op.getType());
  AffineMap toIteration = AffineMap::get(type.getRank(), 0, iterationOf(op.getMap(2), b), b.getContext());
  b.setInsertionPointAfter(op);
  SmallVector<Value> scaledInputs = {op.getResult()};
  SmallVector<AffineMap> scaledMaps = {b.getMultiDimIdentityMap(type.getRank())};
  for (unsigned i : factors.rowInputs) {
    scaledInputs.push_back(map.getInputs()[i]);
    scaledMaps.push_back(simplifyAffineMap(map.getMap(i).compose(op.getMap(factors.operand)).compose(toIteration)));
  }
  auto scaled = MapOp::create(b, map.getLoc(), type, scaledInputs, b.getAffineMapArrayAttr(scaledMaps));
  Block &block = scaled.getBody().emplaceBlock();
  OpBuilder inside = OpBuilder::atBlockEnd(&block);
  IRMapping mapping;
  Value sumArgument = block.addArgument(type.getElementType(), map.getLoc());
  for (unsigned i : factors.rowInputs) {
    BlockArgument from = map.getBody().getArgument(i);
    mapping.map(from, block.addArgument(from.getType(), from.getLoc()));
  }
  YieldOp::create(inside, map.getLoc(), split.scaled(inside, sumArgument, mapping));

  op.getResult().replaceAllUsesExcept(scaled.getResult(), scaled);
  if (plain)
    fresh.erase();
  if (map->use_empty())
    map.erase();
  return scaled;
}

} // namespace fusec
