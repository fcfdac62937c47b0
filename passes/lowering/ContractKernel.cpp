//===- ContractKernel.cpp - a tile of contractions and what follows -------------===//
//
// The last result dimension runs along the lanes (n), one more may run along
// the rows (m): one that only the left operand has. All others number programs.
//
//   direct:  for k: acc = dot(lhs[m, k], rhs[k, n], acc);  epilogue; store
//   inner:   for m: direct
//   staged:  for k: scratch[k, n] = rhs[k, n] decoded;  for m: direct on scratch
//
// Reductions of the rows that the epilogue needs (a deferred norm) or the row
// operand (a norm in front) are folded for each tile before the product, in
// lanes along k as a row kernel does.
//
// Both add in ascending k with one rounding per step, so they agree bit for bit.
//
// GPU kernels add in slices of k that do not depend on the number of rows:
//
//   sliced:  for slice: total += (for k in slice: direct);  epilogue; store
//
// where, for few rows, each slice is a warp's (`spread`), and packed matrices may
// come through a ring in shared memory (`stream`).
//
//===----------------------------------------------------------------------===//
#include "passes/lowering/KernelWriter.h"

#include "runtime/schema/PanelLayout.h"

#include "llvm/ADT/MapVector.h"

#include <algorithm>

using namespace mlir;
using namespace fusec::fuse;

namespace fusec {

namespace {

GraphTensorType typeOf(Value value) { return cast<GraphTensorType>(value.getType()); }

/// The iteration space of the group's contractions, with its dimensions given their parts.
struct Space {
  SmallVector<Dim> extents;     ///< Per iteration dimension.
  SmallVector<unsigned> others; ///< Dimensions that number programs, ascending.
  std::optional<unsigned> m;    ///< Along rows.
  unsigned n = 0, k = 0;        ///< Along lanes; summed.
  bool swapped = false;         ///< The contraction's lhs is the lane operand.
  AffineMap result;             ///< Iteration space to result dimensions.
};

class ContractKernel {
public:
  ContractKernel(ModuleOp module, const KernelGroup &group, const TileTarget &target)
      : module(module), group(group), target(target), builder(module.getContext()), loc(group.ops.front()->getLoc()) {
    for (Operation *op : group.ops)
      if (auto contract = dyn_cast<ContractOp>(op))
        contracts.push_back(contract);
  }

  SmallVector<WrittenKernel> write() {
    if (failed(analyse()))
      return {};
    SmallVector<WrittenKernel> written;
    for (const ContractTile &shape : tiles())
      if (failed(writeVariant(shape, written)))
        return {};
    return written;
  }

private:
  //===--------------------------------------------------------------------===//
  // Analysis
  //===--------------------------------------------------------------------===//

  LogicalResult analyse() {
    ContractOp op = contracts.front();
    SmallVector<unsigned> summed = op.getSummedDims();
    if (summed.size() != 1)
      return op.emitError("a contraction over ") << summed.size() << " dimensions has no kernel form, expected 1";
    if (!op.getNumerics().getAccumulate().isF32())
      return op.emitError("a contraction accumulates in f32, not in ") << op.getNumerics().getAccumulate();
    space.extents = op.getIterationExtents();
    space.k = summed.front();
    space.result = op.getMap(2);
    if (space.result.getNumResults() == 0)
      return op.emitError("a contraction to a scalar has no kernel form");
    space.n = cast<AffineDimExpr>(space.result.getResults().back()).getPosition();
    space.swapped = !op.getMap(1).isFunctionOfDim(space.n);
    for (unsigned d = 0; d < space.extents.size(); ++d)
      if (d != space.n && d != space.k && !laneMap(op).isFunctionOfDim(d))
        space.m = d; // the last one
    for (unsigned d = 0; d < space.extents.size(); ++d)
      if (d != space.n && d != space.k && d != space.m)
        space.others.push_back(d);
    return success();
  }

