//===- EmitRows.cpp - derived loops on tensor cores ------------------------===//
//
// Kernels that RowTiles.h finds. Their text is that of a hand-written attention:
//
//   const auto query = loadRows<Bfloat, 64, 64, Rows>(...);
//   const auto fetch = [&](int stage, int start) { ...fillAsync(keysOf(stage), ...); };
//   const auto compute = [&](int stage, int start) { ...dot<Bfloat>(score, query, keysOf(stage)); };
//   pipelined<2, Rows>(from, to, 64, fetch, compute);
//
// What is particular to them is printed here; maps, reductions, loads and stores
// are printed as everywhere, on tiles of another layout.
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/KernelPrinter.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace fusec::tile;
using fusec::fuse::Dim;

namespace fusec::codegen::cuda {

/// Channels from which on mma's queries wait in shared memory: as fragments they would take the sums' registers.
static constexpr int64_t wideQuery = 128;
/// The sums of all splits wait there, too: those of wide heads, since a thread has no registers for two sums (a row's 8
/// lanes take 4), and those of narrow ones, since fewer registers let a further block onto the multiprocessor. In
/// between, shared memory would be what limits the blocks.
static constexpr int64_t narrowSum = 64, wideSum = 160;
static constexpr int64_t unit = 8; ///< Elements that are copied at once.

//===----------------------------------------------------------------------===//
// Layouts and shared memory
//===----------------------------------------------------------------------===//

void KernelPrinter::layOutRows() {
  const TileLayout *rows = layouts.add({.name = "Rows",
                                        .type = "MmaRows<" + std::to_string(rowTiles->warps) + ">",
                                        .rowUnit = rowTiles->paddedRows(),
                                        .laneUnit = 16,
                                        .padsOneRow = true});
  auto assign = [&](Value value) {
    if (auto type = dyn_cast<VectorType>(value.getType()); type && type.getRank() == 2)
      layouts.assign(value, rows);
  };
  kernel.walk([&](Operation *op) {
    llvm::for_each(op->getResults(), assign);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArguments(), assign);
  });
  constexpr int64_t reserve = 1024; // for what folds bounds through shared memory
  // A stage ahead of the arithmetic comes first; then registers that spill are better than no kernel.
  for (auto [count, park] : {std::pair(2, true), std::pair(1, true), std::pair(1, false)}) {
    stages = count;
    parks = park;
    if (stagedBytes() + reserve <= options.sharedBytesPerBlock)
      return;
  }
}

int64_t KernelPrinter::stageBytes() const {
  int64_t bytes = 0;
  for (const OperandTree &tree : rowTiles->staged)
    bytes += llvm::alignTo(tree.stagedBytes(), 1024);
  return bytes;
}

int64_t KernelPrinter::queryBytes() const {
  const OperandTree &query = rowTiles->query;
  bool isWide = query.root && query.columns >= wideQuery && !rowTiles->isWarpgroup;
  return isWide ? rowTiles->paddedRows() * query.columns * 2 : 0;
}

/// What the loop around the blocks carries and only merges.
bool KernelPrinter::isParked(Value value) const {
  auto result = dyn_cast<OpResult>(value);
  if (!parks || !result || result.getOwner() != rowTiles->loop->getParentOp() || !isTile(value))
    return false;
  const int64_t lanes = shapeOf(value.getType()).lanes;
  return lanes >= wideSum || (lanes > 1 && lanes <= narrowSum);
}

int64_t KernelPrinter::parkedBytes() const {
  int64_t bytes = 0;
  for (Value result : rowTiles->loop->getParentOp()->getResults())
    if (isParked(result)) {
      TileShape shape = paddedShape(result);
      bytes += shape.rows * shape.lanes * getElementTypeOrSelf(result.getType()).getIntOrFloatBitWidth() / 8;
    }
  return bytes;
}

static std::string sharedTile(int64_t rows, int64_t columns) {
  return "SharedTile<" + std::to_string(rows) + ", " + std::to_string(columns) + ">";
}

static std::string typeName(const OperandTree &tree) {
  std::string name = tree.name;
  name[0] = llvm::toUpper(name[0]);
  return name;
}

