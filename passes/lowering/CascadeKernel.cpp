//===- CascadeKernel.cpp - frame, bounds, forms, epilogue ----------------------------===//
#include "passes/lowering/CascadeKernel.h"

using namespace mlir;
using namespace fusec::fuse;

namespace fusec {

static GraphTensorType typeOf(Value value) { return cast<GraphTensorType>(value.getType()); }

std::optional<WrittenKernel> CascadeKernel::write(ArrayRef<Value> like) {
  begin(like);
  bool ok = form == CascadeForm::Merge ? writeMerge() : writeLoops();
  if (!ok) {
    kernel.erase();
    return std::nullopt;
  }
  WrittenKernel written;
  written.kernel = kernel;
  written.graphValues = SmallVector<Value>(arguments->graphValues());
  return written;
}

//===----------------------------------------------------------------------===//
// Frame
//===----------------------------------------------------------------------===//

void CascadeKernel::begin(ArrayRef<Value> like) {
  builder.setInsertionPointToEnd(module.getBody());
  kernel = createKernel(builder, loc, "k" + std::to_string(group.number) + "_" + std::to_string(int(form)), gridAxes(),
                        schedule());
  arguments.emplace(kernel.getBody().front());
  arguments->reserve(like, loc);
  evaluator.emplace(builder, *arguments, [this](Operation *op) { return group.computes(op); });
  evaluator->onProduct([this](ContractOp op, AffineMap map, Frame &frame) { return nestedProduct(op, map, frame); });
  zero = constantIndex(0);
  findOrigins();
  outer.indices.assign(origins.begin(), origins.end() - 1);
  rowStart.indices = origins;
}

SmallVector<std::pair<Dim, int64_t>> CascadeKernel::gridAxes() {
  SmallVector<std::pair<Dim, int64_t>> grid;
  for (const Dim &dim : shape.cascade.rows)
    grid.push_back({dim, 1});
  if (rank > 1 || !isTile())
    grid.back().second = shape.rows;
  if (isTile())
    grid.front() = {Dim::dynamic(DimKind::Symbolic, builder.getContext(), "W"), 1};
  if (form == CascadeForm::Split)
    grid.push_back({shape.cascade.folded, shape.split});
  return grid;
}

DictionaryAttr CascadeKernel::schedule() {
  static constexpr StringRef names[] = {"cascade", "cascade-split", "cascade-merge", "cascade-tile"};
  constexpr int64_t rowsPerWarp = 16, warp = 32;
  SmallVector<NamedAttribute> choices;
  auto add = [&](StringRef name, int64_t value) {
    choices.push_back(builder.getNamedAttr(name, builder.getI64IntegerAttr(value)));
  };
  choices.push_back(builder.getNamedAttr("form", builder.getStringAttr(names[static_cast<int>(form)])));
  add("rows", shape.rows);
  add("block", shape.block);
  add("split", shape.split);
  if (isTile())
    add("tokens", shape.tokens);
  if (shape.onTensorCores && form != CascadeForm::Merge)
    add("threads", (tileRows() + rowsPerWarp - 1) / rowsPerWarp * warp);
  return builder.getDictionaryAttr(choices);
}

void CascadeKernel::findOrigins() {
  for (size_t axis = 0; axis < rank; ++axis)
    origins.push_back(tile::OriginOp::create(builder, loc, builder.getIndexType(), axis));
  if (!isTile())
    return;
  Value list = arguments->get(target.queryTiles(), loc);
  auto plain = AffineMapAttr::get(builder.getMultiDimIdentityMap(2));
  auto entry = [&](int64_t column) -> Value {
    Value loaded = tile::LoadOp::create(builder, loc, builder.getI32Type(), list,
                                        ValueRange{origins.front(), constantIndex(column)}, plain, Value());
    return arith::IndexCastOp::create(builder, loc, builder.getIndexType(), loaded);
  };
  Value first = entry(0), tokens = entry(1);
  rowLimit = arith::MulIOp::create(builder, loc, tokens, constantIndex(rank > 1 ? shape.rows : 1));
  origins.front() = first;
}

AffineMap CascadeKernel::elementMap() {
  if (!isTile())
    return builder.getMultiDimIdentityMap(rank + 1);
  SmallVector<AffineExpr> exprs;
  for (unsigned d = 0; d < rank; ++d)
    exprs.push_back(builder.getAffineDimExpr(d));
  AffineExpr row = builder.getAffineDimExpr(rank);
  int64_t heads = rank > 1 ? shape.rows : 1;
  exprs.front() = exprs.front() + row.floorDiv(heads);
  if (rank > 1)
    exprs.back() = exprs.back() + row % heads;
  exprs.push_back(builder.getAffineDimExpr(rank + 1));
  return AffineMap::get(rank + 2, 0, exprs, builder.getContext());
}

Value CascadeKernel::ceilDiv(Value value, int64_t by) {
  Value up = arith::AddIOp::create(builder, loc, value, constantIndex(by - 1));
  return arith::DivUIOp::create(builder, loc, up, constantIndex(by));
}

Frame CascadeKernel::tileFrame(Value last, int64_t lanes) {
  Frame frame;
  frame.indices = origins;
  if (isTile())
    frame.indices.push_back(zero);
  frame.indices.push_back(last);
  frame.lanes = {tileRows(), lanes};
  frame.scalar = isTile() ? &rowStart : &outer;
  frame.rows = rowLimit;
  frame.hoistBefore = hoistBefore;
  return frame;
}

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

void CascadeKernel::findBounds() {
  lower = zero;
  upper = extentOf(builder, loc, shape.cascade.folded);
  for (const IndexBound &bound : shape.bounds.upper)
    if (Value value = boundOverRows(bound, false))
      upper = arith::MinSIOp::create(builder, loc, upper, value);
  for (const IndexBound &bound : shape.bounds.lower)
    if (Value value = boundOverRows(bound, true)) {
      lower = arith::MaxSIOp::create(builder, loc, lower, value);
      hasLower = true;
    }
  upper = arith::MaxSIOp::create(builder, loc, upper, zero);
}

Value CascadeKernel::boundOverTile(const IndexBound &bound, bool least) {
  int64_t lanes = 1;
  while (lanes < tileRows())
    lanes *= 2;
  Frame frame;
  frame.indices = origins;
  frame.indices.push_back(zero);
  frame.lanes = {lanes};
  frame.scalar = &rowStart;
  auto type = VectorType::get(lanes, builder.getI32Type());
  SmallVector<AffineExpr> rows(rowMap().getResults());
  AffineMap toRows = AffineMap::get(rank + 1, 0, rows, builder.getContext());
  auto splatOf = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, builder.getI32IntegerAttr(value)));
  };
  Value sum = splatOf(bound.constant);
  for (const IndexBound::Part &part : bound.parts) {
    Value scalar = evaluator->evaluateScalarOf(part.scalar, withoutLast(part.frame).compose(toRows), frame);
    if (!scalar)
      return {};
    sum = part.sign > 0 ? arith::AddIOp::create(builder, loc, sum, scalar).getResult()
                        : arith::SubIOp::create(builder, loc, sum, scalar).getResult();
  }
  // Rows that do not exist bound nothing.
  Value number = tile::IndexOp::create(builder, loc, type, zero, 0);
  Value limit = arith::IndexCastOp::create(builder, loc, builder.getI32Type(), rowLimit);
  limit = vector::BroadcastOp::create(builder, loc, type, limit);
  Value exists = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, number, limit);
  Value neutral = splatOf(least ? std::numeric_limits<int32_t>::max() : std::numeric_limits<int32_t>::min());
  sum = arith::SelectOp::create(builder, loc, exists, sum, neutral);
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(), foldBounds(sum, least));
}

