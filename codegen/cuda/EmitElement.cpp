//===- EmitElement.cpp - one element of a tile as an expression ------------===//
//
// A product on tensor cores does not want its left operand as a tile: each
// thread asks for 8 consecutive k of one row when it needs them,
//
//   [=](int row, int k) { return toOperands<Bfloat>(loadFloats8(input + (token + row) * 576 + k)); }
//
// So elementwise ops and the loads they read are written as an expression of the
// place. Loads that bring 8 neighbours in 16-byte pieces are the arguments of a
// lambda on their elements; where one cannot, all 8 are computed one by one.
//
// Rows past the last one are read as the last: what is computed of them is not
// stored.
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/MapCluster.h"
#include "codegen/cuda/SlicedProduct.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace fusec::tile;

namespace fusec::codegen::cuda {

static constexpr int64_t vectorLanes = 8;

/// The element of a tile that exists nowhere, or in another layout.
CExpr KernelPrinter::elementOf(Cluster &c, Value value, bool row, bool col) {
  if (auto shared = sharedRows.find(value); shared != sharedRows.end())
    return {shared->second + "[" + c.rowIndex(row).text() + "]"};
  Operation *op = value.getDefiningOp();
  if (auto load = dyn_cast_or_null<LoadOp>(op))
    return c.known[value] = loadedElement(c, load, row, col);
  SmallVector<CExpr> operands;
  if (op && isElementwise(op))
    for (Value operand : op->getOperands())
      operands.push_back(inCluster(c, operand, row, col));
  std::optional<CExpr> result = operands.empty() ? std::nullopt : lane(*op, operands);
  if (!result) {
    fail(op ? op : kernel.getOperation(), "has no CUDA lowering as an expression");
    return {"0"};
  }
  addToCluster(c, *op, *result, false);
  return c.known[value];
}

CExpr KernelPrinter::loadedElement(Cluster &c, LoadOp op, bool row, bool col) {
  MemoryAccess a = access(op);
  IndexExpr zero = IndexExpr::constant(0), rowAt = row ? c.row : zero;
  c.usesPlace |= row || col;
  if (!c.inVectors || !col) {
    MemoryPlace at = place(a, rowAt, col ? c.col : zero, c.isElement ? Purpose::LoadClamped : Purpose::Load);
    bool isGuarded = !at.uniform.empty() || !at.perLane.empty();
    return {guarded(at, a.element), isGuarded ? Binding::Or : Binding::Atom};
  }
  std::optional<std::string> eight = floats8(a, rowAt, c.col);
  c.failsInVectors |= !eight;
  std::string name = fresh(nameFor(op));
  c.tiles.push_back(eight.value_or(""));
  c.lambda.parameters.push_back(cType(a.element) + " " + name);
  return {name};
}

/// The load of 8 elements side by side, at a multiple of 16 bytes; nullopt where that is not certain.
std::optional<std::string> KernelPrinter::floats8(const MemoryAccess &a, const IndexExpr &row, const IndexExpr &col) {
  if (!a.element.isF32() || a.buffer.type.getLayout() != Layout::Rows)
    return std::nullopt;
  MemoryPlace at = place(a, row, col, Purpose::LoadClamped);
  MemoryPlace first = place(a, row, IndexExpr::constant(0), Purpose::LoadClamped);
  constexpr int64_t alignedFloats = 4;
  bool isConsecutive = first.offset.plus(col).text() == at.offset.text();
  bool isCertain = at.uniform.empty() && at.perLane.empty();
  if (!isConsecutive || !isCertain || first.offset.alignment(alignedFloats) != alignedFloats)
    return std::nullopt;
  return "loadFloats8(" + a.buffer.name + " + " + first.offset.expr().in(Binding::Sum) + ")";
}

/// The lines of a lambda's call as statements of another lambda.
static std::vector<std::string> nested(StringRef before, const LambdaText &lambda, StringRef after) {
  SourceText text;
  text.call(before, {lambda}, after);
  std::vector<std::string> lines;
  SmallVector<StringRef> parts;
  std::string whole = text.text();
  StringRef(whole).split(parts, '\n', -1, false);
  for (StringRef part : parts)
    lines.push_back(part.str());
  return lines;
}

/// A variable that is made only to be returned is returned as an expression.
static void returnLast(LambdaText &lambda) {
  StringRef last = lambda.statements.empty() ? StringRef() : StringRef(lambda.statements.back());
  std::string start = "const float " + lambda.result + " = ";
  if (!last.consume_front(start) || !last.consume_back(";"))
    return;
  lambda.result = last.str();
  lambda.statements.pop_back();
}

/// Prints what a step of the loop computes in scalars; `k` is its counter.
SourceText KernelPrinter::bindStep(SlicedProduct &product, int64_t divisor) {
  scf::ForOp steps = product.steps;
  IndexExpr k = laneIndex("k", product.columns);
  k.divisor = divisor;
  k.max = product.columns - divisor;
  indexValues[steps.getInductionVar()] = k;
  SourceText text;
  SourceText *outside = std::exchange(out, &text);
  std::string here = location;
  for (Operation &op : *steps.getBody())
    if (llvm::none_of(op.getResultTypes(), llvm::IsaPred<VectorType>))
      emitOp(op);
  location = here;
  out = outside;
  return text;
}

/// The lambda with what `step` computes for it before.
static LambdaText withStep(SourceText step, LambdaText lambda) {
  step.line(llvm::join(lambda.statements, " ") + lambda.result); // keeps what the lambda reads
  std::vector<std::string> lines = step.lines();
  lines.pop_back();
  llvm::erase_if(lines, [](StringRef line) { return line.starts_with("//"); });
  lambda.statements.insert(lambda.statements.begin(), lines.begin(), lines.end());
  return lambda;
}

/// `(row, k) -> Operands8`: elements k .. k + 7 of a row of `value`, rounded to the product's operand type.
LambdaText KernelPrinter::operandsText(Value value, SlicedProduct &product, TileShape padded) {
  llvm::StringMap<int> names = usedNames;
  SourceText step = bindStep(product, vectorLanes);
  auto attempt = [&](bool inVectors) {
    usedNames = names;
    Cluster c(shapeOf(value.getType()), layouts.lanes());
    c.isElement = true;
    c.inVectors = inVectors;
    c.row = laneIndex("row", padded.rows);
    c.col = laneIndex("i", vectorLanes);
    c.lambda.result = inCluster(c, value, true, true).text;
    returnLast(c.lambda);
    return c;
  };
  Cluster c = attempt(true);
  if (c.failsInVectors)
    c = attempt(false);
  LambdaText lambda;
  lambda.parameters = {"int row", "int k"};
  std::string round = "toOperands<" + cType(product.operand) + ">(";
  bool isPlain = c.inVectors && c.tiles.size() == 1 && c.lambda.statements.empty() &&
                 c.lambda.parameters.front() == "float " + c.lambda.result;
  if (isPlain) {
    lambda.result = round + c.tiles.front() + ")";
  } else {
    if (!c.inVectors)
      c.lambda.parameters = {"int i"};
    std::string tiles = c.tiles.empty() ? "" : ", " + llvm::join(c.tiles, ", ");
    lambda.statements =
        nested(c.inVectors ? "const Floats8 x = each8(" : "const Floats8 x = floats8(", c.lambda, tiles + ");");
    lambda.result = round + "x)";
  }
  usedNames = std::move(names);
  return withStep(step, lambda);
}

/// `(row, k) -> float`.
LambdaText KernelPrinter::elementText(Value value, SlicedProduct &product) {
  llvm::StringMap<int> names = usedNames;
  SourceText step = bindStep(product, 1);
  Cluster c(shapeOf(value.getType()), layouts.lanes());
  c.isElement = true;
  c.col = IndexExpr::constant(0);
  c.lambda.parameters = {"int row", "int k"};
  c.lambda.result = inCluster(c, value, true, true).text;
  returnLast(c.lambda);
  usedNames = std::move(names);
  return withStep(step, c.lambda);
}

} // namespace fusec::codegen::cuda
