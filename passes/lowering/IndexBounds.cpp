//===- IndexBounds.cpp ------------------------------------------------------------------===//
#include "passes/lowering/IndexBounds.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fusec::fuse;

namespace fusec {

namespace {

/// An integer of a body as c * j + parts + constant.
struct Linear {
  int64_t j = 0;
  IndexBound rest;
};

class BoundFinder {
public:
  BoundFinder(unsigned folded, TypedAttr identity) : folded(folded), identity(identity) {}

  /// Adds the bounds outside of which `value[map]` is the identity.
  void ofElement(Value value, AffineMap map) {
    auto op = value.getDefiningOp<MapOp>();
    if (op)
      ofScalar(op.getBody().front().getTerminator()->getOperand(0), op, simplifyAffineMap(map));
  }

  IndexBounds take() { return std::move(bounds); }

private:
  bool isIdentity(Value value) {
    auto constant = value.getDefiningOp<arith::ConstantOp>();
    return constant && constant.getValue() == identity;
  }

  void ofScalar(Value value, MapOp op, AffineMap map) {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return ofElement(op.getInputs()[argument.getArgNumber()], op.getMap(argument.getArgNumber()).compose(map));
    Operation *def = value.getDefiningOp();
    if (auto select = dyn_cast<arith::SelectOp>(def)) {
      if (isIdentity(select.getFalseValue())) {
        ofCondition(select.getCondition(), false, op, map);
        ofScalar(select.getTrueValue(), op, map);
      } else if (isIdentity(select.getTrueValue())) {
        ofCondition(select.getCondition(), true, op, map);
        ofScalar(select.getFalseValue(), op, map);
      }
      return;
    }
    // -inf + x is -inf: an additive mask closes as a select does.
    auto minusInfinity = dyn_cast<FloatAttr>(identity);
    if (isa<arith::AddFOp>(def) && minusInfinity && minusInfinity.getValue().isInfinity() &&
        minusInfinity.getValue().isNegative()) {
      ofScalar(def->getOperand(0), op, map);
      ofScalar(def->getOperand(1), op, map);
    }
  }

  /// The element is open where the condition is true, or false when `negated`.
  void ofCondition(Value condition, bool negated, MapOp op, AffineMap map) {
    Operation *def = condition.getDefiningOp();
    if (!def) {
      auto argument = cast<BlockArgument>(condition);
      return ofConditionInput(op.getInputs()[argument.getArgNumber()], negated,
                              op.getMap(argument.getArgNumber()).compose(map));
    }
    bool conjunction = negated ? isa<arith::OrIOp>(def) : isa<arith::AndIOp>(def);
    if (conjunction) {
      ofCondition(def->getOperand(0), negated, op, map);
      ofCondition(def->getOperand(1), negated, op, map);
    } else if (auto compare = dyn_cast<arith::CmpIOp>(def)) {
      ofComparison(negated ? arith::invertPredicate(compare.getPredicate()) : compare.getPredicate(), compare.getLhs(),
                   compare.getRhs(), op, map);
    }
  }

  void ofConditionInput(Value value, bool negated, AffineMap map) {
    if (auto op = value.getDefiningOp<MapOp>())
      ofCondition(op.getBody().front().getTerminator()->getOperand(0), negated, op, simplifyAffineMap(map));
  }

  void ofComparison(arith::CmpIPredicate predicate, Value lhs, Value rhs, MapOp op, AffineMap map) {
    Linear difference;
    if (!addLinear(lhs, 1, op, map, difference) || !addLinear(rhs, -1, op, map, difference))
      return;
    using P = arith::CmpIPredicate;
    // difference = c * j + rest; ask for rest relative to j alone.
    bool less = predicate == P::slt || predicate == P::sle || predicate == P::ult || predicate == P::ule;
    bool strict = predicate == P::slt || predicate == P::sgt || predicate == P::ult || predicate == P::ugt;
    bool greater = predicate == P::sgt || predicate == P::sge || predicate == P::ugt || predicate == P::uge;
    if (predicate == P::eq) {
      add(difference, true, false);
      add(difference, false, false);
    } else if (less || greater) {
      add(difference, less, strict);
    }
  }

  /// c * j + rest <= 0 (`less`) or >= 0, without equality when `strict`.
  void add(Linear d, bool less, bool strict) {
    if (d.j != 1 && d.j != -1)
      return;
    // j <= -rest when c = 1 and less; j >= rest when c = -1 and less; and the mirror images.
    bool upper = (d.j == 1) == less;
    IndexBound bound = d.rest;
    if (d.j == 1) {
      for (IndexBound::Part &part : bound.parts)
        part.sign = -part.sign;
      bound.constant = -bound.constant;
    }
    if (upper)
      bound.constant += strict ? 0 : 1;
    else
      bound.constant += strict ? 1 : 0;
    (upper ? bounds.upper : bounds.lower).push_back(std::move(bound));
  }

  bool dependsOnFolded(Value value, MapOp op, AffineMap map) {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return op.getMap(argument.getArgNumber()).compose(map).isFunctionOfDim(folded);
    Operation *def = value.getDefiningOp();
    if (auto index = dyn_cast<IndexOp>(def))
      return map.getResult(index.getDim()).isFunctionOfDim(folded);
    return llvm::any_of(def->getOperands(), [&](Value operand) { return dependsOnFolded(operand, op, map); });
  }

  bool addLinear(Value value, int64_t sign, MapOp op, AffineMap map, Linear &sum) {
    if (!value.getType().isInteger(32))
      return false;
    Operation *def = value.getDefiningOp();
    if (def && isa<arith::AddIOp, arith::SubIOp>(def)) {
      int64_t second = isa<arith::SubIOp>(def) ? -sign : sign;
      return addLinear(def->getOperand(0), sign, op, map, sum) && addLinear(def->getOperand(1), second, op, map, sum);
    }
    if (auto constant = dyn_cast_or_null<arith::ConstantOp>(def)) {
      sum.rest.constant += sign * cast<IntegerAttr>(constant.getValue()).getInt();
      return true;
    }
    if (auto index = dyn_cast_or_null<IndexOp>(def)) {
      if (map.getResult(index.getDim()) == getAffineDimExpr(folded, map.getContext())) {
        sum.j += sign;
        return true;
      }
    }
    if (dependsOnFolded(value, op, map))
      return false;
    sum.rest.parts.push_back({value, map, sign});
    return true;
  }

  unsigned folded;
  TypedAttr identity;
  IndexBounds bounds;
};

} // namespace

IndexBounds boundsOf(const Reduction &r, TypedAttr identity) {
  unsigned rank = r.rows.size() + 1;
  BoundFinder finder(rank - 1, identity);
  finder.ofElement(r.element, AffineMap::getMultiDimIdentityMap(rank, r.op->getContext()));
  return finder.take();
}

} // namespace fusec