Value CascadeKernel::foldBounds(Value bounds, bool least) {
  auto fold = tile::ReduceOp::create(builder, loc, TypeRange{builder.getI32Type()}, ValueRange{bounds});
  Block &body = fold.getCombine().emplaceBlock();
  body.addArguments({builder.getI32Type(), builder.getI32Type()}, {loc, loc});
  OpBuilder inside = OpBuilder::atBlockEnd(&body);
  Value a = body.getArgument(0), b = body.getArgument(1);
  Value one = least ? arith::MinSIOp::create(inside, loc, a, b).getResult()
                    : arith::MaxSIOp::create(inside, loc, a, b).getResult();
  tile::YieldOp::create(inside, loc, one);
  return fold.getResult(0);
}

Value CascadeKernel::boundOverRows(const IndexBound &bound, bool least) {
  if (isTile())
    return boundOverTile(bound, least);
  Value loosest;
  for (int64_t row = 0; row < shape.rows; ++row) {
    Value value = boundAtRow(bound, row);
    if (!value)
      return {};
    if (!loosest)
      loosest = value;
    else if (least)
      loosest = arith::MinSIOp::create(builder, loc, loosest, value);
    else
      loosest = arith::MaxSIOp::create(builder, loc, loosest, value);
    if (!dependsOnRow(bound))
      break;
  }
  return loosest;
}

bool CascadeKernel::dependsOnRow(const IndexBound &bound) {
  return llvm::any_of(bound.parts, [&](const IndexBound::Part &part) { return dependsOnRow(part.scalar, part.frame); });
}

