//===- RowKernel.cpp - one row per program -------------------------------------===//
//
// 1. Each reduction is one pass over the row: lane accumulators, then a tree.
//    What a pass computes anyway and the kernel must store is stored in it.
// 2. What is left to store takes one more pass.
//
//===----------------------------------------------------------------------===//
#include "passes/lowering/KernelWriter.h"

using namespace mlir;
using namespace fusec::fuse;

namespace fusec {

namespace {

GraphTensorType typeOf(Value value) { return cast<GraphTensorType>(value.getType()); }

class RowKernel {
public:
  RowKernel(ModuleOp module, const KernelGroup &group, const TileTarget &target)
      : group(group), target(target), builder(module.getContext()), loc(group.ops.front()->getLoc()) {
    builder.setInsertionPointToEnd(module.getBody());
    SmallVector<std::pair<Dim, int64_t>> grid;
    rows = rowDims();
    for (const Dim &dim : rows)
      grid.push_back({dim, 1});
    if (grid.empty())
      grid.push_back({Dim::fixed(1), 1});
    auto schedule = builder.getDictionaryAttr({builder.getNamedAttr("form", builder.getStringAttr("rows"))});
    kernel = createKernel(builder, loc, "k" + std::to_string(group.number), grid, schedule);
    arguments.emplace(kernel.getBody().front());
    evaluator.emplace(builder, *arguments, [this](Operation *op) { return this->group.computes(op); });
    for (size_t axis = 0; axis < rows.size(); ++axis)
      scalar.indices.push_back(tile::OriginOp::create(builder, loc, builder.getIndexType(), axis));
  }

  SmallVector<WrittenKernel> write() {
    for (Operation *op : group.ops)
      if (auto reduce = dyn_cast<ReduceOp>(op))
        if (failed(writeReduce(reduce)))
          return discard();
    for (Value value : group.stored)
      if (failed(writeOutput(value)))
        return discard();
    for (Operation *op : group.ops)
      if (auto append = dyn_cast<KVAppendOp>(op))
        if (failed(writeAppend(append)))
          return discard();
    WrittenKernel written;
    written.kernel = kernel;
    written.graphValues = SmallVector<Value>(arguments->graphValues());
    return {written};
  }

private:
  SmallVector<WrittenKernel> discard() {
    kernel.erase();
    return {};
  }

  /// The dimensions that number the programs: all but the last of what the widest member walks over.
  SmallVector<Dim> rowDims() {
    ArrayRef<Dim> widest;
    for (Operation *op : group.ops)
      for (Value value : {walked(op)})
        if (typeOf(value).getDims().size() >= widest.size())
          widest = typeOf(value).getDims();
    return SmallVector<Dim>(widest.drop_back(widest.empty() ? 0 : 1));
  }

  static Value walked(Operation *op) {
    if (auto reduce = dyn_cast<ReduceOp>(op))
      return reduce.getInputs().front();
    if (auto append = dyn_cast<KVAppendOp>(op))
      return append.getValues();
    return op->getResult(0);
  }

  AffineMap identity() { return builder.getMultiDimIdentityMap(rows.size() + 1); }

  /// Lanes for a pass over `dim`. A value that is stored merged with its neighbours has no edge that
  /// masks: lanes beyond its row would land in the next one, so there they divide the extent.
  int64_t lanesOver(const Dim &dim) {
    int64_t lanes = rowLanes(dim, target);
    bool merged = llvm::any_of(group.stored, [&](Value value) {
      return storedForm(value) != value && typeOf(value).getRank() > 0 && typeOf(value).getDims().back() == dim;
    });
    while (merged && dim.isStatic() && dim.size % lanes != 0)
      lanes /= 2;
    return lanes;
  }

  /// A loop over the lane dimension with carried values; `body` gets the frame and the carried values.
  using PassBody = function_ref<FailureOr<SmallVector<Value>>(Frame &, ValueRange)>;
  FailureOr<SmallVector<Value>> overRow(const Dim &dim, ValueRange init, PassBody body) {
    int64_t lanes = lanesOver(dim);
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    Value step = arith::ConstantIndexOp::create(builder, loc, lanes);
    auto loop = scf::ForOp::create(builder, loc, zero, extentOf(builder, loc, dim), step, init);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Frame frame;
    frame.indices = scalar.indices;
    frame.indices.push_back(loop.getInductionVar());
    frame.lanes = {lanes};
    frame.scalar = &scalar;
    frame.hoistBefore = loop;
    FailureOr<SmallVector<Value>> carried = body(frame, loop.getRegionIterArgs());
    if (failed(carried))
      return failure();
    if (!init.empty()) // a loop without carried values already ends in scf.yield
      scf::YieldOp::create(builder, loc, *carried);
    return SmallVector<Value>(loop.getResults());
  }

