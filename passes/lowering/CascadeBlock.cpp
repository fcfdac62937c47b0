//===- CascadeBlock.cpp - one block of a derived loop -------------------------------===//
#include "passes/lowering/CascadeKernel.h"

#include <limits>

using namespace mlir;
using namespace fusec::fuse;

namespace fusec {

//===----------------------------------------------------------------------===//
// One block
//===----------------------------------------------------------------------===//

SmallVector<Carrier> CascadeKernel::writeBlockLoop(Value from, Value to) {
  // On tensor cores a row's elements are folded in every block: their lane partials would take its registers.
  const bool lanePartials = !shape.onTensorCores;
  SmallVector<Carrier> carriers = carryLoop(from, to, constantIndex(shape.block), emptyCarriers(lanePartials),
                                            [&](Value j, SmallVector<Carrier> old) { return writeBlock(j, to, old); });
  if (!lanePartials)
    return carriers;
  for (unsigned i = 0; i < carriers.size(); ++i)
    if (!isProduct(i) && !shape.isRoot(i))
      carriers[i].tiles = foldLanes(builder, loc, reduceOf(i), carriers[i].tiles);
  return carriers;
}

Value CascadeKernel::blockAfter(Value j) {
  Value after = arith::AddIOp::create(builder, loc, j, constantIndex(shape.block));
  Value isInside = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, after, upper);
  return arith::SelectOp::create(builder, loc, isInside, after, j);
}

void CascadeKernel::prefetch(Value loaded, Value here, Value there) {
  auto load = loaded.getDefiningOp<tile::LoadOp>();
  if (!load || !cast<tile::BufferType>(load.getBuffer().getType()).isPaged())
    return; // rows are walked in order, which the machine foresees
  SmallVector<Value> indices(load.getIndices());
  llvm::replace(indices, here, there);
  auto shape = builder.getDenseI64ArrayAttr(cast<VectorType>(load.getType()).getShape());
  tile::PrefetchOp::create(builder, loc, load.getBuffer(), indices, load.getMapAttr(), load.getPages(), shape);
}

SmallVector<Carrier> CascadeKernel::writeBlock(Value j, Value end, const SmallVector<Carrier> &old) {
  next = blockAfter(j);
  Frame frame = tileFrame(j, shape.block);
  SmallVector<Carrier> now = old;
  for (unsigned i = 0; i < old.size(); ++i)
    if (shape.isRoot(i)) {
      SmallVector<Value> elements = elementsOf(i, frame);
      if (elements.empty())
        return {};
      now[i].tiles = combined(i, old[i].tiles, foldLanes(builder, loc, reduceOf(i), elements));
    }
  know(frame, rootsOf(now));
  for (unsigned i = 0; i < old.size(); ++i) {
    if (shape.isRoot(i))
      continue;
    SmallVector<Value> kept = old[i].tiles;
    if (Value dependency = shape.cascade.members[i].dependency) {
      Value before = dependencyAt(i, old), after = dependencyAt(i, now);
      guardEmpty(dependency, after, i, frame);
      for (Value &tile : kept)
        tile = repaired(i, before, after, tile);
    }
    now[i].tiles = isProduct(i) ? addProduct(i, j, end, kept, frame) : addElements(i, kept, frame);
    if (now[i].tiles.empty())
      return {};
  }
  return now;
}

void CascadeKernel::guardEmpty(Value dependency, Value now, unsigned i, Frame &frame) {
  if (!shape.scales(i))
    return;
  auto infinity = cast<TypedAttr>(
      builder.getFloatAttr(cast<VectorType>(now.getType()).getElementType(), -std::numeric_limits<double>::infinity()));
  Value empty = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, now, splat(infinity, 1));
  Value guarded = arith::SelectOp::create(builder, loc, empty, splat(builder.getF32FloatAttr(0), 1), now);
  frame.known[{dependency, rowMap()}] = spread(guarded, shape.block);
}