bool CascadeKernel::dependsOnRow(Value scalar, AffineMap map) {
  if (auto argument = dyn_cast<BlockArgument>(scalar)) {
    auto op = cast<MapOp>(argument.getOwner()->getParentOp());
    return op.getMap(argument.getArgNumber()).compose(map).isFunctionOfDim(rank - 1);
  }
  if (auto index = scalar.getDefiningOp<IndexOp>())
    return map.getResult(index.getDim()).isFunctionOfDim(rank - 1);
  return llvm::any_of(scalar.getDefiningOp()->getOperands(), [&](Value v) { return dependsOnRow(v, map); });
}

Value CascadeKernel::boundAtRow(const IndexBound &bound, int64_t row) {
  Frame frame;
  frame.indices = origins;
  if (row != 0)
    frame.indices.back() = arith::AddIOp::create(builder, loc, origins.back(), constantIndex(row));
  Value sum = constantIndex(bound.constant);
  for (const IndexBound::Part &part : bound.parts) {
    Value scalar = evaluator->evaluateScalarOf(part.scalar, withoutLast(part.frame), frame);
    if (!scalar)
      return {};
    Value index = arith::IndexCastOp::create(builder, loc, builder.getIndexType(), scalar);
    sum = part.sign > 0 ? arith::AddIOp::create(builder, loc, sum, index).getResult()
                        : arith::SubIOp::create(builder, loc, sum, index).getResult();
  }
  return sum;
}