/// Where the right operands of each stage lie.
void KernelPrinter::printStages(SourceText &text) {
  int64_t at = 0;
  for (const OperandTree &tree : rowTiles->staged) {
    text.line("using " + typeName(tree) + " = " + sharedTile(tree.rows, tree.paddedColumns()) + ";");
    std::string place = "shared + stage * " + std::to_string(stageBytes()) + (at ? " + " + std::to_string(at) : "");
    text.line("const auto " + tree.name + "Of = [=](int stage) { return " + typeName(tree) + "{" + place + "}; };");
    at += llvm::alignTo(tree.stagedBytes(), 1024);
  }
  if (queryBytes())
    text.line("const " + sharedTile(rowTiles->paddedRows(), rowTiles->query.columns) + " query{shared + " +
              std::to_string(stages * stageBytes()) + "};");
}

//===----------------------------------------------------------------------===//
// What is printed when
//===----------------------------------------------------------------------===//

/// Prints `op` if it is particular to these kernels.
bool KernelPrinter::emitAsRows(Operation &op) {
  if (rowTiles->isPartOfOperand(&op)) {
    if (&op == rowTiles->query.root.getDefiningOp())
      emitQuery();
    return true;
  }
  if (op.getNumResults() == 1 && rowTiles->stagedAs(op.getResult(0)))
    return true;
  if (auto dot = dyn_cast<DotOp>(op)) {
    emitRowsDot(dot);
    return true;
  }
  if (&op == rowTiles->loop) {
    emitBlockLoop(rowTiles->loop);
    return true;
  }
  return false;
}

/// The left operand from before the loops, rounded once.
void KernelPrinter::emitQuery() {
  const OperandTree &query = rowTiles->query;
  emitLocation(*query.root.getDefiningOp());
  std::vector<std::string> missing;
  if (rowTiles->rowLimit)
    missing.push_back("row >= " + index(rowTiles->rowLimit).expr().in(Binding::Shift));
  else if (rowTiles->rows < rowTiles->paddedRows())
    missing.push_back("row >= " + std::to_string(rowTiles->rows));
  LambdaText lambda = treeText(query, missing);
  std::string operand = cType(rowTiles->operand), name = "query";
  bind(query.root, {name});
  if (queryBytes())
    return out->call("fillEach<" + operand + ", " + std::to_string(threads) + ">(" + name + ", ", {lambda}, ");");
  out->call("const auto " + name + " = loadRows<" + operand + ", " + std::to_string(rowTiles->paddedRows()) + ", " +
                std::to_string(query.columns) + ", Rows>(",
            {lambda}, ");");
}

/// Loads in a loop that give the same in every iteration are printed before it: positions of rows, factors of heads.
void KernelPrinter::hoistLoads(scf::ForOp loop) {
  llvm::SmallDenseSet<Value> stored;
  kernel.walk([&](StoreOp op) { stored.insert(op.getBuffer()); });
  auto isOutside = [&](Value value) { return !value || loop.isDefinedOutsideOfLoop(value); };
  loop.walk([&](LoadOp op) {
    bool isSame = isTile(op) && !hoisted.contains(op) && !rowTiles->isPartOfOperand(op) &&
                  !stored.contains(op.getBuffer()) && isOutside(op.getRows());
    for (auto [d, index] : llvm::enumerate(op.getIndices()))
      isSame &= !op.getMap().isFunctionOfDim(d) || isOutside(index);
    if (!isSame)
      return;
    emitLoad(op);
    hoisted.insert(op);
  });
}

/// What a load brings: one lane where the map ignores lanes and all readers are elementwise.
TileShape KernelPrinter::loadedShape(LoadOp op) {
  TileShape shape = shapeOf(op.getType());
  if (!rowTiles || !isTile(op) || cast<VectorType>(op.getType()).getRank() != 2 ||
      op.getMap().isFunctionOfDim(op.getMap().getNumDims() - 1))
    return shape;
  bool isSpread = llvm::all_of(op->getUsers(), [](Operation *user) {
    return isa<arith::ArithDialect>(user->getDialect()) && user->getNumRegions() == 0;
  });
  return isSpread ? TileShape{shape.rows, 1} : shape;
}

//===----------------------------------------------------------------------===//
// The loop over blocks
//===----------------------------------------------------------------------===//

