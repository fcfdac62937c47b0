//===- EmitScalar.cpp - arith and math as C expressions --------------------===//
//
// Every op acts on scalars here: on those of the kernel, and inside the lambdas
// of EmitMap.cpp and EmitReduce.cpp. Tables name the ops that are one operator or
// one function.
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/KernelPrinter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace fusec::tile;

namespace fusec::codegen::cuda {

namespace {

struct Operator {
  llvm::StringLiteral op, symbol;
  Binding binding;
  bool isUnsigned = false;
};

constexpr Operator operators[] = {
    {"arith.addf", "+", Binding::Sum},
    {"arith.subf", "-", Binding::Sum},
    {"arith.mulf", "*", Binding::Product},
    {"arith.divf", "/", Binding::Product},
    {"arith.addi", "+", Binding::Sum},
    {"arith.subi", "-", Binding::Sum},
    {"arith.muli", "*", Binding::Product},
    {"arith.divsi", "/", Binding::Product},
    {"arith.remsi", "%", Binding::Product},
    {"arith.divui", "/", Binding::Product, true},
    {"arith.remui", "%", Binding::Product, true},
    {"arith.andi", "&", Binding::BitAnd},
    {"arith.ori", "|", Binding::BitOr},
    {"arith.xori", "^", Binding::BitXor},
    {"arith.shli", "<<", Binding::Shift},
    {"arith.shrsi", ">>", Binding::Shift},
    {"arith.shrui", ">>", Binding::Shift, true},
};

/// A function of its operands; "f" is appended for f32 where `hasFloatForm`.
struct Function {
  llvm::StringLiteral op, name;
  bool hasFloatForm = true, isUnsigned = false;
};

constexpr Function functions[] = {
    {"arith.maximumf", "maximum", false},
    {"arith.minimumf", "minimum", false},
    {"arith.maxnumf", "fmax"},
    {"arith.minnumf", "fmin"},
    {"arith.maxsi", "larger", false},
    {"arith.minsi", "smaller", false},
    {"arith.maxui", "larger", false, true},
    {"arith.minui", "smaller", false, true},
    {"math.absf", "fabs"},
    {"math.sqrt", "sqrt"},
    {"math.floor", "floor"},
    {"math.ceil", "ceil"},
    {"math.trunc", "trunc"},
    {"math.roundeven", "rint"},
    {"math.fma", "fused", false},
    {"math.copysign", "copysign"},
    {"math.exp", "exp"},
    {"math.exp2", "exp2"},
    {"math.log", "log"},
    {"math.log2", "log2"},
    {"math.log1p", "log1p"},
    {"math.sin", "sin"},
    {"math.cos", "cos"},
    {"math.tan", "tan"},
    {"math.tanh", "tanh"},
    {"math.erf", "erf"},
    {"math.powf", "pow"},
    {"math.atan", "atan"},
    {"math.expm1", "expm1"},
    {"math.round", "round"},
    {"math.absi", "abs", false},
};

template <typename Row, size_t n> const Row *find(const Row (&rows)[n], StringRef op) {
  for (const Row &row : rows)
    if (row.op == op)
      return &row;
  return nullptr;
}

std::string unsignedType(Type type) {
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  return width == 64   ? "unsigned long long"
         : width == 32 ? "unsigned"
         : width == 16 ? "unsigned short"
                       : "unsigned char";
}

CExpr castTo(const std::string &type, const CExpr &x) {
  return {"static_cast<" + type + ">(" + x.text + ")", Binding::Atom};
}

CExpr binary(const CExpr &a, StringRef symbol, const CExpr &b, Binding binding) {
  // Inside bit operations and comparisons everything but an atom is put in parentheses: compilers warn, readers
  // stumble.
  bool isPlain = binding == Binding::Sum || binding == Binding::Product;
  Binding right = isPlain ? static_cast<Binding>(static_cast<int>(binding) + 1) : Binding::Unary;
  return {a.in(isPlain ? binding : Binding::Unary) + " " + symbol.str() + " " + b.in(right), binding};
}

bool isNegated(const CExpr &x) { return x.binding == Binding::Unary && x.text.starts_with("-"); }
CExpr withoutSign(const CExpr &x) { return {x.text.substr(1), Binding::Unary}; }

CExpr conditional(const CExpr &c, const CExpr &a, const CExpr &b) {
  return {c.in(Binding::And) + " ? " + a.in(Binding::BitOr) + " : " + b.in(Binding::BitOr), Binding::Or};
}

CExpr compareFloats(arith::CmpFPredicate predicate, const CExpr &x, const CExpr &y) {
  using P = arith::CmpFPredicate;
  auto compare = [&](StringRef symbol) {
    return CExpr{x.in(Binding::Shift) + " " + symbol.str() + " " + y.in(Binding::Shift),
                 symbol == "==" || symbol == "!=" ? Binding::Equality : Binding::Relation};
  };
  auto negated = [&](StringRef symbol) { return CExpr{"!(" + compare(symbol).text + ")", Binding::Unary}; };
  // `x == x` says that x is no NaN.
  CExpr ordered{x.in(Binding::Shift) + " == " + x.in(Binding::Shift) + " && " + y.in(Binding::Shift) +
                    " == " + y.in(Binding::Shift),
                Binding::And};
  switch (predicate) {
  case P::AlwaysFalse:
    return {"false"};
  case P::AlwaysTrue:
    return {"true"};
  case P::OEQ:
    return compare("==");
  case P::OGT:
    return compare(">");
  case P::OGE:
    return compare(">=");
  case P::OLT:
    return compare("<");
  case P::OLE:
    return compare("<=");
  case P::UNE:
    return compare("!=");
  case P::UGT:
    return negated("<=");
  case P::UGE:
    return negated("<");
  case P::ULT:
    return negated(">=");
  case P::ULE:
    return negated(">");
  case P::ORD:
    return ordered;
  case P::UNO:
    return {"!(" + ordered.text + ")", Binding::Unary};
  case P::ONE:
    return {"(" + compare("<").text + " || " + compare(">").text + ")"};
  case P::UEQ:
    return {"!(" + compare("<").text + " || " + compare(">").text + ")", Binding::Unary};
  }
  return {"false"};
}

CExpr compareIntegers(arith::CmpIOp op, CExpr x, CExpr y) {
  using P = arith::CmpIPredicate;
  static constexpr StringRef symbols[] = {"==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">="};
  P predicate = op.getPredicate();
  StringRef symbol = symbols[static_cast<int>(predicate)];
  if (predicate == P::ult || predicate == P::ule || predicate == P::ugt || predicate == P::uge) {
    std::string type = unsignedType(getElementTypeOrSelf(op.getLhs().getType()));
    x = castTo(type, x), y = castTo(type, y);
  }
  Binding binding = predicate == P::eq || predicate == P::ne ? Binding::Equality : Binding::Relation;
  return {x.in(Binding::Shift) + " " + symbol.str() + " " + y.in(Binding::Shift), binding};
}

/// The shortest decimal form that reads back as the same number.
std::string decimal(double value, bool isSingle) {
  for (int digits = 1; digits <= 17; ++digits) {
    char text[40];
    snprintf(text, sizeof text, "%.*g", digits, value);
    bool same = isSingle ? strtof(text, nullptr) == static_cast<float>(value) : strtod(text, nullptr) == value;
    if (!same)
      continue;
    StringRef plain(text);
    return plain.str() + (plain.find_first_of(".e") == StringRef::npos ? ".0" : "");
  }
  return "0.0";
}

} // namespace

std::string KernelPrinter::cType(Type type) {
  if (type.isIndex())
    return indexType();
  if (type.isF64())
    return "double";
  if (type.isF16())
    return "Half";
  if (type.isBF16())
    return "Bfloat";
  if (isa<FloatType>(type))
    return "float";
  unsigned width = type.getIntOrFloatBitWidth();
  return width == 1 ? "bool" : width <= 8 ? "signed char" : width <= 16 ? "short" : width <= 32 ? "int" : "long long";
}

CExpr KernelPrinter::literal(Type type, Attribute value) {
  if (auto integer = dyn_cast<IntegerAttr>(value)) {
    if (type.isInteger(1))
      return {integer.getValue().isZero() ? "false" : "true"};
    // The literal 2147483648 does not fit an int, so its negation would be a long.
    if (integer.getType().isInteger(32) && integer.getValue().isMinSignedValue())
      return CExpr{"-2147483647 - 1", Binding::Sum};
    return IndexExpr::constant(integer.getValue().getSExtValue()).expr();
  }
  APFloat number = cast<FloatAttr>(value).getValue();
  bool losesInfo = false;
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
  double plain = number.convertToDouble();
  std::string name = cType(type);
  CExpr text;
  if (number.isNaN())
    return {"notANumber<" + name + ">()"};
  if (number.isInfinity())
    text = {std::string(number.isNegative() ? "-" : "") + "infinity<" + name + ">()"};
  else if (type.isF64())
    text = {decimal(plain, false)};
  else
    text = {decimal(plain, true) + "f"};
  if (number.isNegative())
    text.binding = Binding::Unary;
  return type.isF16() || type.isBF16() ? CExpr{name + "(" + text.text + ")"} : text;
}

/// One op on scalars; nullopt when there is no rule for it.
std::optional<CExpr> KernelPrinter::lane(Operation &op, ArrayRef<CExpr> x) {
  StringRef name = op.getName().getStringRef();
  Type type = getElementTypeOrSelf(op.getResult(0).getType());
  Type from = getElementTypeOrSelf(op.getOperand(0).getType());
  auto narrowed = [&](CExpr e) { // C computes with int at least
    return type.isInteger() && type.getIntOrFloatBitWidth() < 32 ? castTo(cType(type), e) : e;
  };
  auto rounded = [&](CExpr e) { // Half and Bfloat compute in float
    return type.isF16() || type.isBF16() ? CExpr{cType(type) + "(" + e.text + ")"} : e;
  };
  if (const Operator *row = find(operators, name)) {
    if (type.isInteger(1)) {
      StringRef logic = row->symbol == "&" || row->symbol == "*" ? "&&" : row->symbol == "|" ? "||" : "!=";
      Binding binding = logic == "&&" ? Binding::And : logic == "||" ? Binding::Or : Binding::Equality;
      return CExpr{x[0].in(Binding::Relation) + " " + logic.str() + " " + x[1].in(Binding::Relation), binding};
    }
    // -a - -b = b - a and a - -b = a + b to the last bit.
    if (name == "arith.subf" && isNegated(x[1]))
      return rounded(isNegated(x[0]) ? binary(withoutSign(x[1]), "-", withoutSign(x[0]), Binding::Sum)
                                     : binary(x[0], "+", withoutSign(x[1]), Binding::Sum));
    if (!row->isUnsigned)
      return rounded(narrowed(binary(x[0], row->symbol, x[1], row->binding)));
    std::string asUnsigned = unsignedType(type);
    CExpr result = binary(castTo(asUnsigned, x[0]), row->symbol, castTo(asUnsigned, x[1]), row->binding);
    return castTo(cType(type), result);
  }
  if (const Function *row = find(functions, name)) {
    bool isSmallFloat = type.isF16() || type.isBF16();
    std::string function = row->name.str() + (row->hasFloatForm && !type.isF64() ? "f" : "");
    std::vector<std::string> arguments;
    for (const CExpr &e : x)
      arguments.push_back(row->isUnsigned ? castTo(unsignedType(type), e).text
                          : isSmallFloat  ? castTo("float", e).text
                                          : e.text);
    CExpr result{function + "(" + llvm::join(arguments, ", ") + ")"};
    return row->isUnsigned ? castTo(cType(type), result) : isSmallFloat ? rounded(result) : result;
  }
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    return compareFloats(compare.getPredicate(), x[0], x[1]);
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return compareIntegers(compare, x[0], x[1]);
  if (isa<arith::SelectOp>(op))
    return conditional(x[0], x[1], x[2]);
  if (isa<arith::NegFOp>(op))
    return rounded({"-" + x[0].in(Binding::Unary), Binding::Unary});
  if (isa<math::RsqrtOp>(op))
    return rounded(type.isF64() ? CExpr{"1.0 / sqrt(" + x[0].text + ")", Binding::Product}
                                : CExpr{"1.0f / sqrtf(" + x[0].text + ")", Binding::Product});
  if (isa<arith::BitcastOp>(op))
    return CExpr{"bitsAs<" + cType(type) + ">(" + x[0].text + ")"};
  if (isa<arith::TruncIOp>(op) && type.isInteger(1))
    return CExpr{"(" + x[0].in(Binding::Unary) + " & 1) != 0", Binding::Equality};
  if (isa<arith::SIToFPOp, arith::ExtSIOp>(op) && from.isInteger(1)) // a set sign bit
    return conditional(x[0], castTo(cType(type), {"-1"}), castTo(cType(type), {"0"}));
  if (isa<arith::UIToFPOp, arith::ExtUIOp, arith::IndexCastUIOp>(op) && !from.isInteger(1))
    return castTo(cType(type), castTo(unsignedType(from), x[0]));
  if (isa<arith::SIToFPOp, arith::UIToFPOp, arith::ExtSIOp, arith::ExtUIOp, arith::FPToSIOp, arith::FPToUIOp,
          arith::TruncFOp, arith::ExtFOp, arith::TruncIOp, arith::IndexCastOp, arith::IndexCastUIOp>(op)) {
    bool viaUnsigned = isa<arith::FPToUIOp>(op) && !type.isInteger(1);
    bool viaFloat = (type.isF16() || type.isBF16()) && isa<IntegerType>(from);
    CExpr inner = viaUnsigned ? castTo(unsignedType(type), x[0]) : viaFloat ? castTo("float", x[0]) : x[0];
    return type == from || cType(type) == cType(from) ? inner : castTo(cType(type), inner);
  }
  return std::nullopt;
}

CExpr KernelPrinter::scalar(Value value) {
  if (value.getType().isIndex() && indexValues.count(value))
    return indexValues[value].expr();
  if (auto known = values.find(value); known != values.end())
    return known->second;
  if (auto constant = value.getDefiningOp<arith::ConstantOp>(); constant && !isTile(value))
    return literal(value.getType(), constant.getValue());
  fail(value.getDefiningOp() ? value.getDefiningOp() : kernel.getOperation(), "uses a value that was not computed");
  return {"0"};
}

void KernelPrinter::emitConstant(arith::ConstantOp op) {
  if (op.getType().isIndex())
    indexValues[op] = IndexExpr::constant(cast<IntegerAttr>(op.getValue()).getInt());
}

/// A scalar op: part of the expression that reads it, if that is the only one and stands in the same block.
void KernelPrinter::emitScalar(Operation &op) {
  if (op.getNumResults() != 1 || op.getNumOperands() == 0 || op.getNumRegions() != 0 || isTile(op.getResult(0))) {
    fail(&op, "has no CUDA lowering");
    return;
  }
  SmallVector<CExpr> operands;
  for (Value operand : op.getOperands())
    operands.push_back(scalar(operand));
  std::optional<CExpr> result = lane(op, operands);
  if (!result) {
    fail(&op, "has no CUDA lowering");
    return;
  }
  Value value = op.getResult(0);
  constexpr size_t longest = 64;
  Operation *user = value.hasOneUse() ? *value.user_begin() : nullptr;
  bool isRepeated = false; // compareFloats may write an operand twice
  if (auto compare = dyn_cast_or_null<arith::CmpFOp>(user))
    isRepeated = true;
  bool joins = user && user->getBlock() == op.getBlock() && user->getNumRegions() == 0 &&
               result->text.size() < longest && !isRepeated &&
               (user->getNumResults() == 1 && !isTile(user->getResult(0)));
  bool isReturned = user && isa<tile::YieldOp>(user) && user->getNumOperands() == 1;
  bool isName = llvm::all_of(result->text, [](char c) { return llvm::isAlpha(c) || c == '_'; });
  if (joins || isReturned || isName)
    return bind(value, *result);
  if (value.use_empty())
    return;
  std::string name = fresh(nameFor(value));
  emitLocation(op);
  out->declare(name, "const " + cType(value.getType()) + " " + name + " = " + result->text + ";");
  bind(value, {name});
}

} // namespace fusec::codegen::cuda