  LogicalResult writeReduce(ReduceOp op) {
    Dim dim = typeOf(op.getInputs().front()).getDims().back();
    if (op.getDims().size() != 1 || op.getDims().front() != typeOf(op.getInputs().front()).getRank() - 1)
      return op.emitError("only reductions over the last dimension have a kernel form");
    if (failed(checkNumerics(op)))
      return failure();
    int64_t lanes = lanesOver(dim);
    SmallVector<Value> init;
    for (Attribute attr : op.getInit()) {
      auto element = cast<TypedAttr>(attr);
      auto splat = DenseElementsAttr::get(VectorType::get({lanes}, element.getType()), attr);
      init.push_back(arith::ConstantOp::create(builder, loc, splat));
    }
    auto pass = overRow(dim, init, [&](Frame &frame, ValueRange carried) -> FailureOr<SmallVector<Value>> {
      SmallVector<Value> operands(carried);
      for (auto [input, identityTile] : llvm::zip(op.getInputs(), init)) {
        Value element = evaluator->evaluate(input, identity(), frame);
        if (!element)
          return failure();
        operands.push_back(maskTail(builder, loc, element, identityTile, dim, frame));
      }
      storeKnown(frame, dim);
      return evaluator->inlineBody(op.getCombine().front(), operands, AffineMap(), frame);
    });
    if (failed(pass))
      return failure();
    foldRow(op, *pass);
    return success();
  }

  /// What this form keeps: lane partials in the element type, the identity for an empty row.
  static LogicalResult checkNumerics(ReduceOp op) {
    NumericsAttr numerics = op.getNumerics();
    if (numerics.getOrder() == Order::Sequential)
      return op.emitError("a row kernel adds in lanes, which order = sequential forbids");
    if (numerics.getEmpty() != EmptyPolicy::Identity)
      return op.emitError("a row kernel gives the identity for an empty row, not empty = zero");
    for (Value input : op.getInputs())
      if (typeOf(input).getElementType() != numerics.getAccumulate())
        return op.emitError("a row kernel accumulates in ")
               << typeOf(input).getElementType() << ", not in " << numerics.getAccumulate();
    return success();
  }

  /// Folds the lane accumulators; the results become known in the scalar frame.
  void foldRow(ReduceOp op, ArrayRef<Value> partials) {
    SmallVector<Value> folded = foldLanes(builder, loc, op, partials);
    AffineMap rowMap = builder.getMultiDimIdentityMap(rows.size());
    for (auto [result, value] : llvm::zip(op.getResults(), folded))
      scalar.known[{result, rowMap}] = value;
  }

  /// Stores what this pass evaluated and the kernel must store anyway.
  void storeKnown(Frame &frame, const Dim &dim) {
    for (Value value : group.stored) {
      auto it = frame.known.find({value, identity()});
      if (it != frame.known.end() && !done.contains(value) && typeOf(value).getDims().back() == dim) {
        evaluator->store(it->second, value, identity(), frame, value.getLoc());
        done.insert(value);
      }
    }
  }

  LogicalResult writeOutput(Value value) {
    if (done.contains(value))
      return success();
    GraphTensorType type = typeOf(value);
    if (type.getRank() == static_cast<int64_t>(rows.size())) // one element per row
      return storeTile(value, builder.getMultiDimIdentityMap(rows.size()), scalar);
    Dim dim = type.getDims().back();
    auto pass = overRow(dim, {}, [&](Frame &frame, ValueRange) -> FailureOr<SmallVector<Value>> {
      if (failed(storeTile(value, identity(), frame)))
        return failure();
      for (Value other : group.stored) // same shape: the same pass
        if (other != value && !done.contains(other) && other.getType() == type &&
            failed(storeTile(other, identity(), frame)))
          return failure();
      return SmallVector<Value>();
    });
    return success(succeeded(pass));
  }

  LogicalResult storeTile(Value value, AffineMap map, Frame &frame) {
    Value tileValue = evaluator->evaluate(value, map, frame);
    if (!tileValue)
      return failure();
    evaluator->store(tileValue, value, map, frame, value.getLoc());
    done.insert(value);
    return success();
  }

