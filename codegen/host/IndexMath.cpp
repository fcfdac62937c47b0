//===- IndexMath.cpp - index arithmetic that knows alignment and range -----===//
#include "codegen/host/IndexMath.h"

#include "mlir/IR/AffineExprVisitor.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace fusec::codegen;

namespace {
enum MemoKind { Add, Mul, Div, Mod, Min, Gep, SignedMin, SignedMax };

int64_t floorDivide(int64_t a, int64_t m) { return a / m - (a % m < 0); }
std::optional<int64_t> sum(std::optional<int64_t> a, std::optional<int64_t> c) {
  return a && c ? std::optional(*a + *c) : std::nullopt;
}
std::optional<int64_t> product(std::optional<int64_t> a, int64_t c) { return a ? std::optional(*a * c) : std::nullopt; }
int64_t wholeDivisor(const IndexValue &v) { return std::gcd(v.divisor, v.offset); }

/// `a + c` split, when one of them is bounded and the other one is better aligned.
std::shared_ptr<const IndexSplit> splitSum(const IndexValue &a, const IndexValue &c) {
  const IndexValue &coarse = wholeDivisor(a) >= wholeDivisor(c) ? a : c, &fine = &coarse == &a ? c : a;
  if (!fine.min || !fine.max || *fine.min < 0)
    return nullptr;
  return std::make_shared<IndexSplit>(IndexSplit{coarse, fine});
}

/// True if the fine part, `span` further lanes included, never reaches the next multiple of m.
bool staysInBlock(const IndexValue &a, int64_t m, int64_t span) {
  return a.split && wholeDivisor(a.split->coarse) % m == 0 && *a.split->fine.min >= 0 && *a.split->fine.max + span < m;
}
} // namespace

int64_t IndexValue::alignment(int64_t m) const { return std::gcd(std::gcd(divisor, m), offset); }

llvm::Value *IndexMath::once(const Key &key, llvm::function_ref<llvm::Value *()> make) {
  if (llvm::Value *known = memo.lookup(key))
    return known;
  llvm::Value *made = make();
  memo.insert(key, made);
  return made;
}

llvm::Value *IndexMath::value(const IndexValue &v) {
  if (!v.base)
    return b.getInt64(v.offset);
  if (v.offset == 0)
    return v.base;
  return once({Add, v.base, nullptr, v.offset}, [&] { return b.CreateAdd(v.base, b.getInt64(v.offset)); });
}

IndexValue IndexMath::addConstant(IndexValue a, int64_t c) {
  a.offset += c;
  a.min = sum(a.min, c);
  a.max = sum(a.max, c);
  a.margin -= c;
  if (a.split)
    a.split = std::make_shared<IndexSplit>(IndexSplit{a.split->coarse, addConstant(a.split->fine, c)});
  return a;
}

IndexValue IndexMath::add(const IndexValue &a, const IndexValue &c) {
  if (c.isConstant())
    return addConstant(a, c.offset);
  if (a.isConstant())
    return addConstant(c, a.offset);
  IndexValue r;
  r.base = once({Add, a.base, c.base, 0}, [&] { return b.CreateAdd(a.base, c.base); });
  r.offset = a.offset + c.offset;
  r.divisor = std::gcd(a.divisor, c.divisor);
  r.min = sum(a.min, c.min);
  r.max = sum(a.max, c.max);
  const IndexValue *below = a.symbol && c.max ? &a : c.symbol && a.max ? &c : nullptr;
  if (below) {
    r.symbol = below->symbol;
    r.margin = below->margin - (below == &a ? *c.max : *a.max);
  }
  r.split = splitSum(a, c);
  return r;
}

IndexValue IndexMath::mulConstant(const IndexValue &a, int64_t c) {
  if (a.isConstant() || c == 0)
    return IndexValue::constant(a.offset * c);
  if (c == 1)
    return a;
  IndexValue r;
  r.base = once({Mul, a.base, nullptr, c}, [&] { return b.CreateMul(a.base, b.getInt64(c)); });
  r.offset = a.offset * c;
  r.divisor = a.divisor * std::abs(c);
  r.min = product(c > 0 ? a.min : a.max, c);
  r.max = product(c > 0 ? a.max : a.min, c);
  return r;
}

IndexValue IndexMath::mul(const IndexValue &a, const IndexValue &c) {
  if (c.isConstant())
    return mulConstant(a, c.offset);
  if (a.isConstant())
    return mulConstant(c, a.offset);
  llvm::Value *x = value(a), *y = value(c);
  IndexValue r = IndexValue::opaque(once({Mul, x, y, 0}, [&] { return b.CreateMul(x, y); }));
  if (a.min && c.min && *a.min >= 0 && *c.min >= 0)
    r.min = *a.min * *c.min;
  if (a.offset == 0 && c.offset == 0)
    r.divisor = a.divisor * c.divisor;
  return r;
}

