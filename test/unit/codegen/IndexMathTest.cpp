//===- IndexMathTest.cpp - index arithmetic against plain integers -----------===//
//
// With constant bases the builder folds everything, so the arithmetic can be
// compared with integers: every fact it uses has to hold.
//
//===----------------------------------------------------------------------===//
#include "codegen/host/IndexMath.h"

#include "mlir/IR/MLIRContext.h"
#include <gtest/gtest.h>

#include <random>

using namespace fusec::codegen;

static int64_t floorDivide(int64_t a, int64_t m) { return a / m - (a % m < 0); }

static int64_t folded(IndexMath &math, const IndexValue &v) {
  return llvm::cast<llvm::ConstantInt>(math.value(v))->getSExtValue();
}

/// A base that is some multiple of `divisor`, with its facts.
static IndexValue known(llvm::IRBuilder<> &b, int64_t value, int64_t divisor, int64_t offset, bool bounded) {
  IndexValue v = IndexValue::opaque(b.getInt64(value * divisor));
  v.divisor = divisor;
  v.offset = offset;
  if (bounded) {
    v.min = value * divisor + offset - 3;
    v.max = value * divisor + offset + 2;
  }
  return v;
}

static void checkFacts(IndexMath &math, const IndexValue &v, int64_t want) {
  ASSERT_EQ(folded(math, v), want);
  if (v.min)
    ASSERT_LE(*v.min, want);
  if (v.max)
    ASSERT_GE(*v.max, want);
  if (v.base)
    ASSERT_EQ((want - v.offset) % v.divisor, 0);
}

TEST(IndexMath, DivisionAndRemainderKeepTheirFacts) {
  llvm::LLVMContext context;
  llvm::IRBuilder<> b(context);
  IndexMath math(b);
  IndexMath::Scope scope(math);
  std::mt19937 rng(3);
  for (int i = 0; i < 20000; ++i) {
    int64_t divisors[] = {1, 2, 8, 12, 16, 64}, moduli[] = {1, 3, 4, 16, 32, 48, 64, 256};
    int64_t d = divisors[rng() % 6], m = moduli[rng() % 8], base = static_cast<int64_t>(rng() % 201) - 100;
    int64_t offset = static_cast<int64_t>(rng() % 151) - 75, value = base * d + offset;
    IndexValue v = known(b, base, d, offset, rng() % 2);
    checkFacts(math, math.floorDiv(v, m), floorDivide(value, m));
    checkFacts(math, math.mod(v, m), value - floorDivide(value, m) * m);
    checkFacts(math, math.mulConstant(v, -3), -3 * value);
  }
}

TEST(IndexMath, SmallerLargerAndProductsKeepTheirFacts) {
  llvm::LLVMContext context;
  llvm::IRBuilder<> b(context);
  IndexMath math(b);
  IndexMath::Scope scope(math);
  std::mt19937 rng(5);
  for (int i = 0; i < 20000; ++i) {
    int64_t divisors[] = {1, 2, 16, 64}, d = divisors[rng() % 4], e = divisors[rng() % 4];
    int64_t x = static_cast<int64_t>(rng() % 41) - 20, y = static_cast<int64_t>(rng() % 41) - 20;
    int64_t ox = static_cast<int64_t>(rng() % 51) - 25, oy = static_cast<int64_t>(rng() % 51) - 25;
    IndexValue v = known(b, x, d, ox, rng() % 2), w = known(b, y, e, oy, rng() % 2);
    if (rng() % 4 == 0)
      w = IndexValue::constant(y * e + oy);
    if (rng() % 3 == 0)
      v.min.reset(); // only the upper bound is known
    int64_t a = x * d + ox, c = y * e + oy;
    checkFacts(math, math.minimum(v, w), std::min(a, c));
    checkFacts(math, math.maximum(v, w), std::max(a, c));
    checkFacts(math, math.add(v, w), a + c);
    checkFacts(math, math.mulConstant(v, 5), 5 * a);
    checkFacts(math, math.mulConstant(v, -5), -5 * a);
    checkFacts(math, IndexMath::either(b.getInt64(a), v, w), a);
    checkFacts(math, IndexMath::either(b.getInt64(c), v, w), c);
  }
}

/// block * 64 + i for 0 <= i < 64 stays in the block, whatever i is.
TEST(IndexMath, ABoundedSumStaysInItsBlock) {
  llvm::LLVMContext context;
  llvm::IRBuilder<> b(context);
  IndexMath math(b);
  IndexMath::Scope scope(math);
  std::mt19937 rng(6);
  int split = 0;
  for (int i = 0; i < 20000; ++i) {
    int64_t block = rng() % 20, in = rng() % 64, shift = rng() % 8, width = 1 << (rng() % 5);
    IndexValue coarse = IndexValue::opaque(b.getInt64(block * 64)), fine = IndexValue::opaque(b.getInt64(in));
    coarse.divisor = 64;
    fine.min = 0;
    fine.max = in + rng() % 4;
    IndexValue sum = math.addConstant(math.add(coarse, fine), shift);
    int64_t want = block * 64 + in + shift;
    checkFacts(math, math.floorDiv(sum, 64), want / 64);
    checkFacts(math, math.mod(sum, 64), want % 64);
    std::optional<LaneIndex> q = math.divide({sum, 1}, 64, width, false), r = math.divide({sum, 1}, 64, width, true);
    ASSERT_EQ(q.has_value(), r.has_value());
    if (!q)
      continue;
    ++split;
    for (int64_t lane = 0; lane < width; ++lane) {
      ASSERT_EQ(folded(math, q->at) + lane * q->stride, (want + lane) / 64);
      ASSERT_EQ(folded(math, r->at) + lane * r->stride, (want + lane) % 64);
    }
  }
  EXPECT_GT(split, 10000);
}

TEST(IndexMath, AffineLanesMatchEveryLane) {
  mlir::MLIRContext mlirContext;
  llvm::LLVMContext context;
  llvm::IRBuilder<> b(context);
  IndexMath math(b);
  IndexMath::Scope scope(math);
  mlir::AffineExpr d0 = mlir::getAffineDimExpr(0, &mlirContext);
  std::mt19937 rng(4);
  int affine = 0;
  for (int i = 0; i < 20000; ++i) {
    int64_t shift = static_cast<int64_t>(rng() % 97) - 48, m = int64_t(1) << (rng() % 8), f = 1 + rng() % 4;
    mlir::AffineExpr expr = ((d0 * f + shift) % m) + (d0 + shift).floorDiv(m) * 5 + 2;
    int64_t divisor = int64_t(1) << (rng() % 7), base = rng() % 50, width = int64_t(1) << (rng() % 5);
    LaneIndex dim{known(b, base, divisor, 0, rng() % 2), 1};
    std::optional<LaneIndex> got = math.evaluate(expr, {dim}, width);
    if (!got)
      continue;
    ++affine;
    for (int64_t lane = 0; lane < width; ++lane) {
      int64_t x = base * divisor + lane, y = x * f + shift;
      int64_t want = y - floorDivide(y, m) * m + floorDivide(x + shift, m) * 5 + 2;
      ASSERT_EQ(folded(math, got->at) + lane * got->stride, want) << i;
    }
  }
  EXPECT_GT(affine, 2000);
}
