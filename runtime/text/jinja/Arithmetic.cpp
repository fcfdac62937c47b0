//===- Arithmetic.cpp - Python's + - * / // % ** on template values ----------===//
#include "runtime/text/jinja/Format.h"
#include "runtime/text/jinja/Ops.h"

#include <cmath>

namespace fusec::text::jinja {

namespace {

constexpr std::string_view kSymbols[] = {"+", "-", "*", "/", "//", "%", "** or pow()"};

Status overflow() { return resourceExhausted("an integer result does not fit 64 bits"); }

Status unsupportedOperands(BinaryOp op, const Value &a, const Value &b) {
  return invalidArgument("unsupported operand type(s) for " + std::string(kSymbols[static_cast<int>(op)]) + ": " +
                         typePair(a, b));
}

int64_t floorDivide(int64_t a, int64_t b) {
  int64_t quotient = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

double floorModulo(double a, double b) {
  double rest = std::fmod(a, b);
  if (rest != 0)
    return (b < 0) != (rest < 0) ? rest + b : rest;
  return std::copysign(0.0, b);
}

double floorDivide(double a, double b) {
  double rest = std::fmod(a, b), quotient = (a - rest) / b;
  if (rest != 0 && (b < 0) != (rest < 0))
    quotient -= 1;
  if (quotient == 0)
    return std::copysign(0.0, a / b);
  double floored = std::floor(quotient);
  return quotient - floored > 0.5 ? floored + 1 : floored;
}

Result<Value> powerOfIntegers(int64_t base, int64_t exponent) {
  int64_t result = 1;
  for (; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) && __builtin_mul_overflow(result, base, &result))
      return overflow();
    if (exponent > 1 && __builtin_mul_overflow(base, base, &base))
      return overflow();
  }
  return Value::integer(result);
}

Result<Value> powerOfNumbers(double a, double b) {
  if (a == 0 && b < 0)
    return invalidArgument("0.0 cannot be raised to a negative power");
  double result = std::pow(a, b);
  if (std::isnan(result) && !std::isnan(a) && !std::isnan(b))
    return unsupported("complex numbers");
  if (std::isinf(result) && !std::isinf(a) && !std::isinf(b))
    return invalidArgument("(34, 'Numerical result out of range')");
  return Value::number(result);
}

Result<Value> onIntegers(BinaryOp op, int64_t a, int64_t b) {
  int64_t out = 0;
  bool divides = op == BinaryOp::Div || op == BinaryOp::FloorDiv || op == BinaryOp::Mod;
  if (divides && b == 0)
    return invalidArgument(op == BinaryOp::Div   ? "division by zero"
                           : op == BinaryOp::Mod ? "integer modulo by zero"
                                                 : "integer division or modulo by zero");
  if (divides && b == -1 && op != BinaryOp::Div) // INT64_MIN / -1 traps.
    return op == BinaryOp::Mod ? Value::integer(0) : onIntegers(BinaryOp::Mul, a, -1);
  switch (op) {
  case BinaryOp::Add:
    return __builtin_add_overflow(a, b, &out) ? Result<Value>(overflow()) : Value::integer(out);
  case BinaryOp::Sub:
    return __builtin_sub_overflow(a, b, &out) ? Result<Value>(overflow()) : Value::integer(out);
  case BinaryOp::Mul:
    return __builtin_mul_overflow(a, b, &out) ? Result<Value>(overflow()) : Value::integer(out);
  case BinaryOp::Div:
    return Value::number(static_cast<double>(a) / static_cast<double>(b));
  case BinaryOp::FloorDiv:
    return Value::integer(floorDivide(a, b));
  case BinaryOp::Mod:
    return Value::integer(a - floorDivide(a, b) * b);
  case BinaryOp::Pow:
    return b < 0 ? powerOfNumbers(static_cast<double>(a), static_cast<double>(b)) : powerOfIntegers(a, b);
  }
  return unsupported("operator");
}

Result<Value> onNumbers(BinaryOp op, double a, double b) {
  bool divides = op == BinaryOp::Div || op == BinaryOp::FloorDiv || op == BinaryOp::Mod;
  if (divides && b == 0)
    return invalidArgument(op == BinaryOp::Div   ? "float division by zero"
                           : op == BinaryOp::Mod ? "float modulo"
                                                 : "float floor division by zero");
  switch (op) {
  case BinaryOp::Add:
    return Value::number(a + b);
  case BinaryOp::Sub:
    return Value::number(a - b);
  case BinaryOp::Mul:
    return Value::number(a * b);
  case BinaryOp::Div:
    return Value::number(a / b);
  case BinaryOp::FloorDiv:
    return Value::number(floorDivide(a, b));
  case BinaryOp::Mod:
    return Value::number(floorModulo(a, b));
  case BinaryOp::Pow:
    return powerOfNumbers(a, b);
  }
  return unsupported("operator");
}

/// str + str; Markup on either side escapes the other.
Result<Value> concatenate(Budget &budget, const Text &a, const Text &b) {
  FUSEC_RETURN_IF_ERROR(budget.allocate(static_cast<int64_t>(a.size() + b.size() + sizeof(Text))));
  Text out;
  out.markup = a.markup || b.markup;
  out.append(out.markup ? escapeHtml(a) : a);
  out.append(out.markup ? escapeHtml(b) : b);
  return Value::text(std::move(out));
}

Result<Value> concatenate(Budget &budget, const Value &a, const Value &b) {
  std::vector<Value> items = a.asSequence()->items;
  const auto &more = b.asSequence()->items;
  FUSEC_RETURN_IF_ERROR(budget.allocate(static_cast<int64_t>((items.size() + more.size()) * sizeof(Value))));
  items.insert(items.end(), more.begin(), more.end());
  return makeSequence(budget, a.asSequence()->kind, std::move(items));
}

Result<Value> repeat(Budget &budget, const Text &text, int64_t times) {
  int64_t bytes = 0;
  if (times <= 0 || text.empty())
    return Value::trusted("");
  if (__builtin_mul_overflow(static_cast<int64_t>(text.size()), times, &bytes))
    return overflow();
  FUSEC_RETURN_IF_ERROR(budget.allocate(bytes));
  FUSEC_RETURN_IF_ERROR(budget.step(times));
  Text out;
  out.markup = text.markup;
  for (int64_t i = 0; i < times; ++i)
    out.append(text);
  return Value::text(std::move(out));
}

Result<Value> repeat(Budget &budget, const Sequence &list, int64_t times) {
  int64_t count = 0;
  if (times <= 0 || list.items.empty())
    return makeSequence(budget, list.kind, {});
  if (__builtin_mul_overflow(static_cast<int64_t>(list.items.size()), times, &count))
    return overflow();
  if (count > budget.limits.allocatedBytes / static_cast<int64_t>(sizeof(Value)))
    return budget.allocate(budget.limits.allocatedBytes + 1);
  FUSEC_RETURN_IF_ERROR(budget.allocate(count * static_cast<int64_t>(sizeof(Value))));
  std::vector<Value> items;
  items.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < times; ++i)
    items.insert(items.end(), list.items.begin(), list.items.end());
  return makeSequence(budget, list.kind, std::move(items));
}