IndexValue IndexMath::floorDiv(const IndexValue &a, int64_t m) {
  if (m == 1)
    return a;
  int64_t quotient = floorDivide(a.offset, m), rest = a.offset - quotient * m;
  if (a.isConstant())
    return IndexValue::constant(quotient);
  // What lies below the common divisor of base and m cannot change the result.
  rest -= rest % std::gcd(a.divisor, m);
  if (a.min && a.max && floorDivide(*a.min, m) == floorDivide(*a.max, m))
    return IndexValue::constant(floorDivide(*a.min, m));
  if (staysInBlock(a, m, 0))
    return floorDiv(a.split->coarse, m);
  IndexValue inner = a;
  inner.offset = rest;
  bool nonNegative = a.min && *a.min - a.offset + rest >= 0;
  IndexValue r;
  llvm::Value *x = value(inner);
  r.base = once({Div, x, nullptr, m}, [&]() -> llvm::Value * {
    if (llvm::isPowerOf2_64(m))
      return b.CreateAShr(x, llvm::Log2_64(m));
    if (nonNegative)
      return b.CreateUDiv(x, b.getInt64(m));
    llvm::Value *q = b.CreateSDiv(x, b.getInt64(m));
    llvm::Value *remainder = b.CreateSub(x, b.CreateMul(q, b.getInt64(m)));
    llvm::Value *isNegative = b.CreateICmpSLT(remainder, b.getInt64(0));
    return b.CreateSub(q, b.CreateZExt(isNegative, b.getInt64Ty()));
  });
  r.offset = quotient;
  r.divisor = rest == 0 && a.divisor % m == 0 ? a.divisor / m : 1;
  if (a.min)
    r.min = floorDivide(*a.min, m);
  if (a.max)
    r.max = floorDivide(*a.max, m);
  return r;
}

IndexValue IndexMath::mod(const IndexValue &a, int64_t m) {
  int64_t rest = a.offset - floorDivide(a.offset, m) * m;
  if (a.isConstant() || m == 1 || a.divisor % m == 0)
    return IndexValue::constant(m == 1 ? 0 : rest);
  if (a.min && a.max && floorDivide(*a.min, m) == floorDivide(*a.max, m))
    return addConstant(a, -floorDivide(*a.min, m) * m);
  if (staysInBlock(a, m, 0))
    return a.split->fine;
  // Split the offset at the common divisor g: the low part just adds up.
  int64_t g = std::gcd(a.divisor, m), low = rest % g;
  IndexValue inner = a;
  inner.offset = rest - low;
  llvm::Value *x = value(inner);
  IndexValue r;
  r.base = once({Mod, x, nullptr, m}, [&]() -> llvm::Value * {
    if (llvm::isPowerOf2_64(m))
      return b.CreateAnd(x, b.getInt64(m - 1));
    if (a.min && *a.min - a.offset + inner.offset >= 0)
      return b.CreateURem(x, b.getInt64(m));
    llvm::Value *s = b.CreateSRem(x, b.getInt64(m));
    return b.CreateSelect(b.CreateICmpSLT(s, b.getInt64(0)), b.CreateAdd(s, b.getInt64(m)), s);
  });
  r.offset = low;
  r.divisor = g;
  r.min = low;
  r.max = m - g + low;
  return r;
}

IndexValue IndexMath::clamp(const IndexValue &a, const IndexValue &last) {
  if (a.isConstant() && last.isConstant())
    return IndexValue::constant(a.offset < 0 ? last.offset : std::min(a.offset, last.offset));
  llvm::Value *x = value(a), *y = value(last);
  IndexValue r =
      IndexValue::opaque(once({Min, x, y, 0}, [&] { return b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, x, y); }));
  r.divisor = std::gcd(std::gcd(a.divisor, a.offset), std::gcd(last.divisor, last.offset));
  r.min = 0;
  r.max = last.max;
  r.symbol = last.symbol;
  r.margin = last.margin;
  return r;
}

IndexValue IndexMath::either(llvm::Value *v, const IndexValue &a, const IndexValue &c) {
  IndexValue r = IndexValue::opaque(v);
  r.divisor = std::max<int64_t>(1, std::gcd(wholeDivisor(a), wholeDivisor(c)));
  if (a.min && c.min)
    r.min = std::min(*a.min, *c.min);
  if (a.max && c.max)
    r.max = std::max(*a.max, *c.max);
  if (a.symbol && a.symbol == c.symbol) {
    r.symbol = a.symbol;
    r.margin = std::min(a.margin, c.margin);
  }
  return r;
}

