//===- LaneOpsTest.cpp - every elementwise op, through fuse.map -----------------===//
#include "test/unit/ir/IRFixture.h"

#include "ir/reference/LaneOps.h"

#include "mlir/AsmParser/AsmParser.h"

namespace fusec::reference {
namespace {

class LaneOpsTest : public IRFixture {
protected:
  /// Runs `body` (which defines %r of `type`) on scalars %a, %b, %c.
  double eval(const std::string &in, const std::string &out, const std::string &body, std::vector<double> args,
              Precision precision = Precision::Exact) {
    std::string params, operands, types, maps, lanes;
    std::vector<Tensor> inputs;
    Result<Element> element = elementOf(mlir::parseType(in, &context));
    for (size_t i = 0; i < args.size(); ++i) {
      const std::string sep = i ? ", " : "", name(1, static_cast<char>('a' + i));
      params += sep + "%t" + name + ": !fuse.tensor<[1], " + in + ">";
      operands += sep + "%t" + name;
      types += sep + "!fuse.tensor<[1], " + in + ">";
      maps += sep + "affine_map<(i) -> (i)>";
      lanes += sep + "%" + name + ": " + in;
      inputs.push_back(Tensor::fromValues(*element, {1}, {args[i]}));
    }
    const std::string result = "!fuse.tensor<[1], " + out + ">";
    const std::string text = "func.func @f(" + params + ") -> " + result + " {\n %m = fuse.map(" + operands + " : " +
                             types + ") maps [" + maps + "] -> " + result + " {\n^bb0(" + lanes + "):\n" + body +
                             "\nfuse.yield %r : " + out + "\n}\n return %m : " + result + "\n}";
    std::vector<double> values = run(text, inputs, precision);
    return values.empty() ? -12345 : values[0];
  }
  double f32(const std::string &op, std::vector<double> args) {
    const std::string operands = args.size() == 1 ? "%a" : args.size() == 2 ? "%a, %b" : "%a, %b, %c";
    return eval("f32", "f32", "%r = " + op + " " + operands + " : f32", args);
  }
  double i32(const std::string &op, std::vector<double> args) {
    return eval("i32", "i32", "%r = " + op + " %a, %b : i32", args);
  }
};

TEST_F(LaneOpsTest, FloatArithmeticRoundsToItsType) {
  EXPECT_EQ(f32("arith.addf", {1.0, 0x1p-24}), 1.0); // a tie, to even
  EXPECT_EQ(f32("arith.addf", {1.0, 0x1.8p-24}), 1.0 + 0x1p-23);
  EXPECT_EQ(f32("arith.subf", {1.5, 4}), -2.5);
  EXPECT_EQ(f32("arith.mulf", {1 + 0x1p-23, 1 + 0x1p-23}), 1 + 0x1p-22);
  EXPECT_EQ(f32("arith.divf", {1, 3}), static_cast<double>(1.0f / 3.0f));
  EXPECT_EQ(f32("arith.remf", {-7.5, 2}), -1.5);
  EXPECT_EQ(f32("arith.negf", {2}), -2);
  EXPECT_EQ(f32("arith.mulf", {3e38, 10}), INFINITY);
  EXPECT_EQ(eval("f32", "f32", "%r = arith.addf %a, %b : f32", {1.0, 0x1p-24}, Precision::F64), 1.0 + 0x1p-24);
}

TEST_F(LaneOpsTest, NarrowFloatsRoundOnce) {
  EXPECT_EQ(roundTo(Element::F16, 65519.0), 65504.0);
  EXPECT_EQ(roundTo(Element::F16, 65520.0), INFINITY);
  EXPECT_EQ(roundTo(Element::F16, 0x1p-25), 0.0); // a tie with the smallest subnormal
  EXPECT_EQ(roundTo(Element::F16, 0x1.8p-25), 0x1p-24);
  EXPECT_EQ(roundTo(Element::F16, 1 + 0x1p-11 + 0x1p-40), 1 + 0x1p-10); // through f32 it would be a tie
  EXPECT_EQ(roundTo(Element::BF16, 1 + 0x1p-8), 1.0);
  EXPECT_EQ(roundTo(Element::BF16, 1 + 0x1.8p-8), 1 + 0x1p-7);
  EXPECT_EQ(roundTo(Element::BF16, -0x1.ffp127), -INFINITY);
  EXPECT_EQ(roundTo(Element::BF16, 0x1p-133), 0x1p-133);
  EXPECT_TRUE(std::isnan(roundTo(Element::F16, NAN)));
}

TEST_F(LaneOpsTest, FmaRoundsOnce) {
  const double a = 1 + 0x1p-23;
  EXPECT_EQ(f32("math.fma", {a, a, -(1 + 0x1p-22)}), 0x1p-46);
}

TEST_F(LaneOpsTest, MaximumAndMinimum) {
  EXPECT_TRUE(std::isnan(f32("arith.maximumf", {1, NAN})));
  EXPECT_EQ(f32("arith.maxnumf", {1, NAN}), 1);
  EXPECT_FALSE(std::signbit(f32("arith.maximumf", {-0.0, 0.0})));
  EXPECT_TRUE(std::signbit(f32("arith.minimumf", {0.0, -0.0})));
  EXPECT_EQ(f32("arith.maximumf", {-INFINITY, -3}), -3);
  EXPECT_EQ(f32("arith.minnumf", {NAN, 2}), 2);
}

TEST_F(LaneOpsTest, ComparesFloats) {
  struct Row {
    const char *predicate;
    double less, equal, greater, unordered;
  };
  const Row rows[] = {{"oeq", 0, 1, 0, 0}, {"ogt", 0, 0, 1, 0}, {"oge", 0, 1, 1, 0},  {"olt", 1, 0, 0, 0},
                      {"ole", 1, 1, 0, 0}, {"one", 1, 0, 1, 0}, {"ord", 1, 1, 1, 0},  {"ueq", 0, 1, 0, 1},
                      {"ugt", 0, 0, 1, 1}, {"uge", 0, 1, 1, 1}, {"ult", 1, 0, 0, 1},  {"ule", 1, 1, 0, 1},
                      {"une", 1, 0, 1, 1}, {"uno", 0, 0, 0, 1}, {"true", 1, 1, 1, 1}, {"false", 0, 0, 0, 0}};
  for (const Row &row : rows) {
    const std::string body = std::string("%r = arith.cmpf ") + row.predicate + ", %a, %b : f32";
    EXPECT_EQ(eval("f32", "i1", body, {1, 2}), row.less) << row.predicate;
    EXPECT_EQ(eval("f32", "i1", body, {2, 2}), row.equal) << row.predicate;
    EXPECT_EQ(eval("f32", "i1", body, {3, 2}), row.greater) << row.predicate;
    EXPECT_EQ(eval("f32", "i1", body, {3, NAN}), row.unordered) << row.predicate;
  }
}

TEST_F(LaneOpsTest, ComparesIntegers) {
  struct Row {
    const char *predicate;
    double minusOneAndOne;
  };
  const Row rows[] = {{"eq", 0},  {"ne", 1},  {"slt", 1}, {"sle", 1}, {"sgt", 0},
                      {"sge", 0}, {"ult", 0}, {"ule", 0}, {"ugt", 1}, {"uge", 1}};
  for (const Row &row : rows)
    EXPECT_EQ(eval("i32", "i1", std::string("%r = arith.cmpi ") + row.predicate + ", %a, %b : i32", {-1, 1}),
              row.minusOneAndOne)
        << row.predicate;
  EXPECT_TRUE(std::isnan(eval("i32", "i1", "%r = arith.cmpi slt, %a, %b : i32", {NAN, 1}))) << "poison spreads";
}

TEST_F(LaneOpsTest, IntegersWrap) {
  EXPECT_EQ(i32("arith.addi", {2147483647, 1}), -2147483648.0);
  EXPECT_EQ(i32("arith.subi", {-2147483648.0, 1}), 2147483647);
  EXPECT_EQ(i32("arith.muli", {65536, 65537}), 65536);
  EXPECT_EQ(i32("arith.divsi", {-7, 2}), -3);
  EXPECT_EQ(i32("arith.floordivsi", {-7, 2}), -4);
  EXPECT_EQ(i32("arith.ceildivsi", {7, 2}), 4);
  EXPECT_EQ(i32("arith.remsi", {-7, 2}), -1);
  EXPECT_EQ(i32("arith.divui", {-2, 2}), 2147483647);
  EXPECT_EQ(i32("arith.remui", {-1, 10}), 5);
  EXPECT_TRUE(std::isnan(i32("arith.divsi", {1, 0})));
  EXPECT_EQ(i32("arith.andi", {12, 10}), 8);
  EXPECT_EQ(i32("arith.ori", {12, 10}), 14);
  EXPECT_EQ(i32("arith.xori", {12, 10}), 6);
  EXPECT_EQ(i32("arith.shli", {1, 31}), -2147483648.0);
  EXPECT_EQ(i32("arith.shrsi", {-8, 1}), -4);
  EXPECT_EQ(i32("arith.shrui", {-8, 1}), 2147483644);
  EXPECT_EQ(i32("arith.maxsi", {-1, 1}), 1);
  EXPECT_EQ(i32("arith.minsi", {-1, 1}), -1);
  EXPECT_EQ(i32("arith.maxui", {-1, 1}), -1);
  EXPECT_EQ(i32("arith.minui", {-1, 1}), 1);
}

TEST_F(LaneOpsTest, Conversions) {
  EXPECT_EQ(eval("i32", "f32", "%r = arith.sitofp %a : i32 to f32", {16777217}), 16777216);
  EXPECT_EQ(eval("i32", "f32", "%r = arith.uitofp %a : i32 to f32", {-1}), 4294967296.0);
  EXPECT_EQ(eval("f32", "i32", "%r = arith.fptosi %a : f32 to i32", {-2.9}), -2);
  EXPECT_TRUE(std::isnan(eval("f32", "i32", "%r = arith.fptosi %a : f32 to i32", {3e9})));
  EXPECT_EQ(eval("f32", "i32", "%r = arith.fptoui %a : f32 to i32", {4e9}), 4e9 - 4294967296.0);
  EXPECT_EQ(eval("f64", "f32", "%r = arith.truncf %a : f64 to f32", {0.1}), static_cast<double>(0.1f));
  EXPECT_EQ(eval("f64", "bf16", "%r = arith.truncf %a : f64 to bf16", {3.14159}), 3.140625);
  EXPECT_EQ(eval("f16", "f32", "%r = arith.extf %a : f16 to f32", {1.5}), 1.5);
  EXPECT_EQ(eval("i1", "i32", "%r = arith.extsi %a : i1 to i32", {1}), -1);
  EXPECT_EQ(eval("i1", "i32", "%r = arith.extui %a : i1 to i32", {1}), 1);
  EXPECT_EQ(eval("i32", "i8", "%r = arith.trunci %a : i32 to i8", {200}), -56);
  EXPECT_EQ(eval("i32", "index", "%r = arith.index_cast %a : i32 to index", {-5}), -5);
  EXPECT_EQ(eval("f32", "f32", "%k = arith.constant true\n%r = arith.select %k, %a, %b : f32", {1, 2}), 1);
}

// Values of numpy in f64, rounded to f32.
TEST_F(LaneOpsTest, MathFunctions) {
  struct Row {
    const char *op;
    double x, y;
  };
  const Row rows[] = {{"math.exp", 1, 2.718281828459045},
                      {"math.exp2", 0.5, 1.4142135623730951},
                      {"math.expm1", 0.5, 0.6487212707001282},
                      {"math.log", 10, 2.302585092994046},
                      {"math.log2", 10, 3.321928094887362},
                      {"math.log10", 2, 0.3010299956639812},
                      {"math.log1p", 0.5, 0.4054651081081644},
                      {"math.sin", 1, 0.8414709848078965},
                      {"math.cos", 1, 0.5403023058681398},
                      {"math.tan", 1, 1.5574077246549023},
                      {"math.tanh", 0.5, 0.46211715726000973},
                      {"math.sinh", 0.5, 0.5210953054937474},
                      {"math.cosh", 0.5, 1.1276259652063807},
                      {"math.erf", 0.5, 0.5204998778130465},
                      {"math.sqrt", 2, 1.4142135623730951},
                      {"math.rsqrt", 2, 0.7071067811865475},
                      {"math.cbrt", 2, 1.2599210498948732},
                      {"math.atan", 1, 0.7853981633974483},
                      {"math.absf", -1.5, 1.5},
                      {"math.floor", -1.5, -2},
                      {"math.ceil", -1.5, -1},
                      {"math.trunc", -1.5, -1},
                      {"math.round", 2.5, 3},
                      {"math.roundeven", 2.5, 2}};
  for (const Row &row : rows)
    EXPECT_EQ(f32(row.op, {row.x}), static_cast<double>(static_cast<float>(row.y))) << row.op;
  EXPECT_EQ(f32("math.powf", {2, 10}), 1024);
  EXPECT_EQ(f32("math.copysign", {2, -0.0}), -2);
  EXPECT_EQ(f32("math.atan2", {1, 1}), static_cast<double>(0.78539816339f));
  EXPECT_EQ(f32("math.exp", {-INFINITY}), 0);
}

TEST_F(LaneOpsTest, AnUnknownOpIsAnErrorThatNamesIt) {
  auto result = tryRun(R"(
    func.func @f(%x: !fuse.tensor<[1], i32>) -> !fuse.tensor<[1], i32> {
      %m = fuse.map(%x : !fuse.tensor<[1], i32>) maps [affine_map<(i) -> (i)>] -> !fuse.tensor<[1], i32> {
      ^bb0(%a: i32):
        %r = math.ctpop %a : i32
        fuse.yield %r : i32
      }
      return %m : !fuse.tensor<[1], i32>
    })",
                       {integers({1})});
  ASSERT_FALSE(result);
  EXPECT_NE(result.status().message().find("math.ctpop"), std::string::npos) << result.status().message();
  EXPECT_NE(result.status().message().find("fuse.map"), std::string::npos) << result.status().message();
}

} // namespace
} // namespace fusec::reference
