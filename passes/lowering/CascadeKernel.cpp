//===- CascadeKernel.cpp - reductions that share one loop ---------------------------===//
//
// One program handles a tile of rows; the loop runs over blocks of the folded
// dimension and carries one accumulator per member:
//
//   for j in [lower, upper) step block:
//     elements of the block: scores by nested products, masks, exp(t - m)
//     m' = combine(m, fold of the block)                    members others depend on
//     l' = combine(repair(m, m', l), elements)              lane partials
//     o' = repair(m, m', o) + dot(elements, V)              products
//   epilogue on (m, l, o)
//
// The folded dimension is cut into splits of a fixed size, whose carriers merge
// in ascending order by the members' own combine and repair:
//
//   whole:  for each split: loop; merge                     many rows
//   split:  one program per split leaves its carriers       few rows
//   merge:  merges what `split` left                        runs after `split`
//
// All three do the same arithmetic in the same order, so a row's result never
// depends on how many rows a step has.
//
//===----------------------------------------------------------------------===//
#include "passes/lowering/CascadeShape.h"
#include "passes/lowering/KernelWriter.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace fusec::fuse;

namespace fusec {

namespace {

GraphTensorType typeOf(Value value) { return cast<GraphTensorType>(value.getType()); }

enum class Form { Whole, Split, Merge };

/// The accumulators of one member.
struct Carrier {
  SmallVector<Value> tiles; ///< Per component; of a product: per group of lanes.
};

class CascadeKernel {
public:
  CascadeKernel(ModuleOp module, const KernelGroup &group, const CascadeShape &shape, Value workspace, Form form)
      : module(module), group(group), shape(shape), workspace(workspace), form(form), builder(module.getContext()),
        loc(group.ops.back()->getLoc()), rank(shape.cascade.rows.size()) {}

  /// The kernel; empty with an error emitted on failure. Arguments begin as in `like`.
  std::optional<WrittenKernel> write(ArrayRef<Value> like) {
    begin(like);
    bool ok = form == Form::Merge ? writeMerge() : writeLoops();
    if (!ok) {
      kernel.erase();
      return std::nullopt;
    }
    WrittenKernel written;
    written.kernel = kernel;
    written.graphValues = SmallVector<Value>(arguments->graphValues());
    return written;
  }

private:
  //===--------------------------------------------------------------------===//
  // Frame
  //===--------------------------------------------------------------------===//

  void begin(ArrayRef<Value> like) {
    builder.setInsertionPointToEnd(module.getBody());
    SmallVector<std::pair<Dim, int64_t>> grid;
    for (size_t d = 0; d + 1 < rank; ++d)
      grid.push_back({shape.cascade.rows[d], 1});
    grid.push_back({shape.cascade.rows.back(), shape.rows});
    if (form == Form::Split)
      grid.push_back({shape.cascade.folded, shape.split});
    static constexpr StringRef names[] = {"cascade", "cascade-split", "cascade-merge"};
    NamedAttribute schedule[] = {
        builder.getNamedAttr("form", builder.getStringAttr(names[static_cast<int>(form)])),
        builder.getNamedAttr("rows", builder.getI64IntegerAttr(shape.rows)),
        builder.getNamedAttr("block", builder.getI64IntegerAttr(shape.block)),
        builder.getNamedAttr("split", builder.getI64IntegerAttr(shape.split)),
    };
    kernel = createKernel(builder, loc, "k" + std::to_string(group.number) + "_" + std::to_string(int(form)), grid,
                          builder.getDictionaryAttr(schedule));
    arguments.emplace(kernel.getBody().front());
    arguments->reserve(like, loc);
    evaluator.emplace(builder, *arguments, [this](Operation *op) { return group.computes(op); });
    evaluator->onProduct([this](ContractOp op, AffineMap map, Frame &frame) { return nestedProduct(op, map, frame); });
    for (size_t axis = 0; axis < rank; ++axis)
      origins.push_back(tile::OriginOp::create(builder, loc, builder.getIndexType(), axis));
    zero = constantIndex(0);
    outer.indices.assign(origins.begin(), origins.end() - 1);
    rowStart.indices = origins;
  }