  /// cache[sequences[t], positions[t], rest...] = values[t, rest...]
  LogicalResult writeAppend(KVAppendOp op) {
    AffineMap token = AffineMap::get(rows.size(), 0, builder.getAffineDimExpr(0));
    Value sequence = evaluator->scalarIndex(op.getSequences(), token, scalar, loc);
    Value position = evaluator->scalarIndex(op.getPositions(), token, scalar, loc);
    if (!sequence || !position)
      return failure();
    auto pass = overRow(typeOf(op.getValues()).getDims().back(), {},
                        [&](Frame &frame, ValueRange) -> FailureOr<SmallVector<Value>> {
                          Value element = evaluator->evaluate(op.getValues(), identity(), frame);
                          if (!element)
                            return failure();
                          SmallVector<Value> indices = {sequence, position};
                          llvm::append_range(indices, frame.indices);
                          SmallVector<AffineExpr> exprs = {builder.getAffineDimExpr(0), builder.getAffineDimExpr(1)};
                          for (size_t d = 3; d < indices.size(); ++d) // all but the token
                            exprs.push_back(builder.getAffineDimExpr(d));
                          AffineMap map = AffineMap::get(indices.size(), 0, exprs, builder.getContext());
                          tile::StoreOp::create(builder, op.getLoc(), element, arguments->get(op.getCache(), loc),
                                                indices, AffineMapAttr::get(map), arguments->pages(loc));
                          return SmallVector<Value>();
                        });
    return success(succeeded(pass));
  }

  const KernelGroup &group;
  const TileTarget &target;
  OpBuilder builder;
  Location loc;
  SmallVector<Dim> rows;
  tile::KernelOp kernel;
  std::optional<KernelArguments> arguments;
  std::optional<TileEvaluator> evaluator;
  Frame scalar;
  llvm::DenseSet<Value> done;
};

} // namespace

Value maskTail(OpBuilder &builder, Location loc, Value element, Value identity, const Dim &dim, const Frame &frame) {
  // Pages are whole, so that a paged dimension has no tail.
  if (dim.kind == DimKind::Paged || (dim.isStatic() && dim.size % frame.lanes.back() == 0))
    return element;
  auto type = VectorType::get(frame.lanes, builder.getI32Type());
  Value position = tile::IndexOp::create(builder, loc, type, frame.indices.back(), frame.lanes.size() - 1);
  Value extent = arith::IndexCastOp::create(builder, loc, builder.getI32Type(), extentOf(builder, loc, dim));
  Value limit = vector::BroadcastOp::create(builder, loc, type, extent);
  Value inside = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, position, limit);
  return arith::SelectOp::create(builder, loc, inside, element, identity);
}

SmallVector<Value> foldLanes(OpBuilder &builder, Location loc, ReduceOp op, ArrayRef<Value> partials) {
  SmallVector<Type> types;
  for (Value partial : partials) {
    auto type = cast<VectorType>(partial.getType());
    types.push_back(type.getRank() == 1 ? type.getElementType()
                                        : VectorType::get({type.getDimSize(0), 1}, type.getElementType()));
  }
  auto fold = tile::ReduceOp::create(builder, loc, types, partials);
  IRMapping mapping;
  op.getCombine().cloneInto(&fold.getCombine(), mapping);
  Operation *yield = fold.getCombine().front().getTerminator();
  OpBuilder inside(yield);
  tile::YieldOp::create(inside, loc, yield->getOperands());
  yield->erase();
  return SmallVector<Value>(fold.getResults());
}

Value extentOf(OpBuilder &builder, Location loc, const Dim &dim) {
  if (dim.isStatic())
    return arith::ConstantIndexOp::create(builder, loc, dim.size);
  return tile::ExtentOp::create(builder, loc, builder.getIndexType(), dim.symbol.getValue());
}

tile::KernelOp createKernel(OpBuilder &builder, Location loc, StringRef name, ArrayRef<std::pair<Dim, int64_t>> grid,
                            DictionaryAttr schedule) {
  SmallVector<Attribute> axes;
  for (auto &[dim, size] : grid)
    axes.push_back(tile::AxisAttr::get(builder.getContext(), dim, size));
  auto kernel = tile::KernelOp::create(builder, loc, name, builder.getArrayAttr(axes), schedule);
  Block &block = kernel.getBody().emplaceBlock();
  builder.setInsertionPointToEnd(&block);
  auto end = tile::ReturnOp::create(builder, loc);
  builder.setInsertionPoint(end);
  return kernel;
}

SmallVector<WrittenKernel> writeRowKernel(ModuleOp module, const KernelGroup &group, const TileTarget &target) {
  return RowKernel(module, group, target).write();
}

} // namespace fusec