  AffineMap laneMap(ContractOp op) { return op.getMap(space.swapped ? 0 : 1); }
  AffineMap rowMap(ContractOp op) { return op.getMap(space.swapped ? 1 : 0); }
  Value laneOperand(ContractOp op) { return space.swapped ? op.getLhs() : op.getRhs(); }
  Value rowOperand(ContractOp op) { return space.swapped ? op.getRhs() : op.getLhs(); }

  SmallVector<ContractTile> tiles() {
    const Dim &lanes = space.extents[space.n], &summed = space.extents[space.k];
    bool isWeight = laneOperand(contracts.front()).getDefiningOp<WeightOp>() && space.others.empty() && space.m;
    bool onTensorCores = contracts.front().getNumerics().getOperands() != nullptr;
    if (isWeight && target.isGpu) {
      SmallVector<ContractTile> tiles = gpuWeightTiles(target, contracts.size(), lanes, summed, onTensorCores);
      for (ContractTile &tile : tiles)
        tile.streamed = target.streamsWeights && onTensorCores && tile.spread && canStream(tile.slice);
      return tiles;
    }
    if (isWeight)
      return weightTiles(target, contracts.size(), lanes, summed);
    int64_t rows = space.m && space.extents[*space.m].isStatic() ? space.extents[*space.m].size : 1;
    return {activationTile(target, rows, lanes, summed)};
  }

  /// True if a slice of the matrices is whole super-blocks of one packed format.
  bool canStream(int64_t slice) {
    StorageType first = *typeOf(laneOperand(contracts.front())).getStorage();
    return panelFormat(first).bits != 0 && slice % panelFormat(first).superElements == 0 &&
           llvm::all_of(contracts, [&](ContractOp op) { return typeOf(laneOperand(op)).getStorage() == first; });
  }

  //===--------------------------------------------------------------------===//
  // Emission
  //===--------------------------------------------------------------------===//

  LogicalResult writeVariant(const ContractTile &shape, SmallVectorImpl<WrittenKernel> &written) {
    builder.setInsertionPointToEnd(module.getBody());
    std::string name = "k" + std::to_string(group.number);
    if (shape.limit != 0 || shape.staged || shape.slice)
      name += "_r" + std::to_string(shape.rows) + (shape.staged ? "s" : "");
    SmallVector<std::pair<Dim, int64_t>> grid;
    for (unsigned d : space.others)
      grid.push_back({space.extents[d], 1});
    if (space.m && !walksRows(shape))
      grid.push_back({space.extents[*space.m], shape.rows});
    grid.push_back({space.extents[space.n], shape.lanes});
    tile::KernelOp kernel = createKernel(builder, loc, name, grid, schedule(shape));
    KernelArguments arguments(kernel.getBody().front());
    if (!written.empty())
      arguments.reserve(written.front().graphValues, loc);
    TileEvaluator evaluator(builder, arguments, [this](Operation *op) { return group.computes(op); });
    this->arguments = &arguments;
    this->evaluator = &evaluator;

    SmallVector<Value> outer;
    for (size_t axis = 0; axis < space.others.size(); ++axis)
      outer.push_back(tile::OriginOp::create(builder, loc, builder.getIndexType(), axis));
    Value n = tile::OriginOp::create(builder, loc, builder.getIndexType(), grid.size() - 1);
    LogicalResult ok = shape.staged ? writeStaged(shape, outer, n) : writeDirect(shape, outer, n, grid.size());
    if (failed(ok))
      return kernel.erase(), failure();
    WrittenKernel out;
    out.kernel = kernel;
    out.graphValues = SmallVector<Value>(arguments.graphValues());
    if (shape.limit != 0) {
      const Dim &rows = space.extents[*space.m];
      if (rows.isStatic()) // a static number of rows needs one variant only
        return kernel.erase(), success();
      out.symbol = rows.symbol.getValue().str();
      out.limit = shape.limit;
    }
    written.push_back(out);
    return success();
  }

  static StringRef formName(const ContractTile &shape) {
    return shape.staged ? "staged" : shape.inner ? "inner" : shape.slice ? "sliced" : "direct";
  }