SmallVector<Value> CascadeKernel::elementsOf(unsigned i, Frame &frame) {
  SmallVector<Value> elements;
  ReduceOp op = reduceOf(i);
  for (auto [input, init] : llvm::zip(op.getInputs(), op.getInit())) {
    Value element = evaluator->evaluate(input, elementMap(), frame);
    if (!element)
      return {};
    Value identity = splat(cast<TypedAttr>(init), shape.block);
    elements.push_back(maskTail(builder, loc, element, identity, shape.cascade.folded, frame));
  }
  return elements;
}

SmallVector<Value> CascadeKernel::addElements(unsigned i, ArrayRef<Value> kept, Frame &frame) {
  SmallVector<Value> elements = elementsOf(i, frame);
  if (!elements.empty() && shape.onTensorCores)
    elements = foldLanes(builder, loc, reduceOf(i), elements);
  return elements.empty() ? elements : combined(i, kept, elements);
}

SmallVector<Value> CascadeKernel::addProduct(unsigned i, Value j, Value end, SmallVector<Value> kept, Frame &frame) {
  const Reduction &r = shape.cascade.members[i].reduction;
  Value elements = evaluator->evaluate(r.element, elementMap(), frame);
  if (!elements)
    return {};
  Value blockEnd = arith::SubIOp::create(builder, loc, end, j);
  Value to = arith::MinSIOp::create(builder, loc, blockEnd, constantIndex(shape.block));
  if (shape.onTensorCores) {
    // What lies behind the last position may be anything: as zero it adds nothing to a product of zero.
    Value other = otherOperand(i, j, shape.block, 0, shape.lanesOf(i).front(), to);
    if (!other)
      return {};
    return {product(cast<ContractOp>(r.op), elements, other, kept.front())};
  }
  Value buffer = elementScratch[r.op];
  auto plain = AffineMapAttr::get(builder.getMultiDimIdentityMap(2));
  tile::StoreOp::create(builder, loc, elements, buffer, ValueRange{zero, zero}, plain, Value());
  Value from = zero;
  if (hasLower)
    from = arith::MaxSIOp::create(builder, loc, arith::SubIOp::create(builder, loc, lower, j), zero);
  // Steps of one up to a multiple of the step, whole steps, steps of one to the end.
  Value step = constantIndex(shape.step);
  Value wholeEnd = arith::MulIOp::create(builder, loc, arith::DivUIOp::create(builder, loc, to, step), step);
  Value wholeStart = from;
  if (hasLower) {
    wholeStart = arith::MulIOp::create(builder, loc, ceilDiv(from, shape.step), step);
    Value headEnd = arith::MinSIOp::create(builder, loc, wholeStart, to);
    kept = productLoop(i, j, from, headEnd, 1, kept);
    wholeEnd = arith::MaxSIOp::create(builder, loc, wholeEnd, wholeStart);
  }
  if (!kept.empty())
    kept = productLoop(i, j, wholeStart, wholeEnd, shape.step, kept);
  if (!kept.empty())
    kept = productLoop(i, j, wholeEnd, to, 1, kept);
  return kept;
}

SmallVector<Value> CascadeKernel::productLoop(unsigned i, Value j, Value from, Value to, int64_t step,
                                              ArrayRef<Value> init) {
  auto loop = scf::ForOp::create(builder, loc, from, to, constantIndex(step), init);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Operation *op = shape.cascade.members[i].reduction.op;
  auto plain = AffineMapAttr::get(builder.getMultiDimIdentityMap(2));
  Value row = tile::LoadOp::create(builder, loc, VectorType::get({shape.rows, step}, builder.getF32Type()),
                                   elementScratch[op], ValueRange{zero, loop.getInductionVar()}, plain, Value());
  Value position = arith::AddIOp::create(builder, loc, j, loop.getInductionVar());
  Value ahead = arith::AddIOp::create(builder, loc, next, loop.getInductionVar());
  SmallVector<Value> sums;
  int64_t lane = 0;
  for (auto [acc, lanes] : llvm::zip(loop.getRegionIterArgs(), shape.lanesOf(i))) {
    Value other = otherOperand(i, position, step, lane, lanes);
    if (!other)
      return {};
    prefetch(other, position, ahead);
    sums.push_back(tile::DotOp::create(builder, loc, acc.getType(), row, other, acc));
    lane += lanes;
  }
  scf::YieldOp::create(builder, loc, sums);
  return SmallVector<Value>(loop.getResults());
}