  Value constantIndex(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }
  Value ceilDiv(Value value, int64_t by) {
    Value up = arith::AddIOp::create(builder, loc, value, constantIndex(by - 1));
    return arith::DivUIOp::create(builder, loc, up, constantIndex(by));
  }
  AffineMap rowMap() { return builder.getMultiDimIdentityMap(rank + 1).dropResult(rank); }
  AffineMap elementMap() { return builder.getMultiDimIdentityMap(rank + 1); }

  /// A tile of rows x lanes at `last` along the last index.
  Frame tileFrame(Value last, int64_t lanes) {
    Frame frame;
    frame.indices = origins;
    frame.indices.push_back(last);
    frame.lanes = {shape.rows, lanes};
    frame.scalar = &outer;
    frame.hoistBefore = hoistBefore;
    return frame;
  }

  //===--------------------------------------------------------------------===//
  // Bounds
  //===--------------------------------------------------------------------===//

  /// The part of the folded dimension that is open for some row of the tile.
  void findBounds() {
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

  /// The loosest of the rows' bounds.
  Value boundOverRows(const IndexBound &bound, bool least) {
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

  bool dependsOnRow(const IndexBound &bound) {
    return llvm::any_of(bound.parts,
                        [&](const IndexBound::Part &part) { return dependsOnRow(part.scalar, part.frame); });
  }

  /// Whether a scalar of a map's body changes along the tile's rows.
  bool dependsOnRow(Value scalar, AffineMap map) {
    if (auto argument = dyn_cast<BlockArgument>(scalar)) {
      auto op = cast<MapOp>(argument.getOwner()->getParentOp());
      return op.getMap(argument.getArgNumber()).compose(map).isFunctionOfDim(rank - 1);
    }
    if (auto index = scalar.getDefiningOp<IndexOp>())
      return map.getResult(index.getDim()).isFunctionOfDim(rank - 1);
    return llvm::any_of(scalar.getDefiningOp()->getOperands(), [&](Value v) { return dependsOnRow(v, map); });
  }

  Value boundAtRow(const IndexBound &bound, int64_t row) {
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

  /// A map of row coordinates; results that name the folded dimension are not looked at.
  AffineMap withoutLast(AffineMap map) {
    SmallVector<AffineExpr> zeroed;
    AffineExpr last = builder.getAffineDimExpr(rank);
    for (AffineExpr expr : map.getResults())
      zeroed.push_back(expr.replace(last, builder.getAffineConstantExpr(0)));
    return AffineMap::get(rank, 0, zeroed, builder.getContext());
  }

  //===--------------------------------------------------------------------===//
  // Loops
  //===--------------------------------------------------------------------===//

  bool writeLoops() {
    findBounds();
    stageRows();
    for (const CascadeMember &member : shape.cascade.members)
      if (isa<ContractOp>(member.reduction.op))
        elementScratch[member.reduction.op] = scratch({shape.rows, shape.block});
    Value blockSize = constantIndex(shape.block);
    firstBlock = arith::MulIOp::create(builder, loc, arith::DivUIOp::create(builder, loc, lower, blockSize), blockSize);
    if (form == Form::Split)
      return writeSplit();
    SmallVector<Carrier> carriers = shape.split ? writeSplitLoop() : writeBlockLoop(firstBlock, upper);
    return !carriers.empty() && writeEpilogue(carriers);
  }

  bool writeSplit() {
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

  /// Whole form: every split by itself, merged in ascending order.
  SmallVector<Carrier> writeSplitLoop() {
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

  bool writeMerge() {
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

  /// A loop that carries accumulators; `body` gets the counter and gives the next ones (none: failure).
  SmallVector<Carrier> carryLoop(Value from, Value to, Value step, const SmallVector<Carrier> &init,
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

  static SmallVector<Value> flatten(const SmallVector<Carrier> &carriers) {
    SmallVector<Value> values;
    for (const Carrier &carrier : carriers)
      llvm::append_range(values, carrier.tiles);
    return values;
  }
  static SmallVector<Carrier> unflatten(ValueRange values, const SmallVector<Carrier> &like) {
    SmallVector<Carrier> carriers;
    for (const Carrier &carrier : like) {
      carriers.push_back({SmallVector<Value>(values.take_front(carrier.tiles.size()))});
      values = values.drop_front(carrier.tiles.size());
    }
    return carriers;
  }

  //===--------------------------------------------------------------------===//
  // Carriers
  //===--------------------------------------------------------------------===//

  Value splat(TypedAttr value, int64_t lanes) {
    auto type = VectorType::get({shape.rows, lanes}, value.getType());
    return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, value));
  }

  bool isProduct(unsigned i) { return isa<ContractOp>(shape.cascade.members[i].reduction.op); }
  ReduceOp reduceOf(unsigned i) { return cast<ReduceOp>(shape.cascade.members[i].reduction.op); }

  /// Empty carriers; `lanes` for members that keep lane partials while the loop runs.
  SmallVector<Carrier> emptyCarriers(bool lanePartials) {
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
  SmallVector<Carrier> foldedCarriers() { return emptyCarriers(false); }

  /// Each row value of a finished or partial carrier, for whoever reads the member's results.
  void know(Frame &frame, const SmallVector<Carrier> &carriers) {
    for (unsigned i = 0; i < carriers.size(); ++i)
      if (!isProduct(i) || !shape.hasOwnLanes(i))
        for (auto [result, value] : llvm::zip(shape.cascade.members[i].reduction.op->getResults(), carriers[i].tiles))
          frame.known[{result, rowMap()}] = spread(value, frame.lanes.back());
  }

  /// A row value over lanes.
  Value spread(Value value, int64_t lanes) {
    auto type = cast<VectorType>(value.getType());
    if (type.getDimSize(1) == lanes)
      return value;
    return vector::BroadcastOp::create(builder, loc, VectorType::get({shape.rows, lanes}, type.getElementType()),
                                       value);
  }

  /// The row value that member `i` is repaired for, while the carriers are `carriers`.
  Value dependencyAt(unsigned i, const SmallVector<Carrier> &carriers) {
    Frame frame = tileFrame(zero, 1);
    know(frame, rootsOf(carriers));
    return evaluator->evaluate(shape.cascade.members[i].dependency, rowMap(), frame);
  }
  /// Lane partials are no row values yet: only roots are known inside the loop.
  SmallVector<Carrier> rootsOf(const SmallVector<Carrier> &carriers) {
    SmallVector<Carrier> roots;
    for (unsigned i = 0; i < carriers.size(); ++i)
      roots.push_back(!isProduct(i) && shape.isRoot(i) ? carriers[i] : Carrier());
    return roots;
  }

  /// Applies a member's repair. What depends on the row values alone is computed per row, then spread.
  Value repaired(unsigned i, Value old, Value now, Value accumulator) {
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

  SmallVector<Value> combined(unsigned i, ValueRange a, ValueRange b) {
    SmallVector<Value> operands(a);
    llvm::append_range(operands, b);
    Frame frame = tileFrame(zero, cast<VectorType>(a.front().getType()).getDimSize(1));
    return evaluator->inlineBody(reduceOf(i).getCombine().front(), operands, AffineMap(), frame);
  }

  /// The combine of two carriers: roots first, then what depends on them, repaired to the common row value.
  SmallVector<Carrier> merge(const SmallVector<Carrier> &a, const SmallVector<Carrier> &b) {
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

  /// Calls `visit` with each part of folded carriers and its place in a workspace row.
  void forEachPart(SmallVector<Carrier> &carriers, function_ref<void(Value &, int64_t)> visit) {
    int64_t at = 0;
    for (Carrier &carrier : carriers)
      for (Value &part : carrier.tiles) {
        visit(part, at);
        at += cast<VectorType>(part.getType()).getDimSize(1);
      }
  }

  /// workspace[rows..., split, at + lane]
  void moveThroughWorkspace(Value &part, int64_t at, bool out) {
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

  //===--------------------------------------------------------------------===//
  // One block
  //===--------------------------------------------------------------------===//

  /// The loop over blocks in [from, to); gives folded carriers.
  SmallVector<Carrier> writeBlockLoop(Value from, Value to) {
    SmallVector<Carrier> carriers =
        carryLoop(from, to, constantIndex(shape.block), emptyCarriers(true),
                  [&](Value j, SmallVector<Carrier> old) { return writeBlock(j, to, old); });
    for (unsigned i = 0; i < carriers.size(); ++i)
      if (!isProduct(i) && !shape.isRoot(i))
        carriers[i].tiles = foldLanes(reduceOf(i), carriers[i].tiles);
    return carriers;
  }

  /// The block after `j`, of this program or the next split's; the last block stands for itself.
  Value blockAfter(Value j) {
    Value after = arith::AddIOp::create(builder, loc, j, constantIndex(shape.block));
    Value isInside = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, after, upper);
    return arith::SelectOp::create(builder, loc, isInside, after, j);
  }

  /// Asks for the tile that `loaded` will read with `there` in place of `here`, when it is read from memory as is.
  void prefetch(Value loaded, Value here, Value there) {
    auto load = loaded.getDefiningOp<tile::LoadOp>();
    if (!load || !cast<tile::BufferType>(load.getBuffer().getType()).isPaged())
      return; // rows are walked in order, which the machine foresees
    SmallVector<Value> indices(load.getIndices());
    llvm::replace(indices, here, there);
    auto shape = builder.getDenseI64ArrayAttr(cast<VectorType>(load.getType()).getShape());
    tile::PrefetchOp::create(builder, loc, load.getBuffer(), indices, load.getMapAttr(), load.getPages(), shape);
  }

  SmallVector<Carrier> writeBlock(Value j, Value end, const SmallVector<Carrier> &old) {
    next = blockAfter(j);
    Frame frame = tileFrame(j, shape.block);
    SmallVector<Carrier> now = old;
    for (unsigned i = 0; i < old.size(); ++i)
      if (shape.isRoot(i)) {
        SmallVector<Value> elements = elementsOf(i, frame);
        if (elements.empty())
          return {};
        now[i].tiles = combined(i, old[i].tiles, foldLanes(reduceOf(i), elements));
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

  /// While nothing was seen (the row value is infinite) elements are taken relative to 0: exp(-inf - 0) = 0.
  void guardEmpty(Value dependency, Value now, unsigned i, Frame &frame) {
    if (!shape.scales(i))
      return;
    auto infinity = cast<TypedAttr>(builder.getFloatAttr(cast<VectorType>(now.getType()).getElementType(),
                                                         -std::numeric_limits<double>::infinity()));
    Value empty = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, now, splat(infinity, 1));
    Value guarded = arith::SelectOp::create(builder, loc, empty, splat(builder.getF32FloatAttr(0), 1), now);
    frame.known[{dependency, rowMap()}] = spread(guarded, shape.block);
  }

  /// A block of a reduction's elements, the identity beyond the folded dimension.
  SmallVector<Value> elementsOf(unsigned i, Frame &frame) {
    SmallVector<Value> elements;
    ReduceOp op = reduceOf(i);
    for (auto [input, init] : llvm::zip(op.getInputs(), op.getInit())) {
      Value element = evaluator->evaluate(input, elementMap(), frame);
      if (!element)
        return {};
      elements.push_back(maskTail(element, cast<TypedAttr>(init), frame));
    }
    return elements;
  }

  Value maskTail(Value element, TypedAttr identity, Frame &frame) {
    const Dim &folded = shape.cascade.folded;
    if (folded.kind == DimKind::Paged || (folded.isStatic() && folded.size % shape.block == 0))
      return element;
    auto type = VectorType::get({shape.rows, shape.block}, builder.getI32Type());
    Value position = tile::IndexOp::create(builder, loc, type, frame.indices.back(), 1);
    Value extent = arith::IndexCastOp::create(builder, loc, builder.getI32Type(), extentOf(builder, loc, folded));
    Value limit = vector::BroadcastOp::create(builder, loc, type, extent);
    Value inside = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, position, limit);
    return arith::SelectOp::create(builder, loc, inside, element, splat(identity, shape.block));
  }

  SmallVector<Value> foldLanes(ReduceOp op, ArrayRef<Value> partials) {
    SmallVector<Type> types;
    for (Value partial : partials)
      types.push_back(VectorType::get({shape.rows, 1}, cast<VectorType>(partial.getType()).getElementType()));
    auto fold = tile::ReduceOp::create(builder, loc, types, partials);
    cloneCombine(op, fold);
    return SmallVector<Value>(fold.getResults());
  }

  SmallVector<Value> addElements(unsigned i, ArrayRef<Value> kept, Frame &frame) {
    SmallVector<Value> elements = elementsOf(i, frame);
    return elements.empty() ? elements : combined(i, kept, elements);
  }

  /// acc + dot(elements, other operand): the elements go through scratch memory, from where a product reads
  /// them one by one; positions outside the bounds are not touched, so that nothing stale is read.
  SmallVector<Value> addProduct(unsigned i, Value j, Value end, SmallVector<Value> kept, Frame &frame) {
    const Reduction &r = shape.cascade.members[i].reduction;
    Value elements = evaluator->evaluate(r.element, elementMap(), frame);
    if (!elements)
      return {};
    Value buffer = elementScratch[r.op];
    auto plain = AffineMapAttr::get(builder.getMultiDimIdentityMap(2));
    tile::StoreOp::create(builder, loc, elements, buffer, ValueRange{zero, zero}, plain, Value());
    Value blockEnd = arith::SubIOp::create(builder, loc, end, j);
    Value to = arith::MinSIOp::create(builder, loc, blockEnd, constantIndex(shape.block));
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

  SmallVector<Value> productLoop(unsigned i, Value j, Value from, Value to, int64_t step, ArrayRef<Value> init) {
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

  /// step positions x lanes of the operand that the elements multiply.
  Value otherOperand(unsigned i, Value position, int64_t step, int64_t lane, int64_t lanes) {
    const Reduction &r = shape.cascade.members[i].reduction;
    auto op = cast<ContractOp>(r.op);
    AffineMap result = op.getMap(2);
    SmallVector<AffineExpr> iteration(op.getNumIterationDims(), builder.getAffineConstantExpr(0));
    for (auto [d, expr] : llvm::enumerate(result.getResults())) // rows, then the lanes
      iteration[cast<AffineDimExpr>(expr).getPosition()] = builder.getAffineDimExpr(d < rank ? d : rank + 1);
    iteration[op.getSummedDims().front()] = builder.getAffineDimExpr(rank);
    AffineMap toIteration = AffineMap::get(rank + 2, 0, iteration, builder.getContext());
    return inRowFrame(r.operand == 0 ? op.getRhs() : op.getLhs(), op.getMap(1 - r.operand).compose(toIteration),
                      position, constantIndex(lane), {step, lanes});
  }

  //===--------------------------------------------------------------------===//
  // Nested products
  //===--------------------------------------------------------------------===//

  /// A tile of two indices behind the rows' first ones; rows of the tile share it.
  Value inRowFrame(Value value, AffineMap map, Value first, Value second, ArrayRef<int64_t> lanes) {
    Frame frame;
    frame.indices = origins;
    frame.indices.append({first, second});
    frame.lanes = SmallVector<int64_t>(lanes);
    frame.scalar = &rowStart;
    frame.hoistBefore = hoistBefore;
    return evaluator->evaluate(value, map, frame);
  }

  struct ProductMaps {
    Value rowOperand, laneOperand;
    AffineMap row;  ///< From (rows..., k).
    AffineMap lane; ///< From (rows..., k, j).
  };

  ProductMaps mapsOf(ContractOp op) {
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

  /// Rows that must be computed are computed once, into scratch memory, before the loops.
  void stageRows() {
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

  bool isComputedHere(Value value) {
    while (auto view = value.getDefiningOp<ViewOp>())
      value = view.getSource();
    auto map = value.getDefiningOp<MapOp>();
    return map && group.computes(map);
  }

  Value nestedProduct(ContractOp op, AffineMap map, Frame &frame) {
    if (map != elementMap()) {
      emitError(loc, "a product is read at other elements than the loop is at");
      return {};
    }
    ProductMaps maps = mapsOf(op);
    const Dim summed = op.getIterationExtents()[op.getSummedDims().front()];
    int64_t step = shape.stepOver(summed), lanes = frame.lanes.back();
    auto type = VectorType::get({shape.rows, lanes}, builder.getF32Type());
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

  Value rowTile(ContractOp op, const ProductMaps &maps, Value k, int64_t step) {
    if (Value buffer = stagedRows.lookup(op))
      return tile::LoadOp::create(builder, loc, VectorType::get({shape.rows, step}, builder.getF32Type()), buffer,
                                  ValueRange{zero, k}, AffineMapAttr::get(builder.getMultiDimIdentityMap(2)), Value());
    Frame frame = tileFrame(k, step);
    return evaluator->evaluate(maps.rowOperand, maps.row, frame);
  }

  Value scratch(ArrayRef<int64_t> sizes) {
    SmallVector<Dim> dims;
    for (int64_t size : sizes)
      dims.push_back(Dim::fixed(size));
    auto type = tile::BufferType::get(builder.getContext(), dims, builder.getF32Type());
    return tile::ScratchOp::create(builder, loc, type);
  }

  //===--------------------------------------------------------------------===//
  // Epilogue
  //===--------------------------------------------------------------------===//

  bool writeEpilogue(const SmallVector<Carrier> &carriers) {
    for (Value value : group.stored) {
      bool rowValue = typeOf(value).getRank() == static_cast<int64_t>(rank);
      if (!(rowValue ? storeRowValue(value, carriers) : storeProduct(value, carriers)))
        return false;
    }
    return true;
  }

  bool storeRowValue(Value value, const SmallVector<Carrier> &carriers) {
    Frame frame = tileFrame(zero, 1);
    know(frame, carriers);
    Value rows = evaluator->evaluate(value, rowMap(), frame);
    if (rows)
      evaluator->store(rows, value, rowMap(), frame, value.getLoc());
    return rows != nullptr;
  }

  bool storeProduct(Value value, const SmallVector<Carrier> &carriers) {
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

  ModuleOp module;
  const KernelGroup &group;
  const CascadeShape &shape;
  Value workspace;
  Form form;
  OpBuilder builder;
  Location loc;
  unsigned rank; ///< Number of row dimensions.
  tile::KernelOp kernel;
  std::optional<KernelArguments> arguments;
  std::optional<TileEvaluator> evaluator;
  SmallVector<Value> origins;
  Frame outer;    ///< Scalars of all row dimensions but the last.
  Frame rowStart; ///< Scalars at the tile's first row.
  Operation *hoistBefore = nullptr;
  Value zero, lower, upper, firstBlock, split;
  Value next; ///< Where the block after the current one begins.
  bool hasLower = false;
  llvm::DenseMap<Operation *, Value> stagedRows, elementScratch;
};

Value makeWorkspace(Operation *before, const CascadeShape &shape) {
  OpBuilder b(before);
  SmallVector<Dim> dims = {Dim::fixed(shape.splitRows)};
  llvm::append_range(dims, ArrayRef(shape.cascade.rows).drop_front());
  dims.append({shape.splits(b.getContext()), Dim::fixed(shape.carrierWidth())});
  return WorkspaceOp::create(b, before->getLoc(), GraphTensorType::get(b.getContext(), dims, b.getF32Type()));
}

} // namespace

SmallVector<LaunchKernels> writeCascadeKernels(ModuleOp module, const KernelGroup &group, const TileTarget &target) {
  FailureOr<CascadeShape> shape = chooseCascadeShape(group.ops, target);
  if (failed(shape))
    return {};
  auto write = [&](Form form, Value workspace, ArrayRef<Value> like) {
    return CascadeKernel(module, group, *shape, workspace, form).write(like);
  };
  std::optional<WrittenKernel> whole = write(Form::Whole, {}, {});
  if (!whole || shape->split == 0 || shape->splitRows == 0)
    return whole ? SmallVector<LaunchKernels>{{*whole}} : SmallVector<LaunchKernels>();
  // Variants of one launch take the same buffers: the whole form is written again with those of both.
  Value workspace = makeWorkspace(group.ops.front(), *shape);
  std::optional<WrittenKernel> split = write(Form::Split, workspace, whole->graphValues);
  std::optional<WrittenKernel> merge = write(Form::Merge, workspace, {});
  whole->kernel.erase();
  if (!split || !merge || !(whole = write(Form::Whole, workspace, split->graphValues)))
    return {};
  split->symbol = merge->symbol = shape->cascade.rows.front().symbol.getValue().str();
  split->limit = merge->limit = shape->splitRows;
  return {{*split, *whole}, {*merge}};
}

} // namespace fusec
