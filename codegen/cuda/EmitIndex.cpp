//===- EmitIndex.cpp - index values and sizes ------------------------------===//
//
// Indices are `int`: sizes and positions stay below 2^31, and only addresses
// may need more (EmitMemory.cpp). What is known of loop counters and origins is
// what the host's emitter knows.
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/KernelPrinter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

#include <numeric>

using namespace mlir;
using namespace fusec::tile;
using fusec::fuse::Dim;

namespace fusec::codegen::cuda {

//===----------------------------------------------------------------------===//
// Sizes and origins
//===----------------------------------------------------------------------===//

std::string KernelPrinter::symbolName(StringAttr symbol) {
  if (llvm::find(options.symbols, symbol.getValue()) == options.symbols.end())
    fail(kernel, "unknown size symbol '" + symbol.getValue() + "'");
  usedSymbols.insert(symbol.getValue().str());
  return symbol.getValue().str();
}

/// A symbol that measures a paged dimension counts whole pages.
int64_t KernelPrinter::symbolAlignment(StringAttr symbol) {
  for (Type type : kernel.getBody().getArgumentTypes())
    for (const Dim &dim : cast<BufferType>(type).getDims())
      if (dim.kind == fuse::DimKind::Paged && dim.symbol == symbol)
        return options.pageTokens;
  return 1;
}

IndexExpr KernelPrinter::extent(const Dim &dim, int64_t minus) {
  if (dim.isStatic())
    return IndexExpr::constant(dim.size - minus);
  IndexExpr v = IndexExpr::variable({symbolName(dim.symbol), Binding::Atom});
  v.divisor = symbolAlignment(dim.symbol);
  v.min = 0;
  v.symbol = dim.symbol;
  return v.plus(-minus);
}

/// "token" for the tokens of a step, "column" for a tiled last axis.
static StringRef axisName(AxisAttr axis, bool isLast) {
  Dim extent = axis.getExtent();
  if (!extent.isStatic() && extent.symbol.getValue() == "T")
    return "token";
  if (!extent.isStatic() && extent.symbol.getValue() == "C")
    return "first";
  return isLast && axis.getTile() > 1 ? "column" : extent.isStatic() ? "part" : "item";
}

void KernelPrinter::findAxes() {
  auto grid = llvm::to_vector(kernel.getGrid().getAsRange<AxisAttr>());
  for (auto [number, axis] : llvm::enumerate(grid)) {
    Dim dim = axis.getExtent();
    GridAxis result;
    result.tile = axis.getTile();
    result.count = extent(dim, 1 - result.tile).floorDiv(result.tile);
    const bool isHead = rowTiles && dim.isStatic(); // rows of attention are tokens and heads
    StringRef wish = isHead ? "head" : axisName(axis, number + 1 == grid.size());
    IndexExpr origin = IndexExpr::variable({fresh(wish), Binding::Atom});
    origin.min = 0;
    origin.divisor = result.tile;
    if (dim.isStatic())
      origin.max = (result.count.offset - 1) * result.tile;
    if (dim.isStatic() && result.count.offset == 1)
      origin = IndexExpr::constant(0);
    if (!dim.isStatic()) {
      origin.symbol = dim.symbol;
      origin.margin = std::gcd(symbolAlignment(dim.symbol), result.tile);
    }
    result.origin = origin;
    axes.push_back(result);
  }
}

/// What is known about a loop counter: its alignment and its range.
IndexExpr KernelPrinter::loopCounter(scf::ForOp op, const std::string &name) {
  IndexExpr lower = index(op.getLowerBound()), upper = index(op.getUpperBound()), step = index(op.getStep());
  IndexExpr counter = IndexExpr::variable({name, Binding::Atom});
  if (step.isConstant())
    counter.divisor = std::max<int64_t>(1, lower.alignment(step.offset));
  counter.min = lower.min;
  if (upper.max)
    counter.max = *upper.max - 1;
  if (upper.isConstant() && lower.isConstant() && step.isConstant() && upper.offset > lower.offset)
    counter.max = lower.offset + (upper.offset - 1 - lower.offset) / step.offset * step.offset;
  else if (counter.max && *counter.max >= 0)
    counter.max = *counter.max / counter.divisor * counter.divisor;
  if (upper.symbol) { // counter < limit, both multiples of g: counter <= limit - g; the limit is upper or symbol -
                      // margin
    int64_t symbolMultiple = symbolAlignment(upper.symbol);
    counter.symbol = upper.symbol;
    counter.margin = upper.margin + std::max(std::gcd(upper.alignment(symbolMultiple), counter.divisor),
                                             std::gcd(std::gcd(symbolMultiple, upper.margin), counter.divisor));
  }
  return counter;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

IndexExpr KernelPrinter::index(Value value) {
  if (auto known = indexValues.find(value); known != indexValues.end())
    return known->second;
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return IndexExpr::constant(constant.getSExtValue());
  return IndexExpr::variable(scalar(value));
}

/// Binds an index: short ones and those read once are written where they are used, others get a variable.
void KernelPrinter::bindIndex(Value value, IndexExpr expr) {
  auto isLocal = [&](Operation *user) { return user->getBlock() == value.getParentBlock(); };
  bool isSimple =
      expr.isConstant() || (expr.expr().binding == Binding::Atom && expr.text().find('(') == std::string::npos);
  bool readOnce = value.hasOneUse() && isLocal(*value.user_begin()) &&
                  isa<arith::ArithDialect>((*value.user_begin())->getDialect());
  if (!isSimple && !readOnce && !value.use_empty()) {
    std::string name = fresh(nameFor(value));
    out->declare(name, "const " + std::string(indexType()) + " " + name + " = " + expr.text() + ";");
    expr = expr.named(name);
  }
  indexValues[value] = std::move(expr);
}

bool KernelPrinter::isIndexArith(Operation &op) {
  return op.getNumResults() == 1 && op.getResult(0).getType().isIndex() &&
         isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::FloorDivSIOp, arith::DivUIOp, arith::RemUIOp,
             arith::DivSIOp, arith::RemSIOp, arith::MinSIOp, arith::MaxSIOp, arith::SelectOp>(op);
}

void KernelPrinter::emitIndexArith(Operation &op) {
  IndexExpr x = index(op.getOperand(op.getNumOperands() - 2)), y = index(op.getOperand(op.getNumOperands() - 1));
  auto compute = [&]() -> IndexExpr {
    if (isa<arith::AddIOp>(op))
      return x.plus(y);
    if (isa<arith::MulIOp>(op))
      return x.times(y);
    if (isa<arith::MinSIOp>(op))
      return IndexExpr::smaller(x, y);
    if (isa<arith::MaxSIOp>(op))
      return IndexExpr::larger(x, y);
    if (isa<arith::SelectOp>(op)) {
      CExpr c = scalar(op.getOperand(0));
      return IndexExpr::either(
          {c.in(Binding::Or) + " ? " + x.expr().in(Binding::Or) + " : " + y.expr().in(Binding::Or), Binding::Or}, x, y);
    }
    if (!isa<arith::SubIOp>(op))
      return division(op, x, y);
    IndexExpr r = x.plus(y.times(-1));
    // What is left of a loop: its counter is below its upper bound.
    auto counter = dyn_cast<BlockArgument>(op.getOperand(1));
    auto loop = counter ? dyn_cast<scf::ForOp>(counter.getOwner()->getParentOp()) : scf::ForOp();
    if (loop && counter == loop.getInductionVar() && loop.getUpperBound() == op.getOperand(0))
      r.min = std::max<int64_t>(1, r.min.value_or(1));
    return r;
  };
  IndexExpr result = compute();
  if (isa<arith::SelectOp>(op) && !result.isConstant()) { // a conditional reads badly inside anything else
    std::string name = fresh(nameFor(op.getResult(0)));
    out->declare(name, "const " + std::string(indexType()) + " " + name + " = " + result.text() + ";");
    result = result.named(name);
  }
  bindIndex(op.getResult(0), result);
}

IndexExpr KernelPrinter::division(Operation &op, const IndexExpr &x, const IndexExpr &y) {
  bool isRemainder = isa<arith::RemUIOp, arith::RemSIOp>(op);
  bool isUnsigned = isa<arith::DivUIOp, arith::RemUIOp>(op);
  bool byPositive = y.isConstant() && y.offset > 0;
  if (byPositive && (isa<arith::FloorDivSIOp>(op) || (x.min && *x.min >= 0)))
    return isRemainder ? x.modulo(y.offset) : x.floorDiv(y.offset);
  if (isa<arith::FloorDivSIOp>(op)) {
    fail(&op, "needs a constant positive divisor");
    return IndexExpr::constant(0);
  }
  // The sign of x is not known: an unsigned quotient is one of 64 bits.
  std::string cast = isUnsigned ? "static_cast<unsigned long long>(static_cast<long long>(" : "";
  std::string end = isUnsigned ? "))" : "";
  CExpr l = isUnsigned ? CExpr{cast + x.text() + end} : x.expr(),
        r = isUnsigned ? CExpr{cast + y.text() + end} : y.expr();
  CExpr text{l.in(Binding::Product) + (isRemainder ? " % " : " / ") + r.in(Binding::Unary), Binding::Product};
  if (isUnsigned)
    text = {"static_cast<" + std::string(indexType()) + ">(" + text.text + ")", Binding::Atom};
  IndexExpr v = IndexExpr::variable(text);
  v.perLane = x.perLane || y.perLane;
  if (!byPositive)
    return v;
  if (isRemainder) {
    v.min = isUnsigned ? 0 : 1 - y.offset;
    v.max = y.offset - 1;
  } else if (!isUnsigned && x.max && *x.max >= 0) {
    v.max = *x.max / y.offset;
  }
  return v;
}

void KernelPrinter::emitIndexCast(Operation &op) {
  IndexExpr v = IndexExpr::variable(scalar(op.getOperand(0)));
  if (isa<arith::IndexCastUIOp>(op)) {
    auto type = cast<IntegerType>(op.getOperand(0).getType());
    v.base = {"static_cast<" + std::string(indexType()) + ">(" + v.base.text + ")", Binding::Atom};
    if (type.getWidth() < 32)
      v.min = 0;
  }
  indexValues[op.getResult(0)] = v;
}

} // namespace fusec::codegen::cuda
