//===- TileEvaluator.cpp ---------------------------------------------------------===//
#include "passes/lowering/TileEvaluator.h"

#include "passes/fusion/Grouping.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace fusec::fuse;

namespace fusec {

namespace {

GraphTensorType typeOf(Value value) { return cast<GraphTensorType>(value.getType()); }

/// The graph argument behind a cache that appends update in place.
Value cacheRoot(Value value) {
  while (auto append = value.getDefiningOp<KVAppendOp>())
    value = append.getCache();
  return value;
}

/// Whether some contraction sums over the cached positions (values) rather than the head (keys).
bool isValueCache(Value value) {
  SmallVector<Value> pending = {cacheRoot(value)};
  while (!pending.empty()) {
    Value current = pending.pop_back_val();
    for (Operation *user : current.getUsers()) {
      if (auto contract = dyn_cast<ContractOp>(user)) {
        SmallVector<Dim> extents = contract.getIterationExtents();
        return llvm::any_of(contract.getSummedDims(), [&](unsigned d) { return extents[d].kind == DimKind::Paged; });
      }
      if (auto append = dyn_cast<KVAppendOp>(user); append && append.getCache() == current)
        pending.push_back(append);
      if (isa<GatherOp, ViewOp>(user))
        pending.push_back(user->getResult(0));
    }
  }
  return false;
}

bool isCache(GraphTensorType type) { return type.getRank() == 4 && type.getDim(1).kind == DimKind::Paged; }

bool dependsOnLanes(AffineMap map, const Frame &frame) {
  unsigned dims = map.getNumDims();
  for (unsigned d = dims - frame.lanes.size(); d < dims; ++d)
    if (map.isFunctionOfDim(d))
      return true;
  return false;
}

} // namespace

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

tile::BufferType bufferTypeFor(Value value) {
  GraphTensorType type = typeOf(value);
  MLIRContext *context = type.getContext();
  if (isCache(type))
    return tile::BufferType::get(context, type.getDims(), type.getElementType(),
                                 isValueCache(value) ? tile::Layout::PagedV : tile::Layout::PagedK, type.getStorage());
  if (type.getStorage() && type.getRank() == 2) // What a map rounds lies in rows, as other activations do.
    return tile::BufferType::get(context, type.getDims(), type.getElementType(),
                                 value.getDefiningOp<MapOp>() ? tile::Layout::Rows : tile::Layout::Panel,
                                 type.getStorage());
  return tile::BufferType::get(context, type.getDims(), type.getElementType());
}

tile::BufferType blockTableType(MLIRContext *context) {
  return tile::BufferType::get(
      context, {Dim::dynamic(DimKind::Symbolic, context, "S"), Dim::dynamic(DimKind::Symbolic, context, "B")},
      IntegerType::get(context, 32));
}

Value storedForm(Value value) {
  if (!value.hasOneUse())
    return value;
  auto reshape = dyn_cast<ReshapeOp>(*value.getUsers().begin());
  return reshape ? reshape.getResult() : value;
}

AffineMap storedMap(Value value) {
  Value stored = storedForm(value);
  GraphTensorType from = typeOf(value), to = typeOf(stored);
  MLIRContext *context = from.getContext();
  if (stored == value)
    return AffineMap::getMultiDimIdentityMap(from.getRank(), context);
  // Each target dimension takes source dimensions, row-major, until their extents multiply to its own.
  SmallVector<AffineExpr> exprs;
  int64_t source = 0;
  for (const Dim &dim : to.getDims()) {
    AffineExpr expr = getAffineConstantExpr(0, context);
    for (int64_t product = 1;
         source < from.getRank() && (product == 1 || product < dim.size || from.getDim(source).size == 1); ++source) {
      const Dim &part = from.getDim(source);
      if (!dim.isStatic() || !part.isStatic()) {
        expr = getAffineDimExpr(source++, context);
        break;
      }
      if (product * part.size > dim.size)
        break;
      expr = expr * part.size + getAffineDimExpr(source, context);
      product *= part.size;
    }
    exprs.push_back(expr);
  }
  return AffineMap::get(from.getRank(), 0, exprs, context);
}

Value KernelArguments::add(Value graphValue, Type type, Location loc) {
  Value argument = body.addArgument(type, loc);
  order.push_back(graphValue);
  return argument;
}

Value KernelArguments::get(Value graphValue, Location loc) {
  graphValue = cacheRoot(graphValue);
  auto [it, isNew] = arguments.try_emplace(graphValue);
  if (isNew)
    it->second = add(graphValue, bufferTypeFor(graphValue), loc);
  return it->second;
}

Value KernelArguments::pages(Location loc) {
  if (!table)
    table = add(Value(), blockTableType(loc.getContext()), loc);
  return table;
}

void KernelArguments::reserve(ArrayRef<Value> values, Location loc) {
  for (Value value : values)
    value ? get(value, loc) : pages(loc);
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

Type TileEvaluator::tileType(Type element, const Frame &frame) {
  return frame.lanes.empty() ? element : VectorType::get(frame.lanes, element);
}

Value TileEvaluator::broadcast(Value scalar, const Frame &frame, Location loc) {
  if (!scalar || frame.lanes.empty())
    return scalar;
  return vector::BroadcastOp::create(builder, loc, cast<VectorType>(tileType(scalar.getType(), frame)), scalar);
}

Value TileEvaluator::evaluateScalar(Value value, AffineMap map, Frame &frame) {
  unsigned outer = map.getNumDims() - frame.lanes.size();
  OpBuilder::InsertionGuard guard(builder);
  if (frame.hoistBefore)
    builder.setInsertionPoint(frame.hoistBefore);
  return evaluate(value, AffineMap::get(outer, 0, map.getResults(), map.getContext()), *frame.scalar);
}

Value TileEvaluator::evaluate(Value value, AffineMap map, Frame &frame) {
  map = simplifyAffineMap(map);
  auto key = std::make_pair(value, map);
  if (auto it = frame.known.find(key); it != frame.known.end())
    return it->second;
  Value result;
  auto op = value.getDefiningOp<MapOp>();
  if (frame.scalar && !dependsOnLanes(map, frame))
    result = broadcast(evaluateScalar(value, map, frame), frame, value.getLoc());
  else if (auto view = value.getDefiningOp<ViewOp>())
    result = evaluate(view.getSource(), view.getMap().compose(map), frame);
  else if (op && computes(op))
    result = evaluateMap(op, map, frame);
  else if (auto contract = value.getDefiningOp<ContractOp>(); contract && product && computes(contract))
    result = product(contract, map, frame);
  else
    result = load(value, map, frame, value.getLoc());
  if (result)
    frame.known[key] = result;
  return result;
}

Value TileEvaluator::evaluateMap(MapOp op, AffineMap map, Frame &frame) {
  SmallVector<Value> operands;
  for (auto [i, input] : llvm::enumerate(op.getInputs())) {
    operands.push_back(evaluate(input, op.getMap(i).compose(map), frame));
    if (!operands.back())
      return {};
  }
  SmallVector<Value> yielded = inlineBody(op.getBody().front(), operands, map, frame);
  return yielded.front();
}

SmallVector<Value> TileEvaluator::inlineBody(Block &body, ValueRange operands, AffineMap map, Frame &frame) {
  IRMapping mapping;
  mapping.map(body.getArguments(), operands);
  for (Operation &op : body.without_terminator()) {
    if (auto index = dyn_cast<IndexOp>(op))
      mapping.map(index.getResult(), indexTile(map.getResult(index.getDim()), frame, index.getLoc()));
    else
      mapping.map(op.getResult(0), cloneOnTiles(op, mapping, frame));
  }
  SmallVector<Value> yielded;
  for (Value operand : body.getTerminator()->getOperands())
    yielded.push_back(mapping.lookupOrDefault(operand));
  return yielded;
}

Value TileEvaluator::cloneOnTiles(Operation &op, IRMapping &mapping, Frame &frame) {
  Type type = tileType(op.getResult(0).getType(), frame);
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    if (frame.lanes.empty())
      return builder.clone(op)->getResult(0);
    return arith::ConstantOp::create(builder, op.getLoc(),
                                     DenseElementsAttr::get(cast<VectorType>(type), constant.getValue()));
  }
  OperationState state(op.getLoc(), op.getName());
  for (Value operand : op.getOperands())
    state.operands.push_back(mapping.lookupOrDefault(operand));
  state.addTypes(type);
  state.addAttributes(op.getAttrs());
  return builder.create(state)->getResult(0);
}

Value TileEvaluator::evaluateScalarOf(Value scalar, AffineMap map, Frame &frame) {
  if (auto argument = dyn_cast<BlockArgument>(scalar)) {
    auto op = cast<MapOp>(argument.getOwner()->getParentOp());
    unsigned i = argument.getArgNumber();
    return evaluate(op.getInputs()[i], op.getMap(i).compose(map), frame);
  }
  Operation *op = scalar.getDefiningOp();
  if (auto index = dyn_cast<IndexOp>(op))
    return indexTile(map.getResult(index.getDim()), frame, op->getLoc());
  IRMapping mapping;
  for (Value operand : op->getOperands()) {
    Value value = evaluateScalarOf(operand, map, frame);
    if (!value)
      return {};
    mapping.map(operand, value);
  }
  return cloneOnTiles(*op, mapping, frame);
}

Value TileEvaluator::indexTile(AffineExpr expr, Frame &frame, Location loc) {
  Type i32 = builder.getI32Type();
  unsigned outer = frame.indices.size() - frame.lanes.size();
  auto constant = [&](int64_t value) {
    return broadcast(arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(value)), frame, loc);
  };
  if (auto c = dyn_cast<AffineConstantExpr>(expr))
    return constant(c.getValue());
  if (auto d = dyn_cast<AffineDimExpr>(expr)) {
    Value index = frame.indices[d.getPosition()];
    if (d.getPosition() >= outer)
      return tile::IndexOp::create(builder, loc, tileType(i32, frame), index, d.getPosition() - outer);
    return broadcast(arith::IndexCastOp::create(builder, loc, i32, index), frame, loc);
  }
  auto binary = cast<AffineBinaryOpExpr>(expr);
  Value lhs = indexTile(binary.getLHS(), frame, loc), rhs = indexTile(binary.getRHS(), frame, loc);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return arith::AddIOp::create(builder, loc, lhs, rhs);
  case AffineExprKind::Mul:
    return arith::MulIOp::create(builder, loc, lhs, rhs);
  case AffineExprKind::Mod: // indices are not negative
    return arith::RemUIOp::create(builder, loc, lhs, rhs);
  default:
    return arith::DivUIOp::create(builder, loc, lhs, rhs);
  }
}

