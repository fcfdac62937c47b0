//===- Moments.cpp -----------------------------------------------------------------------===//
#include "passes/derive/Moments.h"

#include "passes/derive/Reductions.h"
#include "passes/derive/Term.h"

using namespace mlir;
using namespace fusec::fuse;

namespace fusec {

namespace {

constexpr int64_t longestRow = 16384; ///< n * 2^-24 = 0.001 of the variance at worst.

GraphTensorType typeOf(Value value) { return cast<GraphTensorType>(value.getType()); }

/// A sum of f32 from 0 over the last dimension, in an order that may change.
bool isPlainSum(ReduceOp op) {
  if (op.getInputs().size() != 1 || !asReduction(op) || op.getNumerics().getOrder() == Order::Sequential)
    return false;
  auto init = dyn_cast<FloatAttr>(op.getInit()[0]);
  Block &body = op.getCombine().front();
  return init && init.getType().isF32() && init.getValue().isZero() && isa<arith::AddFOp>(body.front()) &&
         body.getTerminator()->getOperand(0) == body.front().getResult(0);
}

bool isOp(const Term *term, StringRef name) {
  return term->kind == Term::Kind::Apply && term->op->getName().getStringRef() == name;
}

/// The n of a map that divides its one input, or multiplies it by 1/n; 0: it does not.
double divisorOf(MapOp map) {
  if (!map || map.getInputs().size() != 1 || !map.getMap(0).isIdentity())
    return 0;
  Block &body = map.getBody().front();
  Operation *op = body.getTerminator()->getOperand(0).getDefiningOp();
  if (!op || !isa<arith::DivFOp, arith::MulFOp>(op))
    return 0;
  unsigned argument = op->getOperand(0) == body.getArgument(0) ? 0 : 1;
  auto constant = op->getOperand(1 - argument).getDefiningOp<arith::ConstantOp>();
  auto number = constant ? dyn_cast<FloatAttr>(constant.getValue()) : FloatAttr();
  if (!number || op->getOperand(argument) != body.getArgument(0) || (isa<arith::DivFOp>(op) && argument != 0))
    return 0;
  double value = number.getValueAsDouble();
  return isa<arith::DivFOp>(op) ? value : 1 / value;
}

using Body = function_ref<Value(OpBuilder &, ValueRange)>;
Value mapOver(OpBuilder &b, Location loc, Type type, ValueRange inputs, ArrayRef<AffineMap> maps, Body body) {
  auto op = MapOp::create(b, loc, type, inputs, b.getAffineMapArrayAttr(maps));
  Block &block = op.getBody().emplaceBlock();
  for (Value input : inputs)
    block.addArgument(typeOf(input).getElementType(), loc);
  OpBuilder inside = OpBuilder::atBlockEnd(&block);
  YieldOp::create(inside, loc, body(inside, block.getArguments()));
  return op;
}

} // namespace

std::optional<Moments> findMoments(ReduceOp squares, std::string &obstacle) {
  if (!isPlainSum(squares))
    return std::nullopt;
  Reduction r = *asReduction(squares);
  TermArena arena;
  const Term *element = arena.element(r.element, r.rows.size());
  if (!element || !isOp(element, "arith.mulf") || element->operands[0] != element->operands[1] ||
      !isOp(element->operands[0], "arith.subf"))
    return std::nullopt;
  const Term *x = element->operands[0]->operands[0], *d = element->operands[0]->operands[1];
  if (x->kind == Term::Kind::Leaf && !x->map.isFunctionOfDim(r.rows.size()))
    std::swap(x, d);
  if (d->kind != Term::Kind::Leaf || d->map.isFunctionOfDim(r.rows.size()))
    return std::nullopt;
  auto sum = dyn_cast_or_null<ReduceOp>(reductionBehind(d->leaf));
  if (!sum || !isPlainSum(sum) || asReduction(sum)->rows != r.rows || asReduction(sum)->folded != r.folded ||
      arena.element(sum.getInputs()[0], r.rows.size()) != x)
    return std::nullopt;
  auto map = d->leaf.getDefiningOp<MapOp>();
  double n = divisorOf(map);
  if (!r.folded.isStatic() || !map || map.getInputs()[0] != sum.getResult(0) ||
      std::abs(n - static_cast<double>(r.folded.size)) > 1e-5 * n) {
    obstacle = "aligned: the row value is not the mean over a static dimension";
    return std::nullopt;
  }
  if (r.folded.size > longestRow) {
    obstacle = "numerics: shifted sums of " + std::to_string(r.folded.size) +
               " elements may lose too much precision, " + "expected at most " + std::to_string(longestRow);
    return std::nullopt;
  }
  return Moments{sum, squares, d->leaf, r.folded.size};
}

ReduceOp joinMoments(const Moments &m, function_ref<void(Operation *)> beforeErase) {
  ReduceOp sum = m.sum, squares = m.squares;
  OpBuilder b(sum);
  Location loc = squares.getLoc();
  Value x = sum.getInputs()[0];
  GraphTensorType full = typeOf(x), row = typeOf(sum.getResult(0));
  unsigned rows = row.getRank();
  AffineMap all = b.getMultiDimIdentityMap(rows + 1), along = all.dropResult(rows),
            each = b.getMultiDimIdentityMap(rows);
  SmallVector<AffineExpr> first(each.getResults());
  first.push_back(b.getAffineConstantExpr(0));
  auto number = [&](OpBuilder &inside, double value) -> Value {
    return arith::ConstantOp::create(inside, loc, inside.getF32FloatAttr(value));
  };
  double n = static_cast<double>(m.count);

  Value shift = ViewOp::create(b, loc, row, x, AffineMapAttr::get(AffineMap::get(rows, 0, first, b.getContext())));
  Value moved = mapOver(b, loc, full, {x, shift}, {all, along},
                        [&](OpBuilder &i, ValueRange v) -> Value { return arith::SubFOp::create(i, loc, v[0], v[1]); });
  Value squared = mapOver(b, loc, full, {moved}, {all}, [&](OpBuilder &i, ValueRange v) -> Value {
    return arith::MulFOp::create(i, loc, v[0], v[0]);
  });
  auto joint = ReduceOp::create(b, loc, TypeRange{row, row}, ValueRange{moved, squared}, squares.getDims(),
                                b.getArrayAttr({b.getF32FloatAttr(0), b.getF32FloatAttr(0)}), squares.getNumerics());
  Block &block = joint.getCombine().emplaceBlock();
  Type f32 = b.getF32Type();
  block.addArguments({f32, f32, f32, f32}, {loc, loc, loc, loc});
  OpBuilder inside = OpBuilder::atBlockEnd(&block);
  Value a = arith::AddFOp::create(inside, loc, block.getArgument(0), block.getArgument(2));
  Value c = arith::AddFOp::create(inside, loc, block.getArgument(1), block.getArgument(3));
  YieldOp::create(inside, loc, ValueRange{a, c});

  Value mean =
      mapOver(b, loc, row, {shift, joint.getResult(0)}, {each, each}, [&](OpBuilder &i, ValueRange v) -> Value {
        return arith::AddFOp::create(i, loc, v[0], arith::DivFOp::create(i, loc, v[1], number(i, n)));
      });
  Value second = mapOver(b, loc, row, {joint.getResult(0), joint.getResult(1)}, {each, each},
                         [&](OpBuilder &i, ValueRange v) -> Value {
                           Value square = arith::MulFOp::create(i, loc, v[0], v[0]);
                           Value off = arith::DivFOp::create(i, loc, square, number(i, n));
                           Value rest = arith::SubFOp::create(i, loc, v[1], off);
                           return arith::MaximumFOp::create(i, loc, rest, number(i, 0));
                         });
  Operation *meanMap = m.mean.getDefiningOp();
  Value(m.mean).replaceAllUsesWith(mean);
  Operation *squaresMap = squares.getInputs()[0].getDefiningOp();
  squares.getResult(0).replaceAllUsesWith(second);
  beforeErase(squares);
  squares.erase();
  for (Operation *dead : {squaresMap, meanMap, sum.getOperation()}) {
    SmallVector<Operation *> above;
    for (Value operand : dead->getOperands())
      if (auto map = operand.getDefiningOp<MapOp>())
        above.push_back(map);
    if (!dead->use_empty())
      continue;
    beforeErase(dead);
    dead->erase();
    for (Operation *map : above)
      if (map != meanMap && map->use_empty()) {
        beforeErase(map);
        map->erase();
      }
  }
  return joint;
}

} // namespace fusec
