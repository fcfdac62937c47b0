//===- IndexExprTest.cpp - index arithmetic as text ----------------------------===//
#include "codegen/cuda/IndexExpr.h"
#include "codegen/cuda/SourceText.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

using namespace fusec::codegen::cuda;

namespace {

/// A variable of [min, max] that is a multiple of `divisor`.
IndexExpr variable(const std::string &name, int64_t min, int64_t max, int64_t divisor = 1) {
  IndexExpr v = IndexExpr::variable({name});
  v.min = min;
  v.max = max;
  v.divisor = divisor;
  return v;
}

/// Result 0 of `map` with d0 = block (a multiple of 64), d1 = step (0, 16, 32, 48), d2 = lane (0 to 15).
std::string evaluated(const std::string &map) {
  mlir::MLIRContext context;
  auto parsed =
      mlir::cast<mlir::AffineMapAttr>(mlir::parseAttribute("affine_map<(d0, d1, d2) -> (" + map + ")>", &context));
  IndexExpr dims[] = {variable("block", 0, 6400, 64), variable("step", 0, 48, 16), variable("lane", 0, 15)};
  return IndexExpr::evaluate(parsed.getValue().getResult(0), dims)->text();
}

} // namespace

TEST(IndexExpr, FoldsConstants) {
  IndexExpr t = IndexExpr::variable({"t"});
  EXPECT_EQ(t.plus(3).plus(-3).text(), "t");
  EXPECT_EQ(t.plus(3).times(4).text(), "t * 4 + 12");
  EXPECT_EQ(t.plus(1).plus(IndexExpr::variable({"u"}).plus(2)).text(), "t + u + 3");
  EXPECT_EQ(t.times(0).text(), "0");
  EXPECT_EQ(t.plus(IndexExpr::variable({"u"}).times(-1)).text(), "t - u");
  EXPECT_EQ(IndexExpr::constant(-7).floorDiv(2).text(), "-4");
  EXPECT_EQ(IndexExpr::constant(-7).modulo(4).text(), "1");
}

TEST(IndexExpr, DividesByWhatItKnows) {
  EXPECT_EQ(IndexExpr::variable({"t"}).floorDiv(4).text(), "floorDivide(t, 4)");
  EXPECT_EQ(variable("t", 0, 100).floorDiv(4).text(), "t / 4");
  EXPECT_EQ(variable("t", 0, 100).modulo(4).text(), "t % 4");
  EXPECT_EQ(variable("t", 0, 3).floorDiv(4).text(), "0");
  EXPECT_EQ(variable("t", 0, 3).modulo(4).text(), "t");
  EXPECT_EQ(variable("t", 0, 100, 8).modulo(4).text(), "0");
  EXPECT_EQ(variable("t", 0, 100, 8).plus(3).floorDiv(8).text(), "t / 8");
  EXPECT_EQ(variable("t", 0, 100, 8).plus(19).modulo(8).text(), "3");
}

// What a page is looked up by does not depend on the lane.
TEST(IndexExpr, APositionStaysInItsBlock) {
  EXPECT_EQ(evaluated("(d0 + d1 + d2) floordiv 64"), "block / 64");
  EXPECT_EQ(evaluated("(d0 + d1 + d2) mod 64"), "step + lane");
  EXPECT_EQ(evaluated("(d0 + d1 + d2) mod 16"), "lane");
  EXPECT_EQ(evaluated("(d0 + d1 + d2 + 1) floordiv 64"), "(block + step + lane + 1) / 64");
}

TEST(IndexExpr, NeighboursOfAPair) {
  EXPECT_EQ(evaluated("d0 * 2 - d2 + (d2 floordiv 2) * 4 + 1"), "block * 2 + (lane ^ 1)");
  EXPECT_EQ(evaluated("d0 * 2 - d2 + (d2 floordiv 2) * 4 + 577"), "block * 2 + (lane ^ 1) + 576");
}

// Heads of a row of several tokens: the remainder is said, and so in range.
TEST(IndexExpr, RemaindersOfRows) {
  EXPECT_EQ(evaluated("d2 * 64 - (d2 floordiv 3) * 192"), "lane % 3 * 64");
  EXPECT_EQ(evaluated("d0 + d2 * 64 + d1 - (d2 floordiv 3) * 192"), "block + lane % 3 * 64 + step");
  EXPECT_EQ(evaluated("d2 * 64 - (d2 floordiv 3) * 128"), "lane * 64 + lane / 3 * -128"); // no remainder
}

TEST(IndexExpr, BoundsFollow) {
  IndexExpr length = IndexExpr::variable({"length"}), limit = IndexExpr::variable({"C"});
  limit.min = 0;
  IndexExpr end = IndexExpr::smaller(length, limit);
  EXPECT_EQ(end.text(), "smaller(length, C)");
  EXPECT_EQ(IndexExpr::smaller(IndexExpr::constant(64), length).text(), "smaller(length, 64)");
  EXPECT_EQ(*IndexExpr::smaller(length, IndexExpr::constant(64)).max, 64);
  EXPECT_EQ(*IndexExpr::larger(length, IndexExpr::constant(0)).min, 0);
  EXPECT_EQ(IndexExpr::smaller(variable("t", 0, 3), IndexExpr::constant(5)).text(), "t");
}

TEST(SourceText, LeavesOutWhatNothingReads) {
  SourceText text;
  text.declare("a", "const int a = 1;");
  text.declare("b", "const int b = a;");
  text.open("{");
  text.declare("c", "const int c = 2;");
  text.line("use(ab);");
  text.close();
  text.open("{");
  text.declare("c", "const int c = 3;");
  text.line("use(ab, c);");
  text.close();
  EXPECT_EQ(text.text(), "{\n  use(ab);\n}\n{\n  const int c = 3;\n  use(ab, c);\n}\n");
}

TEST(SourceText, BreaksLongLambdas) {
  SourceText text;
  LambdaText lambda{{"int row", "int col"}, {}, "col", true};
  text.call("f(", {lambda}, ", x);");
  EXPECT_EQ(text.text(), "f([=](int, int col) { return col; }, x);\n");
  SourceText second;
  lambda.statements = {"const int twice = 2 * row;"};
  second.call("f(", {lambda}, ");");
  EXPECT_EQ(second.text(), "f([=](int row, int col) {\n  const int twice = 2 * row;\n  return col;\n});\n");
}