  DictionaryAttr schedule(const ContractTile &shape) {
    SmallVector<NamedAttribute> choices = {
        builder.getNamedAttr("form", builder.getStringAttr(formName(shape))),
        builder.getNamedAttr("rows", builder.getI64IntegerAttr(shape.rows)),
        builder.getNamedAttr("lanes", builder.getI64IntegerAttr(shape.lanes)),
        builder.getNamedAttr("step", builder.getI64IntegerAttr(shape.step)),
    };
    if (shape.slice)
      choices.push_back(builder.getNamedAttr("slice", builder.getI64IntegerAttr(shape.slice)));
    if (shape.threads)
      choices.push_back(builder.getNamedAttr("threads", builder.getI64IntegerAttr(shape.threads)));
    if (shape.streamed)
      choices.push_back(builder.getNamedAttr("weights", builder.getStringAttr("streamed")));
    return builder.getDictionaryAttr(choices);
  }

  static bool walksRows(const ContractTile &shape) { return shape.staged || shape.inner; }

  LogicalResult writeDirect(const ContractTile &shape, ArrayRef<Value> outer, Value n, size_t axes) {
    auto lane = [&](ContractOp op, Value k) { return loadLaneTile(op, outer, k, n, {shape.step, shape.lanes}); };
    if (walksRows(shape))
      return writeRows(shape, outer, n, lane);
    Value m =
        space.m ? Value(tile::OriginOp::create(builder, loc, builder.getIndexType(), axes - 2)) : constantIndex(0);
    return writeTile(shape, outer, m, n, lane);
  }

  /// The tiles of all rows, one after the other.
  LogicalResult writeRows(const ContractTile &shape, ArrayRef<Value> outer, Value n,
                          function_ref<Value(ContractOp, Value)> lane) {
    auto rows = scf::ForOp::create(builder, loc, constantIndex(0), extentOf(builder, loc, space.extents[*space.m]),
                                   constantIndex(shape.rows));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(rows.getBody());
    return writeTile(shape, outer, rows.getInductionVar(), n, lane);
  }

  LogicalResult writeStaged(const ContractTile &shape, ArrayRef<Value> outer, Value n) {
    const Dim &summed = space.extents[space.k];
    llvm::SmallDenseMap<Operation *, Value> scratch;
    auto type = tile::BufferType::get(builder.getContext(), {summed, Dim::fixed(shape.lanes)}, builder.getF32Type());
    for (ContractOp op : contracts)
      scratch[op] = tile::ScratchOp::create(builder, loc, type);
    AffineMap plain = builder.getMultiDimIdentityMap(2);
    Value zero = constantIndex(0);
    {
      const auto &format = panelFormat(*typeOf(laneOperand(contracts.front())).getStorage());
      int64_t step = format.bits != 0 ? codeChunk / 4 : shape.step;
      auto loop = scf::ForOp::create(builder, loc, zero, extentOf(builder, loc, summed), constantIndex(step));
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(loop.getBody());
      for (ContractOp op : contracts) {
        Value decoded = loadLaneTile(op, outer, loop.getInductionVar(), n, {step, shape.lanes});
        tile::StoreOp::create(builder, loc, decoded, scratch[op], ValueRange{loop.getInductionVar(), zero},
                              AffineMapAttr::get(plain), Value());
      }
    }
    auto lane = [&](ContractOp op, Value k) -> Value {
      return tile::LoadOp::create(builder, loc, VectorType::get({shape.step, shape.lanes}, builder.getF32Type()),
                                  scratch[op], ValueRange{k, zero}, AffineMapAttr::get(plain), Value());
    };
    return writeRows(shape, outer, n, lane);
  }

