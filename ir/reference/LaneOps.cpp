//===- LaneOps.cpp - the table of elementwise ops ------------------------------===//
//
// Float functions compute in double; runLanes rounds afterwards, which for
// add, sub, mul, div and sqrt in f32 and narrower gives the correctly rounded
// result (53 >= 2 * 24 + 2). Integer functions convert, compute in 64 bits
// and wrap. Poison (a NaN in an integer lane) gives poison.
//
//===----------------------------------------------------------------------===//
#include "ir/reference/LaneOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace fusec::reference {

namespace {

using Row = const LaneInstruction &;
using Inputs = const double *const *;

template <double (*F)(double)> void unary(Row, Inputs in, double *out, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    out[i] = F(in[0][i]);
}
template <double (*F)(double, double)> void binary(Row, Inputs in, double *out, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    out[i] = F(in[0][i], in[1][i]);
}

double add(double a, double b) { return a + b; }
double sub(double a, double b) { return a - b; }
double mul(double a, double b) { return a * b; }
double div(double a, double b) { return a / b; }
double neg(double a) { return -a; }
/// NaN if either is; -0 < +0, as arith.maximumf and minimumf define.
double maximum(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return NAN;
  return a == b ? (std::signbit(a) ? b : a) : std::max(a, b);
}
double minimum(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return NAN;
  return a == b ? (std::signbit(a) ? a : b) : std::min(a, b);
}
double rsqrt(double a) { return 1.0 / std::sqrt(a); }

/// One rounding even in f32: through double a tie could round twice.
void fusedMultiplyAdd(Row row, Inputs in, double *out, int64_t n) {
  const bool single = row.rounds && row.to == Element::F32;
  for (int64_t i = 0; i < n; ++i)
    out[i] = single ? std::fma(static_cast<float>(in[0][i]), static_cast<float>(in[1][i]), static_cast<float>(in[2][i]))
                    : std::fma(in[0][i], in[1][i], in[2][i]);
}

void compareFloat(Row row, Inputs in, double *out, int64_t n) {
  using arith::CmpFPredicate;
  for (int64_t i = 0; i < n; ++i) {
    const double a = in[0][i], b = in[1][i];
    // Bit 3 of the predicate: true when unordered; bits 0..2: equal, greater, less.
    const int64_t p = row.predicate;
    const bool unordered = std::isnan(a) || std::isnan(b);
    out[i] = unordered ? (p & 8) != 0 : ((p & 1) && a == b) || ((p & 2) && a > b) || ((p & 4) && a < b);
  }
}

/// The bit pattern compareFloat uses, whatever order the enum has.
int64_t floatPredicateBits(arith::CmpFPredicate p) {
  using P = arith::CmpFPredicate;
  constexpr std::pair<P, int64_t> rows[] = {{P::AlwaysFalse, 0}, {P::OEQ, 1},  {P::OGT, 2},  {P::OGE, 3},
                                            {P::OLT, 4},         {P::OLE, 5},  {P::ONE, 6},  {P::ORD, 7},
                                            {P::UNO, 8},         {P::UEQ, 9},  {P::UGT, 10}, {P::UGE, 11},
                                            {P::ULT, 12},        {P::ULE, 13}, {P::UNE, 14}, {P::AlwaysTrue, 15}};
  for (auto [predicate, bits] : rows)
    if (predicate == p)
      return bits;
  return 0;
}

bool holds(arith::CmpIPredicate predicate, int64_t a, int64_t b, uint64_t ua, uint64_t ub) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
  case P::eq:
    return a == b;
  case P::ne:
    return a != b;
  case P::slt:
    return a < b;
  case P::sle:
    return a <= b;
  case P::sgt:
    return a > b;
  case P::sge:
    return a >= b;
  case P::ult:
    return ua < ub;
  case P::ule:
    return ua <= ub;
  case P::ugt:
    return ua > ub;
  case P::uge:
    return ua >= ub;
  }
  return false;
}

