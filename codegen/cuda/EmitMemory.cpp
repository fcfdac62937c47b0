//===- EmitMemory.cpp - tile.load and tile.store ---------------------------===//
//
// A load is a lambda (row, col) that gives an element. Lanes outside a buffer
// read nothing and give zero; a lane outside a cache reads one inside. Stores
// skip what lies outside. Where all lanes of an access lie in one cache page, the
// page is looked up once, before it.
//
// Offsets are int, except in buffers that may have 2^31 elements or more.
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/KernelPrinter.h"

#include "ir/tile/LazyLoad.h"
#include "runtime/schema/PanelLayout.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace fusec::tile;
using fusec::fuse::Dim;

namespace fusec::codegen::cuda {

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

MemoryAccess KernelPrinter::access(Operation *op, Value buffer, ValueRange indices, AffineMap map, Value pages,
                                   Type value) {
  MemoryAccess a{op, buffers[buffer], {}, map, {}, {}, 0, getElementTypeOrSelf(value)};
  if (pages)
    a.pages = buffers[pages];
  for (auto [d, i] : llvm::enumerate(indices))
    a.indices.push_back(map.isFunctionOfDim(d) ? index(i) : IndexExpr::constant(0));
  if (auto vector = dyn_cast<VectorType>(value))
    a.rank = vector.getRank();
  return a;
}

MemoryAccess KernelPrinter::access(LoadOp op) {
  MemoryAccess a = access(op, op.getBuffer(), op.getIndices(), op.getMap(), op.getPages(), op.getType());
  if (op.getRows())
    a.rows = index(op.getRows());
  return a;
}
MemoryAccess KernelPrinter::access(StoreOp op) {
  MemoryAccess a = access(op, op.getBuffer(), op.getIndices(), op.getMap(), op.getPages(), op.getValue().getType());
  if (op.getRows())
    a.rows = index(op.getRows());
  return a;
}

static bool isBelow(const IndexExpr &index, const Dim &dim) {
  if (dim.isStatic())
    return index.max && *index.max < dim.size;
  return index.symbol == dim.symbol && index.margin >= 1;
}
static bool isNonNegative(const IndexExpr &index) { return index.min && *index.min >= 0; }

/// What an index must fulfil to lie in [0, extent); empty when it provably does.
static std::string condition(const IndexExpr &index, const Dim &dim, const IndexExpr &extent) {
  bool below = isBelow(index, dim), nonNegative = isNonNegative(index);
  if (below && nonNegative)
    return "";
  if (below)
    return index.expr().in(Binding::Shift) + " >= 0";
  if (nonNegative)
    return index.expr().in(Binding::Shift) + " < " + extent.expr().in(Binding::Shift);
  return "inside(" + index.text() + ", " + extent.text() + ")";
}

/// The index along one lane dimension, with its range.
IndexExpr laneIndex(const std::string &name, int64_t extent) {
  if (extent == 1)
    return IndexExpr::constant(0);
  IndexExpr v = IndexExpr::variable({name});
  v.min = 0;
  v.max = extent - 1;
  v.perLane = true;
  return v;
}

MemoryPlace KernelPrinter::place(const MemoryAccess &a, const IndexExpr &row, const IndexExpr &col, Purpose purpose) {
  bool isStore = purpose == Purpose::Store;
  SmallVector<IndexExpr> first = a.indices, dims = a.indices, at; // first: of row 0
  if (a.rank >= 1)
    first.back() = first.back().plus(col);
  if (a.rank >= 2)
    dims[dims.size() - 2] = dims[dims.size() - 2].plus(row);
  if (a.rank >= 1)
    dims.back() = dims.back().plus(col);
  MemoryPlace result;
  if (a.rows && !(row.max && a.rows->isConstant() && *row.max < a.rows->offset))
    (row.perLane ? result.perLane : result.uniform)
        .push_back(row.expr().in(Binding::Shift) + " < " + a.rows->expr().in(Binding::Shift));
  for (auto [r, expr] : llvm::enumerate(a.map.getResults())) {
    std::optional<IndexExpr> index = IndexExpr::evaluate(expr, dims);
    if (!index) {
      fail(a.op, "an index map is not affine");
      return result;
    }
    at.push_back(*index);
    const Dim &dim = a.buffer.type.getDims()[r];
    bool isLookedUp = a.buffer.type.isPaged() && r < 2 && !isStore; // pagedElement() forces these into the table
    std::string needed = isLookedUp ? "" : condition(*index, dim, extent(dim));
    if (needed.empty())
      continue;
    std::optional<IndexExpr> ofFirst = IndexExpr::evaluate(expr, first);
    if (purpose == Purpose::LoadClamped && ofFirst && isNonNegative(*index) && isBelow(*ofFirst, dim)) {
      at.back() = IndexExpr::smaller(*index, extent(dim, 1));
      continue;
    }
    (index->perLane ? result.perLane : result.uniform).push_back(needed);
    at.back().min = std::max<int64_t>(0, at.back().min.value_or(0)); // where the condition holds
  }
  if (a.buffer.type.getLayout() == Layout::Panel)
    result.element = panelElement(a, at);
  else if (a.buffer.type.isPaged())
    result.element = pagedElement(a, at, isStore);
  else
    result.element = {a.buffer.name + "[" + (result.offset = rowsOffset(a, at)).text() + "]"};
  return result;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// `(token * 9 + head) * 64 + col`.
IndexExpr KernelPrinter::rowsOffset(const MemoryAccess &a, ArrayRef<IndexExpr> at) {
  ArrayRef<Dim> dims = a.buffer.type.getDims();
  constexpr double most = 1 << 20, limit = 1u << 31; // what a size may reach, and an int
  double elements = 1;
  for (const Dim &dim : dims)
    elements *= dim.isStatic() ? static_cast<double>(dim.size) : most;
  bool isWide = elements >= limit && !wideIndices && dims.size() > 1;
  IndexExpr offset = IndexExpr::constant(0);
  for (auto [r, index] : llvm::enumerate(at)) {
    if (r > 0)
      offset = offset.times(extent(dims[r]));
    IndexExpr term = index;
    if (r == 0 && isWide && !index.isConstant())
      term = IndexExpr::variable({"static_cast<long long>(" + index.text() + ")"});
    offset = offset.plus(term);
  }
  return offset;
}

/// `weights.value<16>(column + col, k, step)`: the run of k from an aligned start is said as such.
CExpr KernelPrinter::panelElement(const MemoryAccess &a, ArrayRef<IndexExpr> at) {
  ArrayRef<Dim> dims = a.buffer.type.getDims();
  if (!dims[0].isStatic() || !dims[1].isStatic() || !a.element.isF32()) {
    fail(a.op, "packed weights are static matrices of f32");
    return {"0"};
  }
  const IndexExpr &n = at[0], &k = at[1];
  constexpr int64_t longestRun = 256;
  for (const auto &split : k.splits) {
    int64_t aligned = split->coarse.alignment(longestRun);
    int64_t run = aligned == 0 ? longestRun : aligned & -aligned;
    if (run > *split->fine.max && !split->coarse.perLane && split->fine.perLane)
      return {a.buffer.name + ".value<" + std::to_string(run) + ">(" + n.text() + ", " + split->coarse.text() + ", " +
              split->fine.text() + ")"};
  }
  return {a.buffer.name + ".value(" + n.text() + ", " + k.text() + ")"};
}

/// The variable that holds what is the same for all lanes.
std::string KernelPrinter::lookUp(const std::string &value, const std::string &type, const std::string &wish) {
  auto known = llvm::find_if(pageLookups, [&](auto &p) { return p.first == value; });
  if (known == pageLookups.end()) {
    std::string name = fresh(wish);
    out->line(type + " " + name + " = " + value + ";");
    known = pageLookups.insert(pageLookups.end(), {value, name});
  }
  return known->second;
}

/// `blockTable[sequence * B + block]`; in the contiguous layout `blockTable[sequence * B] + block`. What all lanes
/// share is looked up before.
IndexExpr KernelPrinter::pageNumber(const MemoryAccess &a, const IndexExpr &row, const IndexExpr &block) {
  const bool counts = options.kvLayout == KvLayout::Contiguous;
  const IndexExpr entry = counts ? row : row.plus(block);
  std::string number = a.pages.name + "[" + entry.text() + "]";
  if ((rowTiles || counts) && !entry.perLane) // keys and values of a block lie in pages of one number
    number = lookUp(number, "const int", counts ? "firstPage" : "pageNumber");
  IndexExpr looked = IndexExpr::variable({number});
  looked.perLane = entry.perLane;
  return counts ? looked.plus(block) : looked;
}

/// `keysPage[(head * 64 + step) * 64 + col]`, with the page looked up before where all lanes share it.
CExpr KernelPrinter::pagedElement(const MemoryAccess &a, ArrayRef<IndexExpr> at, bool isStore) {
  ArrayRef<Dim> dims = a.buffer.type.getDims(), table = a.pages.type.getDims();
  if (!dims[2].isStatic() || !dims[3].isStatic()) {
    fail(a.op, "a cache has a static number of heads and channels");
    return {"0"};
  }
  int64_t heads = dims[2].size, channels = dims[3].size, tokens = options.pageTokens;
  IndexExpr sequence = at[0], block = at[1].floorDiv(tokens), slot = at[1].modulo(tokens);
  auto forced = [&](const IndexExpr &index, const Dim &dim, bool isInside) {
    if (isInside || isStore) // stores test instead
      return index;
    IndexExpr last = extent(dim, 1);
    IndexExpr r = IndexExpr::variable(
        {(isNonNegative(index) ? "smaller(" : "clamped(") + index.text() + ", " + last.text() + ")"});
    r.perLane = index.perLane;
    return r;
  };
  sequence = forced(sequence, dims[0], isNonNegative(sequence) && isBelow(sequence, dims[0]));
  block = forced(block, table[1], isNonNegative(at[1]) && isBelow(at[1], dims[1]));
  int64_t stride =
      options.pageStride ? options.pageStride : heads * channels * tokens * a.buffer.type.getElementBytes();
  IndexExpr number = pageNumber(a, sequence.times(extent(table[1])), block);
  std::string lookup = "page(" + a.buffer.name + ", " + number.text() + ", " + std::to_string(stride) + ")";
  if (!number.perLane)
    lookup = lookUp(lookup, "auto *const", a.buffer.name + "Page");
  bool isK = a.buffer.type.getLayout() == Layout::PagedK;
  IndexExpr inHead = isK ? at[3].times(tokens).plus(slot) : slot.times(channels).plus(at[3]);
  IndexExpr offset = isK ? at[2].times(channels).plus(at[3]).times(tokens).plus(slot)
                         : at[2].times(tokens).plus(slot).times(channels).plus(at[3]);
  return {lookup + "[" + offset.text() + "]"};
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

/// The element where it exists, else zero.
std::string KernelPrinter::guarded(const MemoryPlace &place, Type element) {
  std::vector<std::string> conditions = place.uniform;
  llvm::append_range(conditions, place.perLane);
  if (conditions.empty())
    return place.element.text;
  std::string zero = element.isF64()                 ? "0.0"
                     : element.isF32()               ? "0.0f"
                     : isa<FloatType>(element)       ? cType(element) + "(0.0f)"
                     : element.isInteger(1)          ? "false"
                     : element.isSignlessInteger(32) ? "0"
                                                     : "static_cast<" + cType(element) + ">(0)";
  return llvm::join(conditions, " && ") + " ? " + place.element.text + " : " + zero;
}

LambdaText KernelPrinter::loadText(const MemoryAccess &a, const std::string &row, const std::string &col,
                                   TileShape shape) {
  MemoryPlace at = place(a, laneIndex(row, shape.rows), laneIndex(col, shape.lanes), Purpose::Load);
  if (rowTiles && !a.rows && a.rank == 2 && shape.rows == rowTiles->rows && shape.rows < rowTiles->paddedRows())
    at.perLane.insert(at.perLane.begin(), row + " < " + std::to_string(shape.rows));
  if (rowTiles && a.rank == 2 && shape.lanes > 1 && shape.lanes % 16 != 0)
    at.perLane.insert(at.perLane.begin(), col + " < " + std::to_string(shape.lanes));
  LambdaText lambda;
  lambda.parameters = {"int " + row, "int " + col};
  lambda.result = guarded(at, a.element);
  return lambda;
}

void KernelPrinter::emitLoad(LoadOp op) {
  auto type = cast<BufferType>(op.getBuffer().getType());
  bool isBlocks = type.getStorage() && info(*type.getStorage()).blockElements > 1;
  if (isBlocks && type.getLayout() != Layout::Panel) {
    fail(op, "block storage needs the panel layout");
    return;
  }
  if (isLazy(op) || hoisted.contains(op))
    return;
  emitLocation(*op);
  MemoryAccess a = access(op);
  TileShape own = loadedShape(op), shape = paddedShape(op);
  std::string element = cType(a.element), name = fresh(nameFor(op));
  if (!isTile(op)) {
    IndexExpr zero = IndexExpr::constant(0);
    std::string text = guarded(place(a, zero, zero, Purpose::Load), a.element);
    out->declare(name, "const " + element + " " + name + " = " + text + ";");
    return bind(op, {name});
  }
  LambdaText lambda = loadText(a, "row", "col", rowTiles ? own : shape);
  Operation *user = op->hasOneUse() ? *op->user_begin() : nullptr;
  bool isCarried = user && isa<scf::ForOp, DotOp>(user);
  if (isCarried)
    variables.insert(name);
  out->call((isCarried ? "auto " : "const auto ") + name + " = load<" + element + ", " +
                shapeText(own, layouts.of(op)) + ">(",
            {lambda}, ");");
  bind(op, {name});
}

//===----------------------------------------------------------------------===//
// Stores
//===----------------------------------------------------------------------===//

void KernelPrinter::emitStore(StoreOp op) {
  if (isScores(op.getBuffer()))
    return emitBest(op);
  emitLocation(*op);
  MemoryAccess a = access(op);
  TileShape own = shapeOf(op.getValue().getType()), shape = paddedShape(op.getValue());
  bool isScalar = !isTile(op.getValue());
  std::string value = isScalar ? scalar(op.getValue()).text : "value";
  if (a.buffer.type.getStorage().value_or(StorageType::F32) != StorageType::F32)
    value = memoryType(a.buffer.type) + "(" + value + ")";
  // What all lanes share is tested, and a page looked up, before the lanes are.
  SourceText inner(out->currentDepth() + 1);
  SourceText *outside = std::exchange(out, &inner);
  size_t lookups = pageLookups.size();
  MemoryPlace at = place(a, laneIndex("row", own.rows), laneIndex("col", own.lanes), Purpose::Store);
  std::string assignment = at.element.text + " = " + value + ";";
  if (isScalar) {
    at.uniform.insert(at.uniform.begin(), "threadIdx.x == 0");
    out->line(assignment);
  } else {
    if (shape.lanes > own.lanes)
      at.perLane.insert(at.perLane.begin(), "col < " + std::to_string(own.lanes));
    if (shape.rows > own.rows && !a.rows)
      at.perLane.insert(at.perLane.begin(), "row < " + std::to_string(own.rows));
    LambdaText lambda;
    lambda.parameters = {"int row", "int col", cType(a.element) + " value"};
    lambda.statements = {assignment};
    if (!at.perLane.empty())
      lambda.statements = {"if (" + llvm::join(at.perLane, " && ") + ")", "  " + assignment};
    out->call("store(" + tileName(op.getValue()) + ", ", {lambda}, ");");
  }
  out = outside;
  if (at.uniform.empty()) {
    out->append(inner, -1);
    return;
  }
  pageLookups.resize(lookups); // those made here end with the braces
  bool isOneLine = inner.lines().size() == 1;
  out->open("if (" + llvm::join(at.uniform, " && ") + (isOneLine ? ")" : ") {"));
  out->append(inner, 0);
  if (isOneLine)
    out->dedent();
  else
    out->close();
}

} // namespace fusec::codegen::cuda