  /// The k loop, the epilogue and the stores of one tile.
  LogicalResult writeTile(const ContractTile &shape, ArrayRef<Value> outer, Value m, Value n,
                          function_ref<Value(ContractOp, Value)> lane) {
    if (failed(foldRows(shape, outer, m)))
      return failure();
    Value from = constantIndex(0), to = extentOf(builder, loc, space.extents[space.k]);
    SmallVector<Value> sums =
        shape.slice ? addSlices(shape, outer, m, lane) : addProducts(shape, outer, m, from, to, lane);
    return sums.empty() ? failure() : writeEpilogue(shape, outer, m, n, sums);
  }

  /// The sums of the contractions over [from, to); empty with an error emitted.
  SmallVector<Value> addProducts(const ContractTile &shape, ArrayRef<Value> outer, Value m, Value from, Value to,
                                 function_ref<Value(ContractOp, Value)> lane) {
    auto accType = VectorType::get({shape.rows, shape.lanes}, builder.getF32Type());
    auto loop = scf::ForOp::create(builder, loc, from, to, constantIndex(shape.step), noSums(shape));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> next;
    llvm::DenseMap<std::pair<Value, AffineMap>, Value> rowTiles;
    for (auto [op, acc] : llvm::zip(contracts, loop.getRegionIterArgs())) {
      Value lhs = loadRowTile(op, outer, m, loop.getInductionVar(), {shape.rows, shape.step}, rowTiles);
      Value rhs = lane(op, loop.getInductionVar());
      if (!lhs || !rhs)
        return {};
      Type operands = op.getNumerics().getOperands();
      next.push_back(
          tile::DotOp::create(builder, loc, accType, lhs, rhs, acc, operands ? TypeAttr::get(operands) : TypeAttr()));
    }
    scf::YieldOp::create(builder, loc, next);
    return SmallVector<Value>(loop.getResults());
  }

  /// The same in parts of `slice` elements, added in ascending order.
  SmallVector<Value> addSlices(const ContractTile &shape, ArrayRef<Value> outer, Value m,
                               function_ref<Value(ContractOp, Value)> lane) {
    Value end = extentOf(builder, loc, space.extents[space.k]), slice = constantIndex(shape.slice);
    auto loop = scf::ForOp::create(builder, loc, constantIndex(0), end, slice, noSums(shape));
    if (shape.spread)
      loop->setAttr(tile::spreadAttr, builder.getUnitAttr());
    if (shape.streamed)
      loop->setAttr(tile::streamAttr, builder.getUnitAttr());
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value from = loop.getInductionVar();
    Value to = arith::MinSIOp::create(builder, loc, arith::AddIOp::create(builder, loc, from, slice), end);
    SmallVector<Value> totals;
    SmallVector<Value> parts = addProducts(shape, outer, m, from, to, lane);
    if (parts.empty())
      return {};
    for (auto [total, part] : llvm::zip(loop.getRegionIterArgs(), parts))
      totals.push_back(arith::AddFOp::create(builder, loc, total, part));
    scf::YieldOp::create(builder, loc, totals);
    return SmallVector<Value>(loop.getResults());
  }

  SmallVector<Value> noSums(const ContractTile &shape) {
    auto type = VectorType::get({shape.rows, shape.lanes}, builder.getF32Type());
    Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
    return SmallVector<Value>(contracts.size(), zero);
  }

  LogicalResult writeEpilogue(const ContractTile &shape, ArrayRef<Value> outer, Value m, Value n,
                              ValueRange accumulators) {
    Frame scalar, frame;
    scalar.indices = SmallVector<Value>(outer);
    frame.indices = SmallVector<Value>(outer);
    frame.indices.append({m, n});
    frame.lanes = {shape.rows, shape.lanes};
    frame.scalar = &scalar;
    AffineMap position = space.result.compose(fromFrame(space.m, space.n, true));
    for (auto [op, acc] : llvm::zip(contracts, accumulators))
      frame.known[{op.getResult(), position}] = acc;
    knowRows(frame, rowsOf(fromFrame(space.m, space.n, true)));
    for (Value value : group.stored) {
      Value tileValue = evaluator->evaluate(value, position, frame);
      if (!tileValue)
        return failure();
      if (space.m) {
        evaluator->store(tileValue, value, position, frame, value.getLoc());
        continue;
      }
      // Without a row dimension the tile has one row and the map ignores it: store the row itself.
      Value row = vector::ExtractOp::create(builder, loc, tileValue, ArrayRef<int64_t>{0});
      Frame flat;
      flat.indices = SmallVector<Value>(outer);
      flat.indices.push_back(n);
      flat.lanes = {shape.lanes};
      evaluator->store(row, value, space.result.compose(fromFrame(std::nullopt, space.n, false)), flat, value.getLoc());
    }
    return success();
  }