void compareInteger(Row row, Inputs in, double *out, int64_t n) {
  const auto predicate = static_cast<arith::CmpIPredicate>(row.predicate);
  for (int64_t i = 0; i < n; ++i) {
    const double a = in[0][i], b = in[1][i];
    out[i] = std::isnan(a) || std::isnan(b) ? NAN
                                            : holds(predicate, asSigned(row.from, a), asSigned(row.from, b),
                                                    asUnsigned(row.from, a), asUnsigned(row.from, b));
  }
}

void select(Row, Inputs in, double *out, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    out[i] = std::isnan(in[0][i]) ? NAN : in[0][i] != 0 ? in[1][i] : in[2][i];
}

template <int64_t (*F)(int64_t, int64_t)> void signedBinary(Row row, Inputs in, double *out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const double a = in[0][i], b = in[1][i];
    out[i] = std::isnan(a) || std::isnan(b) ? NAN : wrapTo(row.to, F(asSigned(row.from, a), asSigned(row.from, b)));
  }
}
template <uint64_t (*F)(uint64_t, uint64_t)> void unsignedBinary(Row row, Inputs in, double *out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const double a = in[0][i], b = in[1][i];
    out[i] = std::isnan(a) || std::isnan(b)
                 ? NAN
                 : wrapTo(row.to, static_cast<int64_t>(F(asUnsigned(row.from, a), asUnsigned(row.from, b))));
  }
}
/// Division by zero is undefined in arith; here it is poison. INT64_MIN / -1 wraps.
template <int64_t (*F)(int64_t, int64_t)> void signedDivision(Row row, Inputs in, double *out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const double a = in[0][i], b = in[1][i];
    out[i] = std::isnan(a) || std::isnan(b) || b == 0
                 ? NAN
                 : wrapTo(row.to, F(std::max(asSigned(row.from, a), -INT64_MAX), asSigned(row.from, b)));
  }
}
template <uint64_t (*F)(uint64_t, uint64_t)> void unsignedDivision(Row row, Inputs in, double *out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const double a = in[0][i], b = in[1][i];
    out[i] = std::isnan(a) || std::isnan(b) || b == 0
                 ? NAN
                 : wrapTo(row.to, static_cast<int64_t>(F(asUnsigned(row.from, a), asUnsigned(row.from, b))));
  }
}

// Wrapping arithmetic goes through unsigned, where overflow is defined.
int64_t addWrapped(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t subWrapped(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
int64_t mulWrapped(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
int64_t quotient(int64_t a, int64_t b) { return a / b; }
int64_t remainder(int64_t a, int64_t b) { return a % b; }
int64_t floorQuotient(int64_t a, int64_t b) { return llvm::divideFloorSigned(a, b); }
int64_t ceilQuotient(int64_t a, int64_t b) { return llvm::divideCeilSigned(a, b); }
int64_t bitAnd(int64_t a, int64_t b) { return a & b; }
int64_t bitOr(int64_t a, int64_t b) { return a | b; }
int64_t bitXor(int64_t a, int64_t b) { return a ^ b; }
int64_t larger(int64_t a, int64_t b) { return std::max(a, b); }
int64_t smaller(int64_t a, int64_t b) { return std::min(a, b); }
int64_t shiftLeft(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) << (b & 63)); }
int64_t shiftRight(int64_t a, int64_t b) { return a >> (b & 63); }
uint64_t shiftRightUnsigned(uint64_t a, uint64_t b) { return a >> (b & 63); }
uint64_t quotientUnsigned(uint64_t a, uint64_t b) { return a / b; }
uint64_t remainderUnsigned(uint64_t a, uint64_t b) { return a % b; }
uint64_t largerUnsigned(uint64_t a, uint64_t b) { return std::max(a, b); }
uint64_t smallerUnsigned(uint64_t a, uint64_t b) { return std::min(a, b); }

void copy(Row, Inputs in, double *out, int64_t n) { std::copy(in[0], in[0] + n, out); }

void signedConvert(Row row, Inputs in, double *out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const int64_t value = std::isnan(in[0][i]) ? 0 : asSigned(row.from, in[0][i]);
    out[i] = std::isnan(in[0][i]) ? NAN : isFloat(row.to) ? static_cast<double>(value) : wrapTo(row.to, value);
  }
}
void unsignedConvert(Row row, Inputs in, double *out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t value = std::isnan(in[0][i]) ? 0 : asUnsigned(row.from, in[0][i]);
    out[i] = std::isnan(in[0][i]) ? NAN
             : isFloat(row.to)    ? static_cast<double>(value)
                                  : wrapTo(row.to, static_cast<int64_t>(value));
  }
}
/// Towards zero; poison when the result type cannot hold the value.
void floatToInteger(Row row, Inputs in, double *out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const double whole = std::trunc(in[0][i]);
    const bool fits = std::abs(whole) < 0x1p63 && wrapTo(row.to, static_cast<int64_t>(whole)) == whole;
    out[i] = fits ? whole : NAN;
  }
}
void floatToUnsigned(Row row, Inputs in, double *out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const double whole = std::trunc(in[0][i]);
    const bool fits = whole >= 0 && whole < std::ldexp(1.0, info(row.to).bits) && whole < 0x1p63;
    out[i] = fits ? wrapTo(row.to, static_cast<int64_t>(whole)) : NAN;
  }
}
void absoluteInteger(Row row, Inputs in, double *out, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    out[i] = std::abs(in[0][i]);
}

