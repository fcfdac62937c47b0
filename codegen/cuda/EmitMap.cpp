//===- EmitMap.cpp - elementwise chains on tiles ---------------------------===//
//
// An elementwise op whose only readers belong to one later elementwise op of the
// same shape is part of that op's lambda: a chain of ops becomes one `map` of
// scalar code. Broadcasts, constants and tile.index cost nothing and are written
// into every lambda that reads them.
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/MapCluster.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace fusec::tile;

namespace fusec::codegen::cuda {

TileShape KernelPrinter::paddedShape(Value value) const { return layouts.of(value).padded(shapeOf(value.getType())); }

std::string KernelPrinter::shapeText(TileShape shape, const TileLayout &layout) const {
  TileShape padded = layout.padded(shape);
  return std::to_string(padded.rows) + ", " + std::to_string(padded.lanes) + ", " + layout.name;
}

std::string KernelPrinter::tileType(Value value) {
  return "Tile<" + cType(getElementTypeOrSelf(value.getType())) + ", " + shapeText(value) + ">";
}

//===----------------------------------------------------------------------===//
// What belongs together
//===----------------------------------------------------------------------===//

bool isFree(Operation *op) { return isa<vector::BroadcastOp, vector::ShapeCastOp, IndexOp, arith::ConstantOp>(op); }

bool isElementwise(Operation *op) {
  return op->getNumResults() == 1 && isa<VectorType>(op->getResult(0).getType()) && op->getNumRegions() == 0 &&
         (isFree(op) || isa<arith::ArithDialect, math::MathDialect>(op->getDialect()));
}

void KernelPrinter::findClusters(Block &block) {
  for (Operation &op : llvm::reverse(block)) {
    if (!isElementwise(&op))
      continue;
    Operation *root = nullptr;
    bool joins = !op.use_empty(), readAsTile = false;
    for (Operation *user : op.getUsers()) {
      bool sameBlock = user->getBlock() == &block;
      readAsTile |= !isElementwise(user);
      Operation *userRoot = sameBlock && isElementwise(user) && !isFree(user) ? clusterRoot.lookup(user) : nullptr;
      joins &= userRoot && (!root || root == userRoot);
      root = userRoot;
    }
    joins &= root && shapeOf(op.getResult(0).getType()) == shapeOf(root->getResult(0).getType());
    if (isFree(&op))
      clusterRoot[&op] = readAsTile && !isa<arith::ConstantOp>(op) ? &op : nullptr;
    else
      clusterRoot[&op] = joins ? root : &op;
  }
}

//===----------------------------------------------------------------------===//
// One lambda
//===----------------------------------------------------------------------===//

static std::string tableText(DenseElementsAttr dense, llvm::function_ref<std::string(Attribute)> literal) {
  std::vector<std::string> elements;
  for (Attribute value : dense.getValues<Attribute>())
    elements.push_back(literal(value));
  return "{" + llvm::join(elements, ", ") + "}";
}

CExpr KernelPrinter::index(Cluster &c, IndexOp op, bool row, bool col) {
  bool alongLanes = static_cast<int64_t>(op.getDim()) == cast<VectorType>(op.getType()).getRank() - 1;
  IndexExpr at = index(op.getBase()).plus(alongLanes ? c.colIndex(col) : c.rowIndex(row));
  return wideIndices ? CExpr{"static_cast<int>(" + at.text() + ")"} : at.expr();
}

/// The element of `value` that goes with the lambda's element; `row` and `col` say whether it varies along them.
CExpr KernelPrinter::inCluster(Cluster &c, Value value, bool row, bool col) {
  if (auto known = c.known.find(value); known != c.known.end())
    return known->second;
  if (!isTile(value))
    return scalar(value);
  TileShape shape = shapeOf(value.getType());
  row &= shape.rows > 1;
  col &= shape.lanes > 1;
  Operation *op = value.getDefiningOp();
  if (auto constant = dyn_cast_or_null<arith::ConstantOp>(op)) {
    auto dense = cast<DenseElementsAttr>(constant.getValue());
    Type type = dense.getElementType();
    if (dense.isSplat())
      return literal(type, dense.getSplatValue<Attribute>());
    std::string table = fresh("table");
    c.lambda.statements.push_back("constexpr " + cType(type) + " " + table +
                                  "[] = " + tableText(dense, [&](Attribute a) { return literal(type, a).text; }) + ";");
    IndexExpr at = c.rowIndex(row).times(shape.lanes).plus(c.colIndex(col));
    return {table + "[" + at.text() + "]"};
  }
  if (auto index = dyn_cast_or_null<IndexOp>(op))
    return this->index(c, index, row, col);
  if (auto broadcast = dyn_cast_or_null<vector::BroadcastOp>(op))
    return inCluster(c, broadcast.getSource(), row, col);
  if (auto cast = dyn_cast_or_null<vector::ShapeCastOp>(op); cast && shapeOf(cast.getSource().getType()) == shape)
    return inCluster(c, cast.getSource(), row, col);
  bool isElsewhere = sharedRows.count(value) && layouts.of(value).name != c.layout->name;
  if (c.isElement || writtenOut.contains(value) || isElsewhere)
    return elementOf(c, value, row, col);
  std::string tile = tileName(value);
  auto at = llvm::find(c.tiles, tile);
  if (at == c.tiles.end()) {
    c.tiles.push_back(tile);
    c.lambda.parameters.push_back(cType(getElementTypeOrSelf(value.getType())) + " " + tile);
  }
  return {tile};
}

/// `result` is what `op` gives: part of the expression that reads it, or a variable of the lambda.
void KernelPrinter::addToCluster(Cluster &c, Operation &op, CExpr result, bool isRoot) {
  Value value = op.getResult(0);
  constexpr size_t longest = 72;
  bool isCompared = value.hasOneUse() && isa<arith::CmpFOp>(*value.user_begin());
  if (!isRoot && (!value.hasOneUse() || result.text.size() > longest || isCompared)) {
    std::string name = fresh(nameFor(value));
    c.lambda.statements.push_back("const " + cType(getElementTypeOrSelf(value.getType())) + " " + name + " = " +
                                  result.text + ";");
    result = CExpr{name};
  }
  c.known[value] = result;
}

/// Takes the conditions that all places have, and gives their opposites.
static std::vector<std::string> takeCommonConditions(llvm::MapVector<Operation *, MemoryPlace> &places) {
  std::vector<std::string> common, opposites;
  for (auto &[op, place] : places) {
    std::vector<std::string> own = place.uniform;
    llvm::append_range(own, place.perLane);
    if (op == places.front().first)
      common = own;
    llvm::erase_if(common, [&](const std::string &condition) { return !llvm::is_contained(own, condition); });
  }
  for (auto &[op, place] : places)
    for (std::vector<std::string> *list : {&place.uniform, &place.perLane})
      llvm::erase_if(*list, [&](const std::string &condition) { return llvm::is_contained(common, condition); });
  for (const std::string &condition : common)
    opposites.push_back(StringRef(condition).starts_with("inside(") ? "!" + condition : "!(" + condition + ")");
  return opposites;
}

/// The whole tree as a function of (row, col), loads included. Elements that do not exist, as `missing` says or because
/// no load finds them in its buffer, are zero.
LambdaText KernelPrinter::treeText(const OperandTree &tree, std::vector<std::string> missing) {
  Cluster c({tree.rows, tree.columns}, layouts.lanes());
  llvm::MapVector<Operation *, MemoryPlace> loads;
  Value root = tree.root;
  for (Operation &op : *root.getParentBlock())
    if (auto load = dyn_cast<LoadOp>(op); load && tree.ops.contains(load)) {
      MemoryAccess a = access(load);
      a.rows.reset();
      loads.insert({load, place(a, laneIndex("row", tree.rows), laneIndex("col", tree.columns), Purpose::Load)});
    }
  llvm::append_range(missing, takeCommonConditions(loads));
  for (auto &[op, at] : loads) { // what is computed of a row of zeros need not be zero
    Value rows = cast<LoadOp>(op).getRows();
    if (rows && rows != tree.rowLimit)
      at.perLane.insert(at.perLane.begin(), "row < " + index(rows).expr().in(Binding::Shift));
  }
  if (!missing.empty())
    c.lambda.statements = {"if (" + llvm::join(missing, " || ") + ")", "  return 0.0f;"};
  for (Operation &op : *root.getParentBlock()) {
    if (!tree.ops.contains(&op))
      continue;
    if (auto load = loads.find(&op); load != loads.end()) {
      CExpr element = load->second.element;
      std::string text = guarded(load->second, getElementTypeOrSelf(op.getResult(0).getType()));
      constexpr size_t longest = 40;
      bool isRoot = &op == root.getDefiningOp();
      if (text.size() <= longest || isRoot) {
        addToCluster(c, op, text == element.text ? element : CExpr{text, Binding::Or}, isRoot);
        continue;
      }
      std::string name = fresh(StringRef(access(cast<LoadOp>(op)).buffer.name).rtrim("0123456789").str() + "Value");
      c.lambda.statements.push_back("const " + cType(getElementTypeOrSelf(op.getResult(0).getType())) + " " + name +
                                    " = " + text + ";");
      c.known[op.getResult(0)] = {name};
      continue;
    }
    SmallVector<CExpr> operands;
    for (Value operand : op.getOperands())
      operands.push_back(inCluster(c, operand, true, true));
    std::optional<CExpr> text = lane(op, operands);
    if (!text)
      fail(&op, "has no CUDA lowering");
    addToCluster(c, op, text.value_or(CExpr{"0"}), &op == root.getDefiningOp());
  }
  c.lambda.result = c.known[root].text;
  c.lambda.parameters = {"int row", "int col"};
  return c.lambda;
}

/// A variable of the same role that nothing but `root`'s chain reads: it may take the result.
std::string KernelPrinter::overwrites(const Cluster &c, Operation &root) {
  Value result = root.getResult(0);
  for (auto &[known, text] : values) {
    Value value = known;
    if (value.getType() != result.getType() || !llvm::is_contained(c.tiles, text.text) || !variables.count(text.text) ||
        value.getParentBlock() != root.getBlock() || nameFor(value) != nameFor(result))
      continue;
    if (llvm::all_of(value.getUsers(), [&](Operation *user) { return clusterRoot.lookup(user) == &root; }))
      return text.text;
  }
  return "";
}

/// The loop variable that `root` is the next value of, if nothing printed later reads the present one.
std::string KernelPrinter::assignsTo(Operation &root) {
  auto loop = dyn_cast<scf::ForOp>(root.getParentOp());
  Operation *last = &root; // what is added to it on the way, is added in place
  if (auto dot = root.hasOneUse() ? dyn_cast<DotOp>(*root.user_begin()) : DotOp();
      dot && dot.getAcc() == root.getResult(0))
    last = dot;
  auto yield = last->hasOneUse() ? dyn_cast<scf::YieldOp>(*last->user_begin()) : scf::YieldOp();
  if (!loop || !yield || yield->getBlock() != root.getBlock() || yield->getBlock() != loop.getBody())
    return "";
  Value carried = loop.getRegionIterArgs()[last->use_begin()->getOperandNumber()];
  for (Operation *user : carried.getUsers()) {
    Operation *here = loop.getBody()->findAncestorOpInBlock(*user);
    Operation *printed = clusterRoot.lookup(here); // elementwise ops are printed with their root
    if (!printed && isFree(here))
      return ""; // printed with every reader
    if (printed && printed != here)
      here = printed;
    if (here != &root && !here->isBeforeInBlock(&root))
      return "";
  }
  return values.lookup(carried).text;
}

void KernelPrinter::emitMap(Operation &root) {
  if (auto cast = dyn_cast<vector::ShapeCastOp>(root);
      cast && !(shapeOf(cast.getSource().getType()) == shapeOf(cast.getType()))) {
    fail(&root, "changes rows and lanes");
    return;
  }
  Cluster c(shapeOf(root.getResult(0).getType()), layouts.of(root.getResult(0)));
  for (Operation &op : *root.getBlock()) {
    if (isFree(&op) || clusterRoot.lookup(&op) != &root)
      continue;
    SmallVector<CExpr> operands;
    for (Value operand : op.getOperands())
      operands.push_back(inCluster(c, operand, true, true));
    std::optional<CExpr> result = lane(op, operands);
    if (!result) {
      fail(&op, "has no CUDA lowering");
      return;
    }
    addToCluster(c, op, *result, &op == &root);
  }
  if (isFree(&root))
    c.known[root.getResult(0)] = inCluster(c, root.getResult(0), true, true);
  c.lambda.result = c.known[root.getResult(0)].text;
  // Literals may have another type than the tile.
  Type type = getElementTypeOrSelf(root.getResult(0).getType());
  if (c.tiles.empty() && type.isInteger() && !type.isInteger(1))
    c.lambda.result = "static_cast<" + cType(type) + ">(" + c.lambda.result + ")";
  if (c.usesPlace || c.tiles.empty()) {
    c.lambda.parameters.insert(c.lambda.parameters.begin(), {"int row", "int col"});
  }
  std::string carrier = assignsTo(root);
  if (root.getResult(0) == declaredAhead)
    carrier = nameFor(declaredAhead);
  else if (carrier.empty() && rowTiles)
    carrier = overwrites(c, root);
  std::string name = carrier.empty() ? fresh(nameFor(root.getResult(0))) : carrier;
  bool isCarried = root.hasOneUse() && (isa<scf::ForOp>(*root.user_begin()) || isa<DotOp>(*root.user_begin()));
  if (isCarried)
    variables.insert(name);
  std::string tiles = c.tiles.empty() ? "" : ", " + llvm::join(c.tiles, ", ");
  emitLocation(root);
  bind(root.getResult(0), {name});
  std::string declared = !carrier.empty() ? "" : isCarried ? "auto " : "const auto ";
  out->call(declared + name + " = " + (c.usesPlace || c.tiles.empty() ? "mapAt<" : "map<") +
                shapeText(root.getResult(0)) + ">(",
            {c.lambda}, tiles + ");");
}

//===----------------------------------------------------------------------===//
// Tiles as operands
//===----------------------------------------------------------------------===//

/// A tile as an argument of anything but an elementwise op: a variable, or a constant written out in `layout`.
std::string KernelPrinter::tileName(Value value, const TileLayout &layout) {
  if (auto known = values.find(value); known != values.end())
    return known->second.text;
  auto constant = value.getDefiningOp<arith::ConstantOp>();
  if (!constant) {
    fail(value.getDefiningOp() ? value.getDefiningOp() : kernel.getOperation(), "uses a tile that was not computed");
    return "0";
  }
  auto dense = cast<DenseElementsAttr>(constant.getValue());
  if (dense.isSplat()) {
    Type type = dense.getElementType();
    return "splat<" + cType(type) + ", " + shapeText(shapeOf(value.getType()), layout) + ">(" +
           literal(type, dense.getSplatValue<Attribute>()).text + ")";
  }
  Cluster c(shapeOf(value.getType()), layout);
  c.lambda.result = inCluster(c, value, true, true).text;
  c.lambda.parameters = {"int row", "int col"};
  std::string name = fresh("constants");
  out->call("const auto " + name + " = mapAt<" + shapeText(c.shape, layout) + ">(", {c.lambda}, ");");
  return name;
}

void KernelPrinter::emitExtract(vector::ExtractOp op) {
  TileShape to = shapeOf(op.getType());
  auto from = cast<VectorType>(op.getSource().getType());
  ArrayRef<int64_t> at = op.getStaticPosition();
  if (op.hasDynamicPosition() || at.empty() || from.getRank() > 2) {
    fail(op, "has no CUDA lowering");
    return;
  }
  emitLocation(*op);
  std::string source = tileName(op.getSource());
  if (isa<VectorType>(op.getType())) {
    std::string name = fresh(nameFor(op));
    out->line("const auto " + name + " = rowOf<" + std::to_string(at[0]) + ">(" + source + ");");
    return bind(op, {name});
  }
  int64_t row = at.size() == 2 ? at[0] : 0, col = at.back();
  if (shapeOf(from).lanes > 1)
    needExchange(8);
  std::string name = fresh(nameFor(op));
  std::string exchange = shapeOf(from).lanes > 1 ? "exchange, " : "";
  out->line("const " + cType(op.getType()) + " " + name + " = elementOf<" + std::to_string(row) + ", " +
            std::to_string(col) + ">(" + exchange + source + ");");
  bind(op, {name});
  (void)to;
}

} // namespace fusec::codegen::cuda