bool repeatable(const Value &v) { return v.isText() || v.isList() || v.isTuple(); }

Result<Value> repeatValue(Budget &budget, const Value &v, const Value &times) {
  if (!times.isIntegral())
    return invalidArgument("can't multiply sequence by non-int of type '" + times.typeName() + "'");
  return v.isText() ? repeat(budget, *v.asText(), *times.asInt()) : repeat(budget, *v.asSequence(), *times.asInt());
}

Result<Value> addValues(Budget &budget, const Value &a, const Value &b) {
  if (a.isText()) {
    if (b.isText())
      return concatenate(budget, *a.asText(), *b.asText());
    return invalidArgument("can only concatenate str (not \"" + b.typeName() + "\") to str");
  }
  for (SequenceKind kind : {SequenceKind::List, SequenceKind::Tuple}) {
    if (!a.isSequence(kind))
      continue;
    if (b.isSequence(kind))
      return concatenate(budget, a, b);
    return invalidArgument("can only concatenate " + a.typeName() + " (not \"" + b.typeName() + "\") to " +
                           a.typeName());
  }
  return unsupportedOperands(BinaryOp::Add, a, b);
}

} // namespace

std::string typePair(const Value &a, const Value &b) { return "'" + a.typeName() + "' and '" + b.typeName() + "'"; }

Result<Value> binary(Budget &budget, BinaryOp op, const Value &a, const Value &b) {
  FUSEC_RETURN_IF_ERROR(budget.step());
  if (a.isIntegral() && b.isIntegral())
    return onIntegers(op, *a.asInt(), *b.asInt());
  if (a.isNumber() && b.isNumber())
    return onNumbers(op, *a.asDouble(), *b.asDouble());
  if (a.isText() && op == BinaryOp::Mod)
    return formatPercent(budget, *a.asText(), b);
  if (a.isUndefined())
    return invalidArgument(a.undefinedMessage());
  if (b.isUndefined())
    return invalidArgument(b.undefinedMessage());
  if (op == BinaryOp::Add)
    return addValues(budget, a, b);
  if (op == BinaryOp::Mul && repeatable(a))
    return repeatValue(budget, a, b);
  if (op == BinaryOp::Mul && repeatable(b))
    return repeatValue(budget, b, a);
  return unsupportedOperands(op, a, b);
}

Result<Value> negate(const Value &v) {
  if (v.isUndefined())
    return invalidArgument(v.undefinedMessage());
  if (auto i = v.asInt())
    return onIntegers(BinaryOp::Sub, 0, *i);
  if (v.isFloat())
    return Value::number(-*v.asDouble());
  return invalidArgument("bad operand type for unary -: '" + v.typeName() + "'");
}

Result<Value> positive(const Value &v) {
  if (v.isUndefined())
    return invalidArgument(v.undefinedMessage());
  if (auto i = v.asInt())
    return Value::integer(*i);
  if (v.isFloat())
    return v;
  return invalidArgument("bad operand type for unary +: '" + v.typeName() + "'");
}

Text escapeHtml(const Text &text) {
  if (text.markup)
    return text;
  Text out;
  out.markup = true;
  size_t done = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    constexpr std::pair<char, std::string_view> kEntities[] = {
        {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'\'', "&#39;"}, {'"', "&#34;"}};
    for (const auto &[c, entity] : kEntities) {
      if (text.bytes()[i] != c)
        continue;
      out.append(text, done, i);
      out.append(entity, text.trustedAt(i));
      done = i + 1;
    }
  }
  out.append(text, done, text.size());
  return out;
}

} // namespace fusec::text::jinja