struct OpRow {
  StringRef name;
  LaneFunction function;
};

constexpr OpRow opRows[] = {
    {"arith.addf", binary<add>},
    {"arith.subf", binary<sub>},
    {"arith.mulf", binary<mul>},
    {"arith.divf", binary<div>},
    {"arith.remf", binary<std::fmod>},
    {"arith.negf", unary<neg>},
    {"arith.maximumf", binary<maximum>},
    {"arith.minimumf", binary<minimum>},
    {"arith.maxnumf", binary<std::fmax>},
    {"arith.minnumf", binary<std::fmin>},
    {"arith.cmpf", compareFloat},
    {"arith.cmpi", compareInteger},
    {"arith.select", select},
    {"arith.addi", signedBinary<addWrapped>},
    {"arith.subi", signedBinary<subWrapped>},
    {"arith.muli", signedBinary<mulWrapped>},
    {"arith.divsi", signedDivision<quotient>},
    {"arith.divui", unsignedDivision<quotientUnsigned>},
    {"arith.remsi", signedDivision<remainder>},
    {"arith.remui", unsignedDivision<remainderUnsigned>},
    {"arith.floordivsi", signedDivision<floorQuotient>},
    {"arith.ceildivsi", signedDivision<ceilQuotient>},
    {"arith.andi", signedBinary<bitAnd>},
    {"arith.ori", signedBinary<bitOr>},
    {"arith.xori", signedBinary<bitXor>},
    {"arith.shli", signedBinary<shiftLeft>},
    {"arith.shrsi", signedBinary<shiftRight>},
    {"arith.shrui", unsignedBinary<shiftRightUnsigned>},
    {"arith.maxsi", signedBinary<larger>},
    {"arith.minsi", signedBinary<smaller>},
    {"arith.maxui", unsignedBinary<largerUnsigned>},
    {"arith.minui", unsignedBinary<smallerUnsigned>},
    {"arith.sitofp", signedConvert},
    {"arith.uitofp", unsignedConvert},
    {"arith.fptosi", floatToInteger},
    {"arith.fptoui", floatToUnsigned},
    {"arith.extf", copy},
    {"arith.truncf", copy},
    {"arith.extsi", signedConvert},
    {"arith.extui", unsignedConvert},
    {"arith.trunci", signedConvert},
    {"arith.index_cast", signedConvert},
    {"arith.index_castui", unsignedConvert},
    {"math.absf", unary<std::fabs>},
    {"math.absi", absoluteInteger},
    {"math.atan", unary<std::atan>},
    {"math.atan2", binary<std::atan2>},
    {"math.cbrt", unary<std::cbrt>},
    {"math.ceil", unary<std::ceil>},
    {"math.copysign", binary<std::copysign>},
    {"math.cos", unary<std::cos>},
    {"math.cosh", unary<std::cosh>},
    {"math.erf", unary<std::erf>},
    {"math.exp", unary<std::exp>},
    {"math.exp2", unary<std::exp2>},
    {"math.expm1", unary<std::expm1>},
    {"math.floor", unary<std::floor>},
    {"math.fma", fusedMultiplyAdd},
    {"math.log", unary<std::log>},
    {"math.log10", unary<std::log10>},
    {"math.log1p", unary<std::log1p>},
    {"math.log2", unary<std::log2>},
    {"math.powf", binary<std::pow>},
    {"math.round", unary<std::round>},
    {"math.roundeven", unary<std::nearbyint>},
    {"math.rsqrt", unary<rsqrt>},
    {"math.sin", unary<std::sin>},
    {"math.sinh", unary<std::sinh>},
    {"math.sqrt", unary<std::sqrt>},
    {"math.tan", unary<std::tan>},
    {"math.tanh", unary<std::tanh>},
    {"math.trunc", unary<std::trunc>},
    {"vector.fma", fusedMultiplyAdd},
};