Value CascadeKernel::otherOperand(unsigned i, Value position, int64_t step, int64_t lane, int64_t lanes, Value rows) {
  const Reduction &r = shape.cascade.members[i].reduction;
  auto op = cast<ContractOp>(r.op);
  AffineMap result = op.getMap(2);
  SmallVector<AffineExpr> iteration(op.getNumIterationDims(), builder.getAffineConstantExpr(0));
  for (auto [d, expr] : llvm::enumerate(result.getResults())) // rows, then the lanes
    iteration[cast<AffineDimExpr>(expr).getPosition()] = builder.getAffineDimExpr(d < rank ? d : rank + 1);
  iteration[op.getSummedDims().front()] = builder.getAffineDimExpr(rank);
  AffineMap toIteration = AffineMap::get(rank + 2, 0, iteration, builder.getContext());
  return inRowFrame(r.operand == 0 ? op.getRhs() : op.getLhs(), op.getMap(1 - r.operand).compose(toIteration), position,
                    constantIndex(lane), {step, lanes}, rows);
}

//===----------------------------------------------------------------------===//
// Nested products
//===----------------------------------------------------------------------===//

Value CascadeKernel::inRowFrame(Value value, AffineMap map, Value first, Value second, ArrayRef<int64_t> lanes,
                                Value rows) {
  Frame frame;
  frame.rows = rows;
  frame.indices = origins;
  frame.indices.append({first, second});
  frame.lanes = SmallVector<int64_t>(lanes);
  frame.scalar = &rowStart;
  frame.hoistBefore = hoistBefore;
  return evaluator->evaluate(value, map, frame);
}

CascadeKernel::ProductMaps CascadeKernel::mapsOf(ContractOp op) {
  AffineMap result = op.getMap(2);
  unsigned folded = cast<AffineDimExpr>(result.getResults().back()).getPosition();
  unsigned laneSide = op.getMap(1).isFunctionOfDim(folded) ? 1 : 0;
  SmallVector<AffineExpr> iteration(op.getNumIterationDims(), builder.getAffineConstantExpr(0));
  for (auto [d, expr] : llvm::enumerate(result.getResults()))
    iteration[cast<AffineDimExpr>(expr).getPosition()] = builder.getAffineDimExpr(d < rank ? d : rank + 1);
  iteration[op.getSummedDims().front()] = builder.getAffineDimExpr(rank);
  AffineMap all = AffineMap::get(rank + 2, 0, iteration, builder.getContext());
  AffineMap row = simplifyAffineMap(op.getMap(1 - laneSide).compose(all));
  return {laneSide == 1 ? op.getLhs() : op.getRhs(), laneSide == 1 ? op.getRhs() : op.getLhs(),
          AffineMap::get(rank + 1, 0, row.getResults(), builder.getContext()),
          simplifyAffineMap(op.getMap(laneSide).compose(all))};
}

void CascadeKernel::stageRows() {
  for (Operation *op : shape.cascade.prologue) {
    auto contract = dyn_cast<ContractOp>(op);
    if (!contract)
      continue;
    ProductMaps maps = mapsOf(contract);
    if (!isComputedHere(maps.rowOperand))
      continue;
    const Dim summed = contract.getIterationExtents()[contract.getSummedDims().front()];
    Value buffer = scratch({shape.rows, summed.size});
    int64_t step = shape.stepOver(summed);
    auto loop = scf::ForOp::create(builder, loc, zero, extentOf(builder, loc, summed), constantIndex(step));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    hoistBefore = loop;
    Frame frame = tileFrame(loop.getInductionVar(), step);
    Value rows = evaluator->evaluate(maps.rowOperand, maps.row, frame);
    hoistBefore = nullptr;
    if (!rows)
      return;
    tile::StoreOp::create(builder, loc, rows, buffer, ValueRange{zero, loop.getInductionVar()},
                          AffineMapAttr::get(builder.getMultiDimIdentityMap(2)), Value());
    stagedRows[op] = buffer;
  }
}