Value TileEvaluator::scalarIndex(Value value, AffineMap map, Frame &frame, Location loc) {
  Value scalar;
  if (frame.lanes.empty())
    scalar = evaluate(value, map, frame);
  else if (frame.scalar && !dependsOnLanes(map, frame))
    scalar = evaluateScalar(value, map, frame);
  if (!scalar) {
    emitError(loc, "a gathered index changes along the lanes of a tile, which no kernel form supports");
    return {};
  }
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(), scalar);
}

/// The rows to move, for a tile that has rows.
static Value rowsOf(const Frame &frame) { return frame.lanes.size() == 2 ? frame.rows : Value(); }

namespace {
/// A buffer access being resolved: leading index values found on the way, then the frame's.
struct Access {
  Value base;
  SmallVector<Value> lead;
  AffineMap map;
};

/// Puts a new leading index before all others; the first result of `map` becomes it.
AffineMap withLead(AffineMap map, ArrayRef<AffineExpr> rest) {
  SmallVector<AffineExpr> exprs = {getAffineDimExpr(0, map.getContext())};
  for (AffineExpr e : rest)
    exprs.push_back(e.shiftDims(map.getNumDims(), 1));
  return AffineMap::get(map.getNumDims() + 1, 0, exprs, map.getContext());
}
} // namespace