const OpRow *findRow(Operation *op) {
  const StringRef name = op->getName().getStringRef();
  const auto *row = llvm::find_if(opRows, [&](const OpRow &r) { return r.name == name; });
  return row == std::end(opRows) ? nullptr : row;
}

int64_t predicateOf(Operation *op) {
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    return floatPredicateBits(compare.getPredicate());
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return static_cast<int64_t>(compare.getPredicate());
  return 0;
}

double integerValue(const APInt &value) {
  return value.getBitWidth() == 1 ? static_cast<double>(value.getZExtValue())
                                  : static_cast<double>(value.getSExtValue());
}

double floatValue(APFloat value) {
  bool losesInfo = false;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
  return value.convertToDouble();
}

} // namespace

bool isLaneOp(Operation *op) { return findRow(op) != nullptr; }

Result<LaneInstruction> laneInstruction(Operation *op, Precision precision, std::optional<Element> accumulate) {
  const OpRow *row = findRow(op);
  if (!row)
    return unsupported(describe(op) + ": not an elementwise op that the reference interpreter knows");
  LaneInstruction instruction;
  instruction.function = row->function;
  FUSEC_ASSIGN_OR_RETURN(instruction.from, elementOf(op->getOperand(0).getType()));
  FUSEC_ASSIGN_OR_RETURN(instruction.to, elementOf(op->getResult(0).getType()));
  if (accumulate && isFloat(instruction.to))
    instruction.to = *accumulate;
  instruction.predicate = predicateOf(op);
  instruction.rounds = precision == Precision::Exact;
  return instruction;
}

void runLanes(const LaneInstruction &instruction, const double *const *in, double *out, int64_t n) {
  instruction.function(instruction, in, out, n);
  if (instruction.rounds)
    roundLanes(instruction.to, out, n);
}

Result<std::vector<double>> constantValues(Attribute value, int64_t count) {
  std::vector<double> values;
  if (auto integer = dyn_cast<IntegerAttr>(value))
    values.assign(count, integerValue(integer.getValue()));
  else if (auto number = dyn_cast<FloatAttr>(value))
    values.assign(count, floatValue(number.getValue()));
  else if (auto dense = dyn_cast<DenseElementsAttr>(value); dense && isa<FloatType>(dense.getElementType()))
    for (const APFloat &v : dense.getValues<APFloat>())
      values.push_back(floatValue(v));
  else if (dense && dense.getElementType().isIntOrIndex())
    for (const APInt &v : dense.getValues<APInt>())
      values.push_back(integerValue(v));
  else
    return unsupported("a constant is a number or dense elements of numbers");
  if (static_cast<int64_t>(values.size()) != count)
    return invalidArgument("a constant has " + std::to_string(values.size()) + " elements, expected " +
                           std::to_string(count));
  return values;
}

std::string describe(Operation *op) {
  std::string text = "op '" + op->getName().getStringRef().str() + "' at ";
  llvm::raw_string_ostream(text) << op->getLoc();
  return text;
}

} // namespace fusec::reference