AffineMap CascadeKernel::withoutLast(AffineMap map) {
  SmallVector<AffineExpr> zeroed;
  AffineExpr last = builder.getAffineDimExpr(rank);
  for (AffineExpr expr : map.getResults())
    zeroed.push_back(expr.replace(last, builder.getAffineConstantExpr(0)));
  return AffineMap::get(rank, 0, zeroed, builder.getContext());
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

bool CascadeKernel::writeLoops() {
  findBounds();
  if (shape.onTensorCores) {
    loadRows();
  } else {
    stageRows();
    for (const CascadeMember &member : shape.cascade.members)
      if (isa<ContractOp>(member.reduction.op))
        elementScratch[member.reduction.op] = scratch({shape.rows, shape.block});
  }
  Value blockSize = constantIndex(shape.block);
  firstBlock = arith::MulIOp::create(builder, loc, arith::DivUIOp::create(builder, loc, lower, blockSize), blockSize);
  if (form == CascadeForm::Split)
    return writeSplit();
  SmallVector<Carrier> carriers = shape.split ? writeSplitLoop() : writeBlockLoop(firstBlock, upper);
  return !carriers.empty() && writeEpilogue(carriers);
}

bool CascadeKernel::writeSplit() {
  Value start = tile::OriginOp::create(builder, loc, builder.getIndexType(), rank);
  Value end = arith::AddIOp::create(builder, loc, start, constantIndex(shape.split));
  split = arith::DivUIOp::create(builder, loc, start, constantIndex(shape.split));
  start = arith::MaxSIOp::create(builder, loc, start, firstBlock);
  end = arith::MinSIOp::create(builder, loc, end, upper);
  SmallVector<Carrier> carriers = writeBlockLoop(start, end);
  if (carriers.empty())
    return false;
  forEachPart(carriers, [&](Value &part, int64_t at) { moveThroughWorkspace(part, at, true); });
  return true;
}

SmallVector<Carrier> CascadeKernel::writeSplitLoop() {
  Value size = constantIndex(shape.split);
  Value first = arith::MulIOp::create(builder, loc, arith::DivUIOp::create(builder, loc, lower, size), size);
  return carryLoop(first, upper, size, foldedCarriers(), [&](Value start, SmallVector<Carrier> total) {
    Value end = arith::AddIOp::create(builder, loc, start, size);
    end = arith::MinSIOp::create(builder, loc, end, upper);
    start = arith::MaxSIOp::create(builder, loc, start, firstBlock);
    SmallVector<Carrier> part = writeBlockLoop(start, end);
    return part.empty() ? part : merge(total, part);
  });
}

bool CascadeKernel::writeMerge() {
  findBounds();
  Value size = constantIndex(shape.split);
  Value first = arith::DivUIOp::create(builder, loc, lower, size);
  Value last = ceilDiv(upper, shape.split);
  SmallVector<Carrier> carriers =
      carryLoop(first, last, constantIndex(1), foldedCarriers(), [&](Value at, SmallVector<Carrier> total) {
        split = at;
        SmallVector<Carrier> part = foldedCarriers();
        forEachPart(part, [&](Value &value, int64_t offset) { moveThroughWorkspace(value, offset, false); });
        return merge(total, part);
      });
  return !carriers.empty() && writeEpilogue(carriers);
}

SmallVector<Carrier> CascadeKernel::carryLoop(Value from, Value to, Value step, const SmallVector<Carrier> &init,
                                              function_ref<SmallVector<Carrier>(Value, SmallVector<Carrier>)> body) {
  auto loop = scf::ForOp::create(builder, loc, from, to, step, flatten(init));
  Operation *outside = hoistBefore;
  if (!hoistBefore)
    hoistBefore = loop;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  SmallVector<Carrier> next = body(loop.getInductionVar(), unflatten(loop.getRegionIterArgs(), init));
  hoistBefore = outside;
  if (next.empty())
    return {};
  scf::YieldOp::create(builder, loc, flatten(next));
  return unflatten(loop.getResults(), init);
}

SmallVector<Value> CascadeKernel::flatten(const SmallVector<Carrier> &carriers) {
  SmallVector<Value> values;
  for (const Carrier &carrier : carriers)
    llvm::append_range(values, carrier.tiles);
  return values;
}

SmallVector<Carrier> CascadeKernel::unflatten(ValueRange values, const SmallVector<Carrier> &like) {
  SmallVector<Carrier> carriers;
  for (const Carrier &carrier : like) {
    carriers.push_back({SmallVector<Value>(values.take_front(carrier.tiles.size()))});
    values = values.drop_front(carrier.tiles.size());
  }
  return carriers;
}

//===----------------------------------------------------------------------===//
// Epilogue
//===----------------------------------------------------------------------===//

bool CascadeKernel::writeEpilogue(const SmallVector<Carrier> &carriers) {
  for (Value value : group.stored) {
    bool rowValue = typeOf(value).getRank() == static_cast<int64_t>(rank);
    if (!(rowValue ? storeRowValue(value, carriers) : storeProduct(value, carriers)))
      return false;
  }
  return true;
}

bool CascadeKernel::storeRowValue(Value value, const SmallVector<Carrier> &carriers) {
  Frame frame = tileFrame(zero, 1);
  know(frame, carriers);
  Value rows = evaluator->evaluate(value, rowMap(), frame);
  if (rows)
    evaluator->store(rows, value, rowMap(), frame, value.getLoc());
  return rows != nullptr;
}

bool CascadeKernel::storeProduct(Value value, const SmallVector<Carrier> &carriers) {
  std::optional<unsigned> like = shape.productLike(value);
  if (!like) {
    emitError(value.getLoc(), "a result of a derived loop has another shape than its products");
    return false;
  }
  int64_t lane = 0;
  for (auto [part, lanes] : llvm::enumerate(shape.lanesOf(*like))) {
    Frame frame = tileFrame(constantIndex(lane), lanes);
    know(frame, carriers);
    for (unsigned i = 0; i < carriers.size(); ++i)
      if (isProduct(i) && shape.lanesOf(i) == shape.lanesOf(*like))
        frame.known[{shape.cascade.members[i].reduction.op->getResult(0), elementMap()}] = carriers[i].tiles[part];
    Value tileValue = evaluator->evaluate(value, elementMap(), frame);
    if (!tileValue)
      return false;
    evaluator->store(tileValue, value, elementMap(), frame, value.getLoc());
    lane += lanes;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// Rows, splits, and the carriers of each side by side.
static Value makeWorkspace(Operation *before, const CascadeShape &shape) {
  OpBuilder b(before);
  SmallVector<Dim> dims = {Dim::fixed(shape.splitRows)};
  llvm::append_range(dims, ArrayRef(shape.cascade.rows).drop_front());
  dims.append({shape.splits(b.getContext()), Dim::fixed(shape.carrierWidth())});
  return WorkspaceOp::create(b, before->getLoc(), GraphTensorType::get(b.getContext(), dims, b.getF32Type()));
}

SmallVector<LaunchKernels> writeCascadeKernels(ModuleOp module, const KernelGroup &group, const TileTarget &target) {
  FailureOr<CascadeShape> shape = chooseCascadeShape(group.ops, target);
  if (failed(shape))
    return {};
  auto write = [&](CascadeForm form, Value workspace, ArrayRef<Value> like) {
    return CascadeKernel(module, group, *shape, target, workspace, form).write(like);
  };
  const CascadeForm many = shape->tokens ? CascadeForm::Tile : CascadeForm::Whole;
  std::optional<WrittenKernel> whole = write(many, {}, {});
  if (!whole || shape->split == 0 || shape->splitRows == 0)
    return whole ? SmallVector<LaunchKernels>{{*whole}} : SmallVector<LaunchKernels>();
  // Variants of one launch take the same buffers: the whole form is written again with those of both.
  Value workspace = makeWorkspace(group.ops.front(), *shape);
  std::optional<WrittenKernel> split = write(CascadeForm::Split, workspace, whole->graphValues);
  std::optional<WrittenKernel> merge = write(CascadeForm::Merge, workspace, {});
  whole->kernel.erase();
  if (!split || !merge || !(whole = write(many, workspace, split->graphValues)))
    return {};
  split->symbol = merge->symbol = shape->cascade.rows.front().symbol.getValue().str();
  split->limit = merge->limit = shape->splitRows;
  return {{*split, *whole}, {*merge}};
}

} // namespace fusec
