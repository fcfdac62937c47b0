//===- Separation.cpp - the rule library ---------------------------------------------===//
//
//   shift           x + f(d) keeps its row part f(d) apart
//   negate          -(x + f(d)) = -x + -f(d)
//   scale-shift     c * (x + f(d)) = c*x + c*f(d) for a constant c
//   exp-difference  exp(x + f(d)) = exp(x) * exp(f(d))
//   product         (x * g(d)) * y = (x * y) * g(d) for fresh y
//   quotient        (x * g(d)) / y = (x / y) * g(d) for fresh y
//   row-factor      x * g(d) and x / g(d) keep their row factor apart
//   mask            select(c, x * g(d), 0) = select(c, x, 0) * g(d) for a fresh c
//   empty-guard     a branch taken only while nothing was seen leaves the rest unchanged
//   row-function    a function of row values alone is a row value
//
//===----------------------------------------------------------------------===//
#include "passes/derive/Separation.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fusec::fuse;

namespace fusec {

namespace {

using Form = Separation::Form;

Separation unknown(const Twine &why) {
  Separation s;
  s.form = Form::Unknown;
  s.obstacle = why.str();
  return s;
}

bool isZero(const Term *term) {
  FloatAttr value;
  auto constant = term->kind == Term::Kind::Constant ? dyn_cast<arith::ConstantOp>(term->op) : nullptr;
  return constant && (value = dyn_cast<FloatAttr>(constant.getValue())) && value.getValue().isZero();
}

/// The sign of a float constant, 0 for anything else.
int constantSign(const Term *term) {
  auto constant = term->kind == Term::Kind::Constant ? dyn_cast<arith::ConstantOp>(term->op) : nullptr;
  auto value = constant ? dyn_cast<FloatAttr>(constant.getValue()) : FloatAttr();
  if (!value || value.getValue().isZero() || value.getValue().isNaN())
    return 0;
  return value.getValue().isNegative() ? -1 : 1;
}

class Separator {
public:
  explicit Separator(const RowValue &row) : row(row) {}

  const Separation &of(const Term *term) {
    if (auto it = known.find(term); it != known.end())
      return it->second;
    Separation s = separate(term);
    return known[term] = std::move(s);
  }

private:
  Separation separate(const Term *term) {
    if (term->kind == Term::Kind::Leaf && term->leaf == row.value)
      return rowValue();
    if (term->kind != Term::Kind::Apply)
      return {};
    SmallVector<const Separation *, 3> parts;
    for (const Term *operand : term->operands) {
      parts.push_back(&of(operand));
      if (parts.back()->form == Form::Unknown)
        return *parts.back();
    }
    if (llvm::all_of(parts, [](const Separation *p) { return p->form == Form::Free; }))
      return {};
    if (auto pure = rowFunction(term))
      return *pure;
    return apply(term);
  }

  Separation rowValue() {
    Separation s;
    s.form = Form::Row;
    s.row = {[](OpBuilder &, Location, Value d) { return d; }, 1};
    return s;
  }

  /// An op all of whose operands are row values or constants.
  std::optional<Separation> rowFunction(const Term *term) {
    SmallVector<RowFunction, 3> operands;
    for (const Term *operand : term->operands) {
      const Separation &part = of(operand);
      if (part.form == Form::Row)
        operands.push_back(part.row);
      else if (operand->kind == Term::Kind::Constant)
        operands.push_back(constant(operand->op));
      else
        return std::nullopt;
    }
    Separation s;
    s.form = Form::Row;
    s.rules = {"row-function"};
    s.row.direction = directionOf(term);
    s.row.emit = [op = term->op, operands](OpBuilder &b, Location loc, Value d) {
      SmallVector<Value> values;
      for (const RowFunction &f : operands)
        values.push_back(f.emit(b, loc, d));
      OperationState state(loc, op->getName(), values, op->getResultTypes(), op->getAttrs());
      return b.create(state)->getResult(0);
    };
    return s;
  }