Value TileEvaluator::load(Value value, AffineMap map, Frame &frame, Location loc) {
  Access access{value, {}, map};
  while (Operation *def = access.base.getDefiningOp()) {
    if (auto view = dyn_cast<ViewOp>(def)) {
      access.map = view.getMap().compose(access.map);
      access.base = view.getSource();
    } else if (auto gather = dyn_cast<GatherOp>(def); gather && (isIndexOnly(gather) || computes(gather))) {
      assert(access.lead.empty() && "the importer gathers once");
      AffineMap first = AffineMap::get(access.map.getNumDims(), 0, access.map.getResult(0));
      Value row = scalarIndex(gather.getIndices(), first, frame, loc);
      if (!row)
        return {};
      access.lead.push_back(row);
      access.map = withLead(access.map, access.map.getResults().drop_front());
      access.base = gather.getTable();
    } else {
      break;
    }
  }
  if (Operation *def = access.base.getDefiningOp(); def && isa<ContractOp, ReduceOp>(def) && computes(def)) {
    emitError(loc, "reads a result of its own kernel at other coordinates than it is computed");
    return {};
  }
  SmallVector<Value> indices(access.lead);
  llvm::append_range(indices, frame.indices);
  Value buffer = arguments.get(access.base, loc);
  auto type = cast<tile::BufferType>(buffer.getType());
  Value pages = type.isPaged() ? arguments.pages(loc) : Value();
  return tile::LoadOp::create(builder, loc, tileType(type.getElementType(), frame), buffer, indices,
                              AffineMapAttr::get(simplifyAffineMap(access.map)), pages, rowsOf(frame));
}

void TileEvaluator::store(Value tileValue, Value graphValue, AffineMap map, Frame &frame, Location loc) {
  Value stored = storedForm(graphValue);
  AffineMap full = simplifyAffineMap(storedMap(graphValue).compose(map));
  tile::StoreOp::create(builder, loc, tileValue, arguments.get(stored, loc), frame.indices, AffineMapAttr::get(full),
                        Value(), rowsOf(frame));
}

} // namespace fusec
