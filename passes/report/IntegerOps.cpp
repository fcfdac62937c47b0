//===- IntegerOps.cpp ---------------------------------------------------------------------===//
#include "passes/report/IntegerOps.h"

#include "llvm/ADT/SmallVectorExtras.h"

#include <algorithm>

using namespace mlir;

namespace fusec {

namespace {

using Value = std::optional<int64_t>;

struct Row {
  llvm::StringLiteral name;
  IntegerOp op;
};

int64_t floorDiv(int64_t a, int64_t b) { return a / b - ((a % b != 0) && ((a < 0) != (b < 0))); }
Value divided(int64_t a, int64_t b) { return b == 0 ? Value() : a / b; }
Value remainder(int64_t a, int64_t b) { return b == 0 ? Value() : a % b; }
Value dividedUp(int64_t a, int64_t b) { return b == 0 ? Value() : -floorDiv(-a, b); }
Value least(int64_t a, int64_t b) { return std::min(a, b); }
Value greatest(int64_t a, int64_t b) { return std::max(a, b); }

/// What bounds and conditions are made of. Sizes and indices are small and not negative: signed or not is the same.
constexpr Row table[] = {
    {"arith.addi", [](int64_t a, int64_t b) { return Value(a + b); }},
    {"arith.subi", [](int64_t a, int64_t b) { return Value(a - b); }},
    {"arith.muli", [](int64_t a, int64_t b) { return Value(a * b); }},
    {"arith.divsi", divided},
    {"arith.divui", divided},
    {"arith.remsi", remainder},
    {"arith.remui", remainder},
    {"arith.floordivsi", [](int64_t a, int64_t b) { return b == 0 ? Value() : floorDiv(a, b); }},
    {"arith.ceildivsi", dividedUp},
    {"arith.ceildivui", dividedUp},
    {"arith.minsi", least},
    {"arith.minui", least},
    {"arith.maxsi", greatest},
    {"arith.maxui", greatest},
    {"arith.andi", [](int64_t a, int64_t b) { return Value(a & b); }},
    {"arith.ori", [](int64_t a, int64_t b) { return Value(a | b); }},
    {"arith.xori", [](int64_t a, int64_t b) { return Value(a ^ b); }},
};

} // namespace

IntegerOp findIntegerOp(llvm::StringRef name) {
  const Row *row = llvm::find_if(table, [&](const Row &candidate) { return candidate.name == name; });
  return row == std::end(table) ? nullptr : row->op;
}

static int64_t evaluate(AffineExpr expr, llvm::ArrayRef<int64_t> dims) {
  if (auto dim = llvm::dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto constant = llvm::dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  auto binary = llvm::cast<AffineBinaryOpExpr>(expr);
  const int64_t a = evaluate(binary.getLHS(), dims), b = evaluate(binary.getRHS(), dims);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return a + b;
  case AffineExprKind::Mul:
    return a * b;
  case AffineExprKind::Mod:
    return a - floorDiv(a, b) * b;
  case AffineExprKind::FloorDiv:
    return floorDiv(a, b);
  case AffineExprKind::CeilDiv:
    return -floorDiv(-a, b);
  default:
    llvm_unreachable("an index map without symbols");
  }
}

llvm::SmallVector<int64_t> evaluate(AffineMap map, llvm::ArrayRef<int64_t> dims) {
  return llvm::map_to_vector(map.getResults(), [&](AffineExpr expr) { return evaluate(expr, dims); });
}

bool compare(arith::CmpIPredicate predicate, int64_t a, int64_t b) {
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return a == b;
  case arith::CmpIPredicate::ne:
    return a != b;
  case arith::CmpIPredicate::slt:
  case arith::CmpIPredicate::ult:
    return a < b;
  case arith::CmpIPredicate::sle:
  case arith::CmpIPredicate::ule:
    return a <= b;
  case arith::CmpIPredicate::sgt:
  case arith::CmpIPredicate::ugt:
    return a > b;
  case arith::CmpIPredicate::sge:
  case arith::CmpIPredicate::uge:
    return a >= b;
  }
  return true;
}

} // namespace fusec