  /// Folds the tile's rows for the reductions of the group, and computes the row values made of them.
  LogicalResult foldRows(const ContractTile &shape, ArrayRef<Value> outer, Value m) {
    rowValues.clear();
    for (Operation *op : group.ops)
      if (auto reduce = dyn_cast<ReduceOp>(op))
        if (failed(foldRows(reduce, shape, outer, m)))
          return failure();
    AffineMap map = rowsOf(fromFrame(space.m, space.n, true));
    SmallVector<Value> pending;
    for (const auto &[value, tile] : rowValues)
      pending.push_back(value);
    while (!pending.empty())
      for (Operation *user : pending.pop_back_val().getUsers()) {
        auto row = dyn_cast<MapOp>(user);
        if (!row || !group.computes(row) || rowValues.contains(row.getResult()) ||
            static_cast<unsigned>(typeOf(row.getResult()).getRank()) != map.getNumResults())
          continue;
        Value tile = rowValue(row.getResult(), map, shape, outer, m);
        if (!tile)
          return failure();
        rowValues[row.getResult()] = tile;
        pending.push_back(row.getResult());
      }
    return success();
  }

  Value rowValue(Value value, AffineMap map, const ContractTile &shape, ArrayRef<Value> outer, Value m) {
    Frame scalar, frame;
    scalar.indices = SmallVector<Value>(outer);
    frame.indices = SmallVector<Value>(outer);
    frame.indices.append({m, constantIndex(0)});
    frame.lanes = {shape.rows, 1};
    frame.scalar = &scalar;
    knowRows(frame, map);
    return evaluator->evaluate(value, map, frame);
  }

  /// Makes the row values known in a frame of the same rows; `map` gives the rows' coordinates there.
  void knowRows(Frame &frame, AffineMap map) {
    for (const auto &[value, tile] : rowValues) {
      auto type = VectorType::get(frame.lanes, cast<VectorType>(tile.getType()).getElementType());
      frame.known[{value, map}] =
          type == tile.getType() ? tile : vector::BroadcastOp::create(builder, loc, type, tile).getResult();
    }
  }