  static RowFunction constant(Operation *op) {
    return {[op](OpBuilder &b, Location, Value) { return b.clone(*op)->getResult(0); }, 0};
  }

  /// How an op of row values follows the row value: known for the ops that exponents are made of.
  int directionOf(const Term *term) {
    auto direction = [&](unsigned i) { return of(term->operands[i]).row.direction; };
    if (isa<arith::NegFOp>(term->op))
      return -direction(0);
    if (isa<arith::MaximumFOp, arith::MaxNumFOp, arith::AddFOp>(term->op)) {
      int a = direction(0), b = direction(1);
      return a == b || b == 0 ? a : a == 0 ? b : 0;
    }
    if (isa<arith::MulFOp>(term->op)) {
      int left = constantSign(term->operands[0]), right = constantSign(term->operands[1]);
      return right ? right * direction(0) : left * direction(1);
    }
    return 0;
  }

  Separation apply(const Term *term) {
    return llvm::TypeSwitch<Operation *, Separation>(term->op)
        .Case<arith::AddFOp>([&](auto) { return shift(term, 1); })
        .Case<arith::SubFOp>([&](auto) { return shift(term, -1); })
        .Case<arith::NegFOp>([&](auto) { return negate(of(term->operands[0])); })
        .Case<arith::MulFOp>([&](auto) { return multiply(term); })
        .Case<arith::DivFOp>([&](auto) { return divide(term); })
        .Case<math::ExpOp, math::Exp2Op>([&](auto) { return exponential(term); })
        .Case<arith::SelectOp>([&](auto) { return select(term); })
        .Default([&](Operation *op) { return noRule(op); });
  }

  static Separation noRule(Operation *op) {
    return unknown("no rule takes the row value out of '" + op->getName().getStringRef() + "'");
  }

  static Separation withRule(Separation s, StringRef rule) {
    if (s.rules.empty() || s.rules.back() != rule)
      s.rules.push_back(rule);
    return s;
  }

  static RowFunction negated(const RowFunction &f) {
    return {
        [f](OpBuilder &b, Location loc, Value d) -> Value { return arith::NegFOp::create(b, loc, f.emit(b, loc, d)); },
        -f.direction};
  }

  /// The row part of an operand of a sum; empty when it has none.
  static std::optional<RowFunction> additivePart(const Separation &s) {
    if (s.form == Form::Free)
      return RowFunction();
    if (s.form == Form::Row || s.form == Form::Shifted)
      return s.row;
    return std::nullopt;
  }

  Separation shift(const Term *term, int sign) {
    std::optional<RowFunction> a = additivePart(of(term->operands[0])), b = additivePart(of(term->operands[1]));
    if (!a || !b)
      return unknown("a sum of a scaled element and something else does not separate");
    if (*b && sign < 0)
      b = negated(*b);
    if (*a && *b)
      return unknown("the row value occurs in both operands of a sum");
    Separation s;
    s.form = Form::Shifted;
    s.row = *a ? *a : *b;
    s.rules = {"shift"};
    return s;
  }

  Separation negate(Separation s) {
    if (s.form != Form::Shifted)
      return s.form == Form::Scaled || s.form == Form::Factored ? s : unknown("a negation does not separate");
    s.row = negated(s.row);
    return withRule(s, "negate");
  }

  Separation multiply(const Term *term) {
    for (int i : {0, 1}) {
      const Separation &part = of(term->operands[i]), &other = of(term->operands[1 - i]);
      if (other.form != Form::Free)
        continue;
      if (part.form == Form::Scaled || part.form == Form::Factored)
        return withRule(part, "product");
      if (part.form == Form::Shifted && term->operands[1 - i]->kind == Term::Kind::Constant)
        return scaleShift(part, term->operands[1 - i]);
      if (part.form == Form::Row)
        return factored(part.row);
      if (part.form == Form::Shifted)
        return unknown("a shifted element is multiplied by fresh data, so that the shift stays mixed with it");
    }
    return unknown("the row value occurs in both factors of a product");
  }

