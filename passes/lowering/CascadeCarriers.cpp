//===- CascadeCarriers.cpp - the accumulators of a derived loop ---------------------===//
#include "passes/lowering/CascadeKernel.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace fusec::fuse;

namespace fusec {

Value CascadeKernel::splat(TypedAttr value, int64_t lanes) {
  auto type = VectorType::get({tileRows(), lanes}, value.getType());
  return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, value));
}

SmallVector<Carrier> CascadeKernel::emptyCarriers(bool lanePartials) {
  SmallVector<Carrier> carriers;
  for (unsigned i = 0; i < shape.cascade.members.size(); ++i) {
    Carrier carrier;
    if (isProduct(i)) {
      for (int64_t lanes : shape.lanesOf(i))
        carrier.tiles.push_back(splat(builder.getF32FloatAttr(0), lanes));
    } else {
      int64_t lanes = lanePartials && !shape.isRoot(i) ? shape.block : 1;
      for (Attribute init : reduceOf(i).getInit())
        carrier.tiles.push_back(splat(cast<TypedAttr>(init), lanes));
    }
    carriers.push_back(carrier);
  }
  return carriers;
}

void CascadeKernel::know(Frame &frame, const SmallVector<Carrier> &carriers) {
  for (unsigned i = 0; i < carriers.size(); ++i)
    if (!isProduct(i) || !shape.hasOwnLanes(i))
      for (auto [result, value] : llvm::zip(shape.cascade.members[i].reduction.op->getResults(), carriers[i].tiles))
        frame.known[{result, rowMap()}] = spread(value, frame.lanes.back());
}

Value CascadeKernel::spread(Value value, int64_t lanes) {
  auto type = cast<VectorType>(value.getType());
  if (type.getDimSize(1) == lanes)
    return value;
  return vector::BroadcastOp::create(builder, loc, VectorType::get({tileRows(), lanes}, type.getElementType()), value);
}

Value CascadeKernel::dependencyAt(unsigned i, const SmallVector<Carrier> &carriers) {
  Frame frame = tileFrame(zero, 1);
  know(frame, rootsOf(carriers));
  return evaluator->evaluate(shape.cascade.members[i].dependency, rowMap(), frame);
}

SmallVector<Carrier> CascadeKernel::rootsOf(const SmallVector<Carrier> &carriers) {
  SmallVector<Carrier> roots;
  for (unsigned i = 0; i < carriers.size(); ++i)
    roots.push_back(!isProduct(i) && shape.isRoot(i) ? carriers[i] : Carrier());
  return roots;
}

Value CascadeKernel::repaired(unsigned i, Value old, Value now, Value accumulator) {
  Operation *op = shape.cascade.members[i].reduction.op;
  auto contract = dyn_cast<ContractOp>(op);
  Block &body = (contract ? contract.getRepair() : cast<ReduceOp>(op).getRepair()).front();
  int64_t lanes = cast<VectorType>(accumulator.getType()).getDimSize(1);
  IRMapping mapping;
  mapping.map(body.getArgument(0), old);
  mapping.map(body.getArgument(1), now);
  mapping.map(body.getArgument(2), accumulator);
  Frame rows = tileFrame(zero, 1), tile = tileFrame(zero, lanes);
  llvm::SmallDenseSet<Value> wide = {body.getArgument(2)};
  for (Operation &inner : body.without_terminator()) {
    bool isWide = llvm::any_of(inner.getOperands(), [&](Value v) { return wide.contains(v); });
    for (Value operand : inner.getOperands())
      if (isWide && !wide.contains(operand))
        mapping.map(operand, spread(mapping.lookup(operand), lanes));
    mapping.map(inner.getResult(0), evaluator->cloneOnTiles(inner, mapping, isWide ? tile : rows));
    if (isWide)
      wide.insert(inner.getResult(0));
  }
  return mapping.lookup(body.getTerminator()->getOperand(0));
}

SmallVector<Value> CascadeKernel::combined(unsigned i, ValueRange a, ValueRange b) {
  SmallVector<Value> operands(a);
  llvm::append_range(operands, b);
  Frame frame = tileFrame(zero, cast<VectorType>(a.front().getType()).getDimSize(1));
  return evaluator->inlineBody(reduceOf(i).getCombine().front(), operands, AffineMap(), frame);
}

SmallVector<Carrier> CascadeKernel::merge(const SmallVector<Carrier> &a, const SmallVector<Carrier> &b) {
  SmallVector<Carrier> out(a.size());
  for (unsigned i = 0; i < a.size(); ++i)
    if (shape.isRoot(i))
      out[i].tiles = combined(i, a[i].tiles, b[i].tiles);
  for (unsigned i = 0; i < a.size(); ++i) {
    if (shape.isRoot(i))
      continue;
    SmallVector<Value> left = a[i].tiles, right = b[i].tiles;
    if (shape.cascade.members[i].dependency) {
      Value before = dependencyAt(i, a), other = dependencyAt(i, b), now = dependencyAt(i, out);
      for (Value &tile : left)
        tile = repaired(i, before, now, tile);
      for (Value &tile : right)
        tile = repaired(i, other, now, tile);
    }
    if (!isProduct(i)) {
      out[i].tiles = combined(i, left, right);
      continue;
    }
    for (auto [x, y] : llvm::zip(left, right))
      out[i].tiles.push_back(arith::AddFOp::create(builder, loc, x, y));
  }
  return out;
}

void CascadeKernel::forEachPart(SmallVector<Carrier> &carriers, function_ref<void(Value &, int64_t)> visit) {
  int64_t at = 0;
  for (Carrier &carrier : carriers)
    for (Value &part : carrier.tiles) {
      visit(part, at);
      at += cast<VectorType>(part.getType()).getDimSize(1);
    }
}

void CascadeKernel::moveThroughWorkspace(Value &part, int64_t at, bool out) {
  SmallVector<Value> indices(origins.begin(), origins.end() - 1);
  indices.append({split, origins.back(), constantIndex(at)});
  SmallVector<AffineExpr> exprs;
  for (unsigned d = 0; d + 1 < rank; ++d)
    exprs.push_back(builder.getAffineDimExpr(d));
  exprs.append(
      {builder.getAffineDimExpr(rank), builder.getAffineDimExpr(rank - 1), builder.getAffineDimExpr(rank + 1)});
  auto map = AffineMapAttr::get(AffineMap::get(rank + 2, 0, exprs, builder.getContext()));
  Value buffer = arguments->get(workspace, loc);
  if (out)
    tile::StoreOp::create(builder, loc, part, buffer, indices, map, Value());
  else
    part = tile::LoadOp::create(builder, loc, part.getType(), buffer, indices, map, Value());
}

} // namespace fusec