void CascadeKernel::loadRows() {
  for (Operation *op : shape.cascade.prologue)
    if (auto contract = dyn_cast<ContractOp>(op)) {
      ProductMaps maps = mapsOf(contract);
      Frame frame = tileFrame(zero, contract.getIterationExtents()[contract.getSummedDims().front()].size);
      loadedRows[op] = evaluator->evaluate(maps.rowOperand, maps.row.compose(elementMap()), frame);
    }
}

Value CascadeKernel::product(ContractOp op, Value rows, Value other, Value sum) {
  return tile::DotOp::create(builder, loc, sum.getType(), rows, other, sum,
                             TypeAttr::get(op.getNumerics().getOperands()));
}

bool CascadeKernel::isComputedHere(Value value) {
  while (auto view = value.getDefiningOp<ViewOp>())
    value = view.getSource();
  auto map = value.getDefiningOp<MapOp>();
  return map && group.computes(map);
}

Value CascadeKernel::nestedProduct(ContractOp op, AffineMap map, Frame &frame) {
  if (map != elementMap()) {
    emitError(loc, "a product is read at other elements than the loop is at");
    return {};
  }
  ProductMaps maps = mapsOf(op);
  const Dim summed = op.getIterationExtents()[op.getSummedDims().front()];
  int64_t step = shape.stepOver(summed), lanes = frame.lanes.back();
  auto type = VectorType::get({tileRows(), lanes}, builder.getF32Type());
  if (shape.onTensorCores) {
    Value other = inRowFrame(maps.laneOperand, maps.lane, zero, frame.indices.back(), {summed.size, lanes});
    Value rows = loadedRows.lookup(op);
    return rows && other ? product(op, rows, other, splat(builder.getF32FloatAttr(0), lanes)) : Value();
  }
  Value init = splat(builder.getF32FloatAttr(0), lanes);
  auto loop = scf::ForOp::create(builder, loc, zero, extentOf(builder, loc, summed), constantIndex(step), init);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value k = loop.getInductionVar();
  Value rows = rowTile(op, maps, k, step);
  Value other = inRowFrame(maps.laneOperand, maps.lane, k, frame.indices.back(), {step, lanes});
  if (!rows || !other)
    return {};
  prefetch(other, frame.indices.back(), next);
  Value sum = tile::DotOp::create(builder, loc, type, rows, other, loop.getRegionIterArgs().front());
  scf::YieldOp::create(builder, loc, sum);
  return loop.getResult(0);
}

Value CascadeKernel::rowTile(ContractOp op, const ProductMaps &maps, Value k, int64_t step) {
  if (Value buffer = stagedRows.lookup(op))
    return tile::LoadOp::create(builder, loc, VectorType::get({shape.rows, step}, builder.getF32Type()), buffer,
                                ValueRange{zero, k}, AffineMapAttr::get(builder.getMultiDimIdentityMap(2)), Value());
  Frame frame = tileFrame(k, step);
  return evaluator->evaluate(maps.rowOperand, maps.row, frame);
}

Value CascadeKernel::scratch(ArrayRef<int64_t> sizes) {
  SmallVector<Dim> dims;
  for (int64_t size : sizes)
    dims.push_back(Dim::fixed(size));
  auto type = tile::BufferType::get(builder.getContext(), dims, builder.getF32Type());
  return tile::ScratchOp::create(builder, loc, type);
}

} // namespace fusec