void KernelPrinter::emitBlockLoop(scf::ForOp op) {
  hoistLoads(op);
  emitLocation(*op);
  std::string from = index(op.getLowerBound()).text(), to = index(op.getUpperBound()).text();
  std::vector<std::string> carried;
  for (auto [init, result] : llvm::zip(op.getInitArgs(), op.getResults()))
    carried.push_back(carry(init, result, op->getBlock()));
  for (auto [arg, name] : llvm::zip(op.getRegionIterArgs(), carried))
    bindVariable(arg, name);
  indexValues[op.getInductionVar()] = loopCounter(op, "start");
  out->open("const auto fetch = [&](int stage, int start) {");
  emitFetch(op);
  out->close("};");
  blockCarriers = carried;
  out->open("const auto compute = [&](int stage, int start) {");
  emitBlock(*op.getBody());
  emitYield(op.getBody()->getTerminator(), carried);
  out->close("};");
  out->line("pipelined<" + std::to_string(stages) + ", Rows>(" + from + ", " + to + ", " + index(op.getStep()).text() +
            ", fetch, compute);");
  for (auto [result, name] : llvm::zip(op.getResults(), carried))
    bindVariable(result, name);
}

/// Ops of `block` that `values` need, in order, up to loads of tiles.
static SmallVector<Operation *> scalarsFor(Block *block, SmallVector<Value> needed) {
  llvm::SmallDenseSet<Operation *> ops;
  while (!needed.empty()) {
    Operation *op = needed.pop_back_val().getDefiningOp();
    if (op && op->getBlock() == block && ops.insert(op).second)
      llvm::append_range(needed, op->getOperands());
  }
  SmallVector<Operation *> sorted(ops.begin(), ops.end());
  llvm::sort(sorted, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return sorted;
}

/// Starts the copies of one block's right operands.
void KernelPrinter::emitFetch(scf::ForOp op) {
  llvm::StringMap<int> outerNames = usedNames;
  size_t lookups = pageLookups.size();
  SmallVector<Value> needed;
  for (const OperandTree &tree : rowTiles->staged)
    for (Operation *part : tree.ops)
      for (Value operand : part->getOperands())
        if (!isTile(operand))
          needed.push_back(operand);
  for (Operation *scalar : scalarsFor(op.getBody(), needed))
    emitOp(*scalar);
  for (const OperandTree &tree : rowTiles->staged)
    emitStaged(tree);
  pageLookups.resize(lookups);
  usedNames = std::move(outerNames);
}

void KernelPrinter::emitStaged(const OperandTree &tree) {
  std::string target = tree.name + "Of(stage), ", threadCount = std::to_string(threads);
  if (auto load = tree.root.getDefiningOp<LoadOp>(); load && comesInUnits(load)) {
    bool isCopy = false;
    LambdaText lambda = unitText(load, isCopy);
    return out->call((isCopy ? "fillAsync<" : "fill<") + threadCount + ">(" + target, {lambda}, ");");
  }
  std::vector<std::string> missing;
  if (tree.rowLimit)
    missing.push_back("row >= " + index(tree.rowLimit).expr().in(Binding::Shift));
  if (tree.paddedColumns() > tree.columns)
    missing.push_back("col >= " + std::to_string(tree.columns));
  LambdaText lambda = treeText(tree, missing);
  out->call("fillEach<" + cType(rowTiles->operand) + ", " + threadCount + ">(" + target, {lambda}, ");");
}

/// Whether 8 lanes from a multiple of 8 lie side by side at a multiple of 8 times their size (from 2 bytes on: of 16
/// bytes), all or none of them in the buffer.
bool KernelPrinter::comesInUnits(LoadOp op) {
  auto type = cast<BufferType>(op.getBuffer().getType());
  if (type.getLayout() == Layout::Panel)
    return false;
  const unsigned lane = op.getMap().getNumDims() - 1;
  const unsigned contiguous = type.getLayout() == Layout::PagedK ? 1 : type.getDims().size() - 1;
  AffineExpr last = getAffineDimExpr(lane, op.getContext());
  for (auto [r, expr] : llvm::enumerate(op.getMap().getResults()))
    if (r == contiguous ? simplifyAffineExpr(expr - last, lane + 1, 0).isFunctionOfDim(lane)
                        : expr.isFunctionOfDim(lane))
      return false;
  SmallVector<IndexExpr> dims = access(op).indices;
  IndexExpr start = IndexExpr::evaluate(op.getMap().getResult(contiguous), dims).value_or(IndexExpr::constant(1));
  const Dim &dim = type.getDims()[contiguous];
  bool isWhole = dim.isStatic() ? dim.size % unit == 0 : dim.kind == fuse::DimKind::Paged;
  return isWhole && start.alignment(unit) == unit && options.pageTokens % unit == 0 && options.pageStride % 16 == 0;
}

/// `row < rows ? &valuesPage[...] : nullptr`, or eight operands from there.
LambdaText KernelPrinter::unitText(LoadOp op, bool &isCopy) {
  auto type = cast<BufferType>(op.getBuffer().getType());
  const std::string operand = cType(rowTiles->operand);
  isCopy = memoryType(type) == operand;
  MemoryAccess a = access(op);
  TileShape shape = shapeOf(op.getType());
  auto along = [](const char *name, int64_t extent, int64_t step) {
    IndexExpr v = IndexExpr::variable({name, Binding::Atom});
    v.min = 0;
    v.max = extent - step;
    v.divisor = step;
    v.perLane = true;
    return v;
  };
  MemoryPlace at = place(a, along("row", shape.rows, 1), along("col", shape.lanes, unit), Purpose::Load);
  std::vector<std::string> conditions = at.uniform;
  if (shape.lanes % 16 != 0)
    conditions.push_back("col < " + std::to_string(shape.lanes));
  llvm::append_range(conditions, at.perLane);
  std::string address = "&" + at.element.text;
  std::string text = isCopy ? address : "toOperands<" + operand + ">(loadFloats8(" + address + "))";
  LambdaText lambda;
  lambda.parameters = {"int row", "int col"};
  lambda.result = conditions.empty()
                      ? text
                      : llvm::join(conditions, " && ") + " ? " + text + " : " + (isCopy ? "nullptr" : "Operands8{}");
  return lambda;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Where whole warps hold padding only (a decode step on warpgroups), they take part in the products and skip what lies
/// between. The product that ends the part that begins behind `score`; null where all warps have rows, or values of
/// the part are read after it.
DotOp KernelPrinter::skippablePart(DotOp score) {
  if (rowTiles->usedWarps() == rowTiles->warps || rowTiles->stagedAs(score.getRhs())->isSummed)
    return {};
  SmallVector<DotOp> later;
  for (Operation *op = score->getNextNode(); op; op = op->getNextNode())
    if (auto dot = dyn_cast<DotOp>(op))
      later.push_back(dot);
  if (later.size() != 1)
    return {};
  DotOp last = later.front();
  Operation *weights = last.getLhs().getDefiningOp(), *kept = last.getAcc().getDefiningOp();
  bool fits = weights && kept && clusterRoot.lookup(weights) == weights && clusterRoot.lookup(kept) == kept &&
              last->hasOneUse() && isa<scf::YieldOp>(*last->user_begin()) && !assignsTo(*kept).empty();
  return fits ? last : DotOp();
}

void KernelPrinter::openSkippedPart(DotOp last) {
  declaredAhead = last.getLhs();
  skippedUntil = last;
  std::string name = fresh(nameFor(declaredAhead));
  out->line(tileType(declaredAhead) + " " + name + "{};");
  variables.insert(name);
  out->open("if (warpIndex() < " + std::to_string(rowTiles->usedWarps()) + ") { // the others' rows are padding");
}

/// What the loop carries is assigned in the part: its values end there.
void KernelPrinter::closeSkippedPart(DotOp last) {
  std::vector<std::pair<std::string, std::string>> assignments;
  for (auto [value, name] : llvm::zip(rowTiles->loop.getYieldedValues(), blockCarriers)) {
    if (value == last.getResult())
      continue;
    if (textOf(value) != name)
      assignments.push_back({name, textOf(value)});
    bindVariable(value, name);
  }
  assignAtOnce(std::move(assignments));
  out->close();
  skippedUntil = nullptr;
}

void KernelPrinter::emitRowsDot(DotOp op) {
  emitLocation(*op);
  if (skippedUntil == op)
    closeSkippedPart(op);
  std::string sum;
  if (isOverwritable(op.getAcc(), op->getBlock())) {
    sum = tileName(op.getAcc());
  } else {
    sum = fresh(nameFor(op));
    bool isZero = matchPattern(op.getAcc(), m_AnyZeroFloat());
    out->line(isZero ? tileType(op) + " " + sum + "{};" : "auto " + sum + " = " + tileName(op.getAcc()) + ";");
    variables.insert(sum);
  }
  const std::string operand = cType(rowTiles->operand);
  std::string left =
      op.getLhs() == rowTiles->query.root ? "query" : "asRows<" + operand + ">(" + tileName(op.getLhs()) + ")";
  out->line((rowTiles->isWarpgroup ? "dotWarpgroup<" : "dot<") + operand + ">(" + sum + ", " + left + ", " +
            rowTiles->stagedAs(op.getRhs())->name + "Of(stage));");
  bind(op, {sum});
  if (DotOp last = skippablePart(op))
    openSkippedPart(last);
}

} // namespace fusec::codegen::cuda