  static Separation factored(const RowFunction &row) {
    Separation s;
    s.form = Form::Factored;
    s.row = row;
    s.rules = {"row-factor"};
    return s;
  }

  Separation scaleShift(Separation part, const Term *factor) {
    int sign = constantSign(factor);
    RowFunction f = part.row;
    part.row = {[f, op = factor->op](OpBuilder &b, Location loc, Value d) -> Value {
                  return arith::MulFOp::create(b, loc, f.emit(b, loc, d), b.clone(*op)->getResult(0));
                },
                sign * f.direction};
    return withRule(std::move(part), "scale-shift");
  }

  Separation divide(const Term *term) {
    const Separation &top = of(term->operands[0]), &bottom = of(term->operands[1]);
    if (bottom.form == Form::Row && top.form == Form::Free)
      return factored({[f = bottom.row](OpBuilder &b, Location loc, Value d) -> Value {
                         Value row = f.emit(b, loc, d);
                         Value one = arith::ConstantOp::create(b, loc, b.getFloatAttr(row.getType(), 1.0));
                         return arith::DivFOp::create(b, loc, one, row);
                       },
                       0});
    if (bottom.form == Form::Free && (top.form == Form::Scaled || top.form == Form::Factored))
      return withRule(top, "quotient");
    return unknown("a quotient whose divisor mixes fresh data and the row value does not separate");
  }

  Separation exponential(const Term *term) {
    Separation s = of(term->operands[0]);
    if (s.form != Form::Shifted)
      return unknown("an exponential of something else than a shifted element does not separate");
    if (isa<math::Exp2Op>(term->op)) {
      RowFunction f = s.row;
      s.row.emit = [f](OpBuilder &b, Location loc, Value d) -> Value {
        Value exponent = f.emit(b, loc, d);
        Value ln2 = arith::ConstantOp::create(b, loc, b.getFloatAttr(exponent.getType(), 0.69314718055994530942));
        return arith::MulFOp::create(b, loc, exponent, ln2);
      };
    }
    s.form = Form::Scaled;
    return withRule(std::move(s), "exp-difference");
  }

  Separation select(const Term *term) {
    const Separation &condition = of(term->operands[0]);
    if (condition.form == Form::Row)
      return guard(term);
    if (condition.form != Form::Free)
      return unknown("a condition mixes fresh data and the row value");
    for (int i : {1, 2}) {
      const Separation &taken = of(term->operands[i]);
      if ((taken.form == Form::Scaled || taken.form == Form::Factored) && isZero(term->operands[3 - i]))
        return withRule(taken, "mask");
    }
    return unknown("a select between elements with and without the row value does not separate");
  }

  /// select(d == identity, 0, x): while nothing was seen x has only identities, so the guard changes nothing later.
  Separation guard(const Term *term) {
    const Term *condition = term->operands[0];
    auto compare = condition->kind == Term::Kind::Apply ? dyn_cast<arith::CmpFOp>(condition->op) : nullptr;
    bool equal = compare && (compare.getPredicate() == arith::CmpFPredicate::OEQ ||
                             compare.getPredicate() == arith::CmpFPredicate::UEQ);
    bool againstIdentity =
        equal && llvm::any_of(condition->operands, [&](const Term *operand) {
          auto constant = operand->kind == Term::Kind::Constant ? dyn_cast<arith::ConstantOp>(operand->op) : nullptr;
          return constant && constant.getValue() == row.identity;
        });
    bool plain = equal && llvm::any_of(condition->operands, [&](const Term *operand) {
                   return operand->kind == Term::Kind::Leaf && operand->leaf == row.value;
                 });
    if (!againstIdentity || !plain || !isZero(term->operands[1]))
      return unknown("a condition on the row value is not the guard of an empty reduction");
    return withRule(of(term->operands[2]), "empty-guard");
  }

  RowValue row;
  std::map<const Term *, Separation> known; // stable references while recursing
};

} // namespace

Separation separate(const Term *element, const RowValue &row) { return Separator(row).of(element); }

} // namespace fusec