  /// One reduction over the rows of the tile, in lanes along what is summed.
  LogicalResult foldRows(ReduceOp op, const ContractTile &shape, ArrayRef<Value> outer, Value m) {
    const Dim &summed = space.extents[space.k];
    int64_t lanes = rowLanes(summed, target);
    SmallVector<Value> init;
    for (Attribute attr : op.getInit()) {
      auto type = VectorType::get({shape.rows, lanes}, cast<TypedAttr>(attr).getType());
      init.push_back(arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, attr)));
    }
    auto loop =
        scf::ForOp::create(builder, loc, constantIndex(0), extentOf(builder, loc, summed), constantIndex(lanes), init);
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(loop.getBody());
      SmallVector<Value> operands(loop.getRegionIterArgs());
      Frame scalar, inside;
      scalar.indices = SmallVector<Value>(outer);
      inside.indices = SmallVector<Value>(outer);
      inside.indices.append({m, loop.getInductionVar()});
      inside.lanes = {shape.rows, lanes};
      inside.scalar = &scalar;
      knowRows(inside, rowsOf(fromFrame(space.m, space.k, true)));
      for (auto [input, identity] : llvm::zip(op.getInputs(), init)) {
        Value element = evaluator->evaluate(input, elementMap(), inside);
        if (!element)
          return failure();
        operands.push_back(maskTail(builder, loc, element, identity, summed, inside));
      }
      scf::YieldOp::create(builder, loc, evaluator->inlineBody(op.getCombine().front(), operands, AffineMap(), inside));
    }
    SmallVector<Value> partials(loop.getResults());
    for (auto [result, value] : llvm::zip(op.getResults(), foldLanes(builder, loc, op, partials)))
      rowValues[result] = value;
    return success();
  }

  /// The result's row dimensions, seen from a frame.
  AffineMap rowsOf(AffineMap fromFrame) {
    return simplifyAffineMap(space.result.dropResult(space.result.getNumResults() - 1).compose(fromFrame));
  }

  /// An element of the rows that are summed, seen from a frame (others..., row, k).
  AffineMap elementMap() {
    AffineMap frame = fromFrame(space.m, space.k, true);
    SmallVector<AffineExpr> exprs(rowsOf(frame).getResults());
    exprs.push_back(builder.getAffineDimExpr(frame.getNumDims() - 1));
    return AffineMap::get(frame.getNumDims(), 0, exprs, builder.getContext());
  }

  /// Map from a frame (others..., row, lane), or (others..., lane) without `twoLanes`, to the
  /// iteration space; dimensions that no index stands for become 0.
  AffineMap fromFrame(std::optional<unsigned> row, unsigned lane, bool twoLanes) {
    SmallVector<AffineExpr> exprs(space.extents.size(), builder.getAffineConstantExpr(0));
    for (auto [i, d] : llvm::enumerate(space.others))
      exprs[d] = builder.getAffineDimExpr(i);
    unsigned outer = space.others.size();
    if (row)
      exprs[*row] = builder.getAffineDimExpr(outer);
    exprs[lane] = builder.getAffineDimExpr(outer + (twoLanes ? 1 : 0));
    return AffineMap::get(outer + (twoLanes ? 2 : 1), 0, exprs, builder.getContext());
  }
  Value loadRowTile(ContractOp op, ArrayRef<Value> outer, Value m, Value k, ArrayRef<int64_t> lanes,
                    llvm::DenseMap<std::pair<Value, AffineMap>, Value> &seen) {
    AffineMap map = rowMap(op).compose(fromFrame(space.m, space.k, true));
    Value &known = seen[{rowOperand(op), map}];
    if (!known)
      known = loadTile(rowOperand(op), map, outer, m, k, lanes, true);
    return known;
  }

  Value loadLaneTile(ContractOp op, ArrayRef<Value> outer, Value k, Value n, ArrayRef<int64_t> lanes) {
    return loadTile(laneOperand(op), laneMap(op).compose(fromFrame(space.k, space.n, true)), outer, k, n, lanes, false);
  }

  Value loadTile(Value value, AffineMap map, ArrayRef<Value> outer, Value first, Value second, ArrayRef<int64_t> lanes,
                 bool ofRows) {
    Frame scalar, frame;
    scalar.indices = SmallVector<Value>(outer);
    frame.indices = SmallVector<Value>(outer);
    frame.indices.append({first, second});
    frame.lanes = SmallVector<int64_t>(lanes);
    frame.scalar = &scalar;
    if (ofRows)
      knowRows(frame, rowsOf(fromFrame(space.m, space.k, true)));
    return evaluator->evaluate(value, map, frame);
  }

  Value constantIndex(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }

  ModuleOp module;
  const KernelGroup &group;
  const TileTarget &target;
  OpBuilder builder;
  Location loc;
  SmallVector<ContractOp> contracts;
  Space space;
  KernelArguments *arguments = nullptr;
  TileEvaluator *evaluator = nullptr;
  llvm::MapVector<Value, Value> rowValues; ///< Row values of the group and their tiles, rows x 1.
};

} // namespace

SmallVector<WrittenKernel> writeContractKernels(ModuleOp module, const KernelGroup &group, const TileTarget &target) {
  return ContractKernel(module, group, target).write();
}

} // namespace fusec