IndexValue IndexMath::minimum(const IndexValue &a, const IndexValue &c) {
  if (a.max && c.min && *a.max <= *c.min)
    return a;
  if (c.max && a.min && *c.max <= *a.min)
    return c;
  llvm::Value *x = value(a), *y = value(c);
  IndexValue r = either(once({SignedMin, x, y, 0}, [&] { return b.CreateSelect(b.CreateICmpSLT(x, y), x, y); }), a, c);
  if (a.max || c.max) // below both, so what bounds one bounds the result
    r.max = std::min(a.max.value_or(INT64_MAX), c.max.value_or(INT64_MAX));
  const IndexValue &bounded = a.symbol && (!c.symbol || a.symbol != c.symbol || a.margin >= c.margin) ? a : c;
  r.symbol = bounded.symbol;
  r.margin = bounded.margin;
  return r;
}

IndexValue IndexMath::maximum(const IndexValue &a, const IndexValue &c) {
  if (a.min && c.max && *a.min >= *c.max)
    return a;
  if (c.min && a.max && *c.min >= *a.max)
    return c;
  llvm::Value *x = value(a), *y = value(c);
  IndexValue r = either(once({SignedMax, x, y, 0}, [&] { return b.CreateSelect(b.CreateICmpSGT(x, y), x, y); }), a, c);
  if (a.min || c.min)
    r.min = std::max(a.min.value_or(INT64_MIN), c.min.value_or(INT64_MIN));
  return r;
}

std::optional<LaneIndex> IndexMath::divide(const LaneIndex &a, int64_t m, int64_t width, bool wantRemainder) {
  int64_t span = a.stride * (width - 1);
  if (a.stride != 0) {
    // All lanes must lie between the same two multiples of m.
    int64_t g = std::gcd(a.at.divisor, m);
    int64_t low = a.at.offset - floorDivide(a.at.offset, g) * g;
    bool oneBlock = a.at.min && a.at.max && floorDivide(*a.at.min, m) == floorDivide(*a.at.max + span, m);
    oneBlock |= staysInBlock(a.at, m, span);
    if (a.stride < 0 || (low + span >= g && !oneBlock))
      return std::nullopt;
  }
  if (wantRemainder)
    return LaneIndex{mod(a.at, m), a.stride};
  return LaneIndex{floorDiv(a.at, m), 0};
}

std::optional<LaneIndex> IndexMath::evaluate(mlir::AffineExpr expr, llvm::ArrayRef<LaneIndex> dims, int64_t width) {
  if (auto constant = llvm::dyn_cast<mlir::AffineConstantExpr>(expr))
    return LaneIndex{IndexValue::constant(constant.getValue()), 0};
  if (auto dim = llvm::dyn_cast<mlir::AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  auto binary = llvm::dyn_cast<mlir::AffineBinaryOpExpr>(expr);
  if (!binary)
    return std::nullopt;
  std::optional<LaneIndex> l = evaluate(binary.getLHS(), dims, width), r = evaluate(binary.getRHS(), dims, width);
  if (!l || !r)
    return std::nullopt;
  if (expr.getKind() == mlir::AffineExprKind::Add)
    return LaneIndex{add(l->at, r->at), l->stride + r->stride};
  if (!r->at.isConstant() || r->stride != 0)
    return std::nullopt;
  int64_t c = r->at.offset;
  switch (expr.getKind()) {
  case mlir::AffineExprKind::Mul:
    return LaneIndex{mulConstant(l->at, c), l->stride * c};
  case mlir::AffineExprKind::Mod:
    return c > 0 ? divide(*l, c, width, true) : std::nullopt;
  case mlir::AffineExprKind::FloorDiv:
    return c > 0 ? divide(*l, c, width, false) : std::nullopt;
  case mlir::AffineExprKind::CeilDiv:
    return c > 0 ? divide({addConstant(l->at, c - 1), l->stride}, c, width, false) : std::nullopt;
  default:
    return std::nullopt;
  }
}

llvm::Value *IndexMath::address(llvm::Value *pointer, const IndexValue &bytes) {
  llvm::Value *p = pointer;
  if (bytes.base)
    p = once({Gep, pointer, bytes.base, 0}, [&] { return b.CreateGEP(b.getInt8Ty(), pointer, bytes.base); });
  return bytes.offset ? b.CreateGEP(b.getInt8Ty(), p, b.getInt64(bytes.offset)) : p;
}
