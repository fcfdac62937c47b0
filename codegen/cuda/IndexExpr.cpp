//===- IndexExpr.cpp -------------------------------------------------------===//
#include "codegen/cuda/IndexExpr.h"

#include "mlir/IR/AffineExprVisitor.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

namespace fusec::codegen::cuda {

namespace {

int64_t floorDivide(int64_t a, int64_t m) { return a / m - (a % m < 0); }

std::optional<int64_t> sum(std::optional<int64_t> a, std::optional<int64_t> c) {
  int64_t result = 0;
  bool known = a && c && !llvm::AddOverflow(*a, *c, result);
  return known ? std::optional(result) : std::nullopt;
}

std::optional<int64_t> product(std::optional<int64_t> a, int64_t c) {
  int64_t result = 0;
  bool known = a && !llvm::MulOverflow(*a, c, result);
  return known ? std::optional(result) : std::nullopt;
}

int64_t wholeDivisor(const IndexExpr &a) { return std::gcd(a.divisor, a.offset); }

std::string number(int64_t v) {
  // The most negative int has no literal of its own.
  return v > INT32_MIN && v <= INT32_MAX ? std::to_string(v) : std::to_string(v) + "LL";
}

constexpr size_t mostSplits = 4;

void addSplit(IndexExpr &r, const IndexExpr &coarse, const IndexExpr &fine) {
  bool useful = fine.min && fine.max && *fine.min >= 0 && wholeDivisor(coarse) > *fine.max;
  if (useful && r.splits.size() < mostSplits)
    r.splits.push_back(std::make_shared<IndexSplit>(IndexSplit{coarse, fine}));
}

/// The ways to split a sum that follow from those of its parts.
void splitSum(IndexExpr &r, const IndexExpr &a, const IndexExpr &c) {
  for (const auto &[whole, part] : {std::pair(&a, &c), std::pair(&c, &a)})
    for (const auto &split : whole->splits)
      addSplit(r, split->coarse, split->fine.plus(*part));
  addSplit(r, a, c);
  addSplit(r, c, a);
}

/// The split whose fine part never reaches the next multiple of m.
const IndexSplit *blockOf(const IndexExpr &a, int64_t m) {
  for (const auto &split : a.splits)
    if (wholeDivisor(split->coarse) % m == 0 && *split->fine.min >= 0 && *split->fine.max < m)
      return split.get();
  return nullptr;
}

/// `function(a, c)` with a constant last: the first argument decides the type.
CExpr call(const std::string &function, const IndexExpr &a, const IndexExpr &c) {
  if (a.isConstant())
    return call(function, c, a);
  return {function + "(" + a.text() + ", " + c.text() + ")", Binding::Atom};
}

} // namespace

IndexExpr IndexExpr::constant(int64_t v) {
  IndexExpr r;
  r.offset = v;
  r.min = r.max = v;
  return r;
}

IndexExpr IndexExpr::variable(CExpr text) {
  IndexExpr r;
  r.base = std::move(text);
  r.divisor = 1;
  return r;
}

int64_t IndexExpr::alignment(int64_t m) const { return std::gcd(std::gcd(divisor, m), offset); }

CExpr IndexExpr::expr() const {
  if (isConstant())
    return {number(offset), offset < 0 ? Binding::Unary : Binding::Atom};
  if (offset == 0)
    return base;
  std::string sign = offset < 0 ? " - " : " + ";
  return {base.in(Binding::Sum) + sign + number(offset < 0 ? -offset : offset), Binding::Sum};
}

IndexExpr IndexExpr::named(const std::string &name) const {
  IndexExpr r = *this;
  r.base = {name, Binding::Atom};
  r.offset = 0;
  r.divisor = std::max<int64_t>(1, wholeDivisor(*this));
  return r;
}

IndexExpr IndexExpr::plus(int64_t c) const {
  IndexExpr r = *this;
  r.offset += c;
  r.min = sum(min, c);
  r.max = sum(max, c);
  r.margin -= c;
  r.splits.clear();
  for (const auto &split : splits)
    addSplit(r, split->coarse, split->fine.plus(c));
  return r;
}

IndexExpr IndexExpr::plus(const IndexExpr &c) const {
  if (c.isConstant())
    return plus(c.offset);
  if (isConstant())
    return c.plus(offset);
  IndexExpr r;
  // Sums of integers need no parentheses; a leading minus becomes the operator.
  bool isNegative = llvm::StringRef(c.base.text).starts_with("-");
  std::string added = isNegative ? " - " + c.base.in(Binding::Sum).substr(1) : " + " + c.base.in(Binding::Sum);
  r.base = {base.in(Binding::Sum) + added, Binding::Sum};
  r.offset = offset + c.offset;
  r.divisor = std::gcd(divisor, c.divisor);
  r.min = sum(min, c.min);
  r.max = sum(max, c.max);
  r.perLane = perLane || c.perLane;
  const IndexExpr *below = symbol && c.max ? this : c.symbol && max ? &c : nullptr;
  if (below) {
    r.symbol = below->symbol;
    r.margin = below->margin - (below == this ? *c.max : *max);
  }
  splitSum(r, *this, c);
  return r;
}

IndexExpr IndexExpr::times(int64_t c) const {
  if (isConstant() || c == 0)
    return constant(offset * c);
  if (c == 1)
    return *this;
  IndexExpr r;
  r.base = c == -1 ? CExpr{"-" + base.in(Binding::Product), Binding::Product}
                   : CExpr{base.in(Binding::Product) + " * " + number(c), Binding::Product};
  r.offset = offset * c;
  r.divisor = divisor * std::abs(c);
  r.min = product(c > 0 ? min : max, c);
  r.max = product(c > 0 ? max : min, c);
  r.perLane = perLane;
  return r;
}

IndexExpr IndexExpr::times(const IndexExpr &c) const {
  if (c.isConstant())
    return times(c.offset);
  if (isConstant())
    return c.times(offset);
  IndexExpr r = variable({expr().in(Binding::Product) + " * " + c.expr().in(Binding::Unary), Binding::Product});
  if (min && c.min && *min >= 0 && *c.min >= 0)
    r.min = *min * *c.min;
  if (offset == 0 && c.offset == 0)
    r.divisor = divisor * c.divisor;
  r.perLane = perLane || c.perLane;
  return r;
}

IndexExpr IndexExpr::floorDiv(int64_t m) const {
  if (m == 1)
    return *this;
  int64_t quotient = floorDivide(offset, m), rest = offset - quotient * m;
  if (isConstant())
    return constant(quotient);
  // What lies below the common divisor of base and m cannot change the result.
  rest -= rest % std::gcd(divisor, m);
  if (min && max && floorDivide(*min, m) == floorDivide(*max, m))
    return constant(floorDivide(*min, m));
  if (const IndexSplit *split = blockOf(*this, m))
    return split->coarse.floorDiv(m);
  IndexExpr inner = *this;
  inner.offset = rest;
  bool nonNegative = min && *min - offset + rest >= 0;
  IndexExpr r;
  r.base = nonNegative ? CExpr{inner.expr().in(Binding::Product) + " / " + number(m), Binding::Product}
                       : CExpr{"floorDivide(" + inner.text() + ", " + number(m) + ")", Binding::Atom};
  r.offset = quotient;
  r.divisor = rest == 0 && divisor % m == 0 ? divisor / m : 1;
  if (min)
    r.min = floorDivide(*min, m);
  if (max)
    r.max = floorDivide(*max, m);
  r.perLane = perLane;
  return r;
}

IndexExpr IndexExpr::modulo(int64_t m) const {
  int64_t rest = offset - floorDivide(offset, m) * m;
  if (isConstant() || m == 1 || divisor % m == 0)
    return constant(m == 1 ? 0 : rest);
  if (min && max && floorDivide(*min, m) == floorDivide(*max, m))
    return plus(-floorDivide(*min, m) * m);
  if (const IndexSplit *split = blockOf(*this, m))
    return split->fine;
  // Split the offset at the common divisor g: the low part just adds up.
  int64_t g = std::gcd(divisor, m), low = rest % g;
  IndexExpr inner = *this;
  inner.offset = rest - low;
  IndexExpr r;
  bool nonNegative = min && *min - offset + inner.offset >= 0;
  r.base = nonNegative ? CExpr{inner.expr().in(Binding::Product) + " % " + number(m), Binding::Product}
                       : CExpr{"floorModulo(" + inner.text() + ", " + number(m) + ")", Binding::Atom};
  r.offset = low;
  r.divisor = g;
  r.min = low;
  r.max = m - g + low;
  r.perLane = perLane;
  return r;
}

IndexExpr IndexExpr::either(CExpr v, const IndexExpr &a, const IndexExpr &c) {
  IndexExpr r = variable(std::move(v));
  r.divisor = std::max<int64_t>(1, std::gcd(wholeDivisor(a), wholeDivisor(c)));
  if (a.min && c.min)
    r.min = std::min(*a.min, *c.min);
  if (a.max && c.max)
    r.max = std::max(*a.max, *c.max);
  if (a.symbol && a.symbol == c.symbol) {
    r.symbol = a.symbol;
    r.margin = std::min(a.margin, c.margin);
  }
  r.perLane = a.perLane || c.perLane;
  return r;
}

IndexExpr IndexExpr::smaller(const IndexExpr &a, const IndexExpr &c) {
  if (a.max && c.min && *a.max <= *c.min)
    return a;
  if (c.max && a.min && *c.max <= *a.min)
    return c;
  IndexExpr r = either(call("smaller", a, c), a, c);
  if (a.max || c.max) // below both, so what bounds one bounds the result
    r.max = std::min(a.max.value_or(INT64_MAX), c.max.value_or(INT64_MAX));
  const IndexExpr &bounded = a.symbol && (!c.symbol || a.symbol != c.symbol || a.margin >= c.margin) ? a : c;
  r.symbol = bounded.symbol;
  r.margin = bounded.margin;
  return r;
}

IndexExpr IndexExpr::larger(const IndexExpr &a, const IndexExpr &c) {
  if (a.min && c.max && *a.min >= *c.max)
    return a;
  if (c.min && a.max && *c.min >= *a.max)
    return c;
  IndexExpr r = either(call("larger", a, c), a, c);
  if (a.min || c.min)
    r.min = std::max(a.min.value_or(INT64_MIN), c.min.value_or(INT64_MIN));
  return r;
}

namespace {

void collectTerms(mlir::AffineExpr expr, llvm::SmallVectorImpl<mlir::AffineExpr> &terms) {
  auto binary = llvm::dyn_cast<mlir::AffineBinaryOpExpr>(expr);
  if (!binary || expr.getKind() != mlir::AffineExprKind::Add) {
    terms.push_back(expr);
    return;
  }
  collectTerms(binary.getLHS(), terms);
  collectTerms(binary.getRHS(), terms);
}

/// The other one of each pair of indices, `-e + (e floordiv 2) * 4 + 1`, is e with its lowest bit flipped: said that
/// way it is in range wherever e is. Gives e and takes the terms out, all but the constant.
mlir::AffineExpr takeNeighbour(llvm::SmallVectorImpl<mlir::AffineExpr> &terms) {
  for (size_t i = 0; i < terms.size(); ++i) {
    auto negated = llvm::dyn_cast<mlir::AffineBinaryOpExpr>(terms[i]);
    if (!negated || negated.getKind() != mlir::AffineExprKind::Mul)
      continue;
    mlir::AffineExpr e = negated.getLHS();
    auto factor = llvm::dyn_cast<mlir::AffineConstantExpr>(negated.getRHS());
    auto *pair = llvm::find(terms, e.floorDiv(2) * 4);
    if (!factor || factor.getValue() != -1 || pair == terms.end())
      continue;
    *pair = mlir::getAffineConstantExpr(0, e.getContext());
    terms[i] = *pair;
    return e;
  }
  return {};
}

/// `e * a + (e floordiv m) * (-a * m)` is `(e mod m) * a`, whose range is known.
bool foldRemainders(llvm::SmallVectorImpl<mlir::AffineExpr> &terms) {
  bool found = false;
  for (mlir::AffineExpr &quotient : terms) {
    auto scaled = llvm::dyn_cast<mlir::AffineBinaryOpExpr>(quotient);
    if (!scaled || scaled.getKind() != mlir::AffineExprKind::Mul)
      continue;
    auto factor = llvm::dyn_cast<mlir::AffineConstantExpr>(scaled.getRHS());
    auto division = llvm::dyn_cast<mlir::AffineBinaryOpExpr>(scaled.getLHS());
    if (!factor || !division || division.getKind() != mlir::AffineExprKind::FloorDiv)
      continue;
    auto divisor = llvm::dyn_cast<mlir::AffineConstantExpr>(division.getRHS());
    if (!divisor || divisor.getValue() <= 0 || factor.getValue() % divisor.getValue() != 0)
      continue;
    const int64_t a = -factor.getValue() / divisor.getValue();
    auto *whole = llvm::find(terms, division.getLHS() * a);
    if (whole == terms.end())
      continue;
    *whole = division.getLHS() % divisor.getValue() * a;
    quotient = mlir::getAffineConstantExpr(0, quotient.getContext());
    found = true;
  }
  return found;
}

IndexExpr neighbour(const IndexExpr &e) {
  IndexExpr r = IndexExpr::variable({"(" + e.expr().in(Binding::Unary) + " ^ 1)", Binding::Atom});
  r.perLane = e.perLane;
  if (e.min && *e.min >= 0)
    r.min = *e.min & ~int64_t(1);
  if (e.max)
    r.max = *e.max | 1;
  return r;
}

} // namespace

std::optional<IndexExpr> IndexExpr::evaluate(mlir::AffineExpr expr, llvm::ArrayRef<IndexExpr> dims) {
  llvm::SmallVector<mlir::AffineExpr> terms;
  collectTerms(expr, terms);
  if (terms.size() > 1 && foldRemainders(terms)) {
    mlir::AffineExpr sum = mlir::getAffineConstantExpr(0, expr.getContext());
    for (mlir::AffineExpr term : terms)
      sum = sum + term;
    return evaluate(sum, dims);
  }
  if (mlir::AffineExpr pair = terms.size() > 2 ? takeNeighbour(terms) : mlir::AffineExpr()) {
    std::optional<IndexExpr> inner = evaluate(pair, dims);
    if (!inner)
      return std::nullopt;
    IndexExpr sum = neighbour(*inner).plus(-1);
    for (mlir::AffineExpr term : terms) {
      std::optional<IndexExpr> value = evaluate(term, dims);
      if (!value)
        return std::nullopt;
      sum = value->plus(sum);
    }
    return sum;
  }
  if (auto constantExpr = llvm::dyn_cast<mlir::AffineConstantExpr>(expr))
    return constant(constantExpr.getValue());
  if (auto dim = llvm::dyn_cast<mlir::AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  auto binary = llvm::dyn_cast<mlir::AffineBinaryOpExpr>(expr);
  if (!binary)
    return std::nullopt;
  std::optional<IndexExpr> l = evaluate(binary.getLHS(), dims), r = evaluate(binary.getRHS(), dims);
  if (!l || !r)
    return std::nullopt;
  if (expr.getKind() == mlir::AffineExprKind::Add)
    return l->plus(*r);
  if (!r->isConstant())
    return std::nullopt;
  int64_t c = r->offset;
  if (expr.getKind() == mlir::AffineExprKind::Mul)
    return l->times(c);
  if (c <= 0)
    return std::nullopt;
  if (expr.getKind() == mlir::AffineExprKind::Mod)
    return l->modulo(c);
  return expr.getKind() == mlir::AffineExprKind::CeilDiv ? l->plus(c - 1).floorDiv(c) : l->floorDiv(c);
}

} // namespace fusec::codegen::cuda
