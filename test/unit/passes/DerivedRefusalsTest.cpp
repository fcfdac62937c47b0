//===- DerivedRefusalsTest.cpp - what cannot be proved stays apart, and right -------===//
//
// Each graph looks like attention and breaks one obligation. It must compile to
// separate kernels, give the graph's results, and leave a remark that names the
// obligation.
//
//===----------------------------------------------------------------------===//
#include "test/unit/passes/Comparison.h"
#include "test/unit/passes/FusionReport.h"
#include "test/unit/passes/GraphText.h"

#include <cmath>

namespace fusec::differential {
namespace {

using namespace reference;

constexpr int64_t keys = 37, head = 8, width = 16; // no multiple of any tile

/// Softmax-like graphs over scores [T, 37] of q [T, 8] and k [37, 8], applied to v [37, 16].
class Scores : public GraphText {
public:
  Scores() {
    q = argument("q", "ragged(T), 8");
    k = argument("k", "37, 8");
    v = argument("v", "37, 16");
    s = contract(q, k, {"(t, j, d) -> (t, d)", "(t, j, d) -> (j, d)", "(t, j, d) -> (t, j)"}, scores);
  }
  Node maximum() { return reduce(s, 2, "arith.maximumf", "0xFF800000", "ragged(T)"); }
  Node sum(const Node &x) { return reduce(x, 2, "arith.addf", "0.0", "ragged(T)"); }
  Node values(const Node &p, const std::string &order = "any") {
    return contract(p, v, {"(t, c, j) -> (t, j)", "(t, c, j) -> (j, c)", "(t, c, j) -> (t, c)"}, out, order);
  }
  /// One map of an element and a row value.
  Node perRow(const Node &x, const Node &row, const std::string &body, const std::string &dims) {
    return map({x, row}, {identityMap(2), "(t, j) -> (t)"}, dims, body);
  }
  Node weights(const Node &m) { return perRow(s, m, shiftedExp, scores); }
  Node divided(const Node &x, const Node &l) { return perRow(x, l, "    %r = arith.divf %a, %b : f32\n", out); }

  static constexpr const char *shiftedExp = "    %d = arith.subf %a, %b : f32\n    %r = math.exp %d : f32\n";
  const std::string scores = "ragged(T), 37", out = "ragged(T), 16";
  Node q, k, v, s;
};

Step stepOf(int64_t tokens) {
  Step step;
  step.symbols["T"] = tokens;
  step.inputs["q"] = randomTensor({tokens, head}, 11);
  step.inputs["k"] = randomTensor({keys, head}, 12);
  step.inputs["v"] = randomTensor({keys, width}, 13);
  return step;
}

/// Scores below 8 in magnitude err by 9 units of that, and what follows has a slope of at most 1 there;
/// sums of up to 37 such terms, of magnitudes below 2, add 37 units each; a quotient, a root and exp add few.
constexpr double bound = 37 * (72 + 37 + 16) * unit;

class Refusals : public ::testing::Test {
protected:
  void expectRight(const std::string &text, Step step) {
    for (const std::string &level : codegen::runnableLevels()) {
      SCOPED_TRACE(level);
      CompiledGraph graph(text, level);
      ASSERT_EQ(graph.error(), "") << text;
      Result<StepResult> actual = graph.runHost(step, 1), exact = graph.interpret(step, Precision::F64);
      ASSERT_TRUE(actual) << actual.status().message();
      ASSERT_TRUE(exact) << exact.status().message();
      EXPECT_TRUE(within(actual->output, exact->output, [](int64_t) { return bound; })) << text;
    }
  }
  /// More than one kernel, and a remark of kind `derive` with the obligation's name in it.
  void expectRefused(const std::string &text, const std::string &obligation) {
    FusionReport report = fuseGraph(text);
    EXPECT_EQ(report.error, "");
    EXPECT_FALSE(report.isOneCascade()) << report.toString();
    EXPECT_GE(report.launches.size(), 2u) << report.toString();
    if (derivationIsThere) {
      EXPECT_TRUE(report.missed("derive", obligation)) << report.toString();
    }
  }
  void check(const std::string &text, const std::string &obligation, int64_t tokens = 5) {
    expectRight(text, stepOf(tokens));
    expectRefused(text, obligation);
  }
};

/// The control: with nothing broken the same parts are one kernel.
TEST_F(Refusals, NothingBrokenIsOneKernel) {
  Scores g;
  Node e = g.weights(g.maximum());
  const std::string text = g.finish(g.divided(g.values(e), g.sum(e)));
  expectRight(text, stepOf(5));
  if (derivationIsThere) {
    FusionReport report = fuseGraph(text);
    EXPECT_TRUE(report.isOneCascade()) << report.toString();
  }
}

/// Unfused, the sum over the keys is a product kernel whose steps are wider than the keys may be.
TEST_F(Refusals, UnfusedSumOverAnyNumberOfKeys) {
  GraphText g;
  Node p = g.argument("p", "ragged(T), sym(N)"), v = g.argument("v", "sym(N), 16");
  const std::string text = g.finish(
      g.contract(p, v, {"(t, c, j) -> (t, j)", "(t, c, j) -> (j, c)", "(t, c, j) -> (t, c)"}, "ragged(T), 16", "any"));
  for (const std::string &level : codegen::runnableLevels())
    for (bool enabled : {true, false}) {
      FusionOptions fusion;
      fusion.enabled = enabled;
      CompiledGraph graph(text, level, fusion);
      ASSERT_EQ(graph.error(), "");
      for (int64_t n : {0, 1, 7, 15, 16, 17, 37}) {
        SCOPED_TRACE(level + ", " + std::to_string(n) + " keys");
        Step step = stepOf(3);
        step.symbols["N"] = n;
        step.inputs["p"] = randomTensor({3, n}, 14);
        step.inputs["v"] = randomTensor({n, width}, 15);
        Result<StepResult> actual = graph.runHost(step, 1), exact = graph.interpret(step, Precision::F64);
        ASSERT_TRUE(actual) << actual.status().message();
        ASSERT_TRUE(exact) << exact.status().message();
        EXPECT_TRUE(within(actual->output, exact->output, [](int64_t) { return bound; }));
      }
    }
}

/// sqrt(m - t + 1): no function of m alone can be taken out.
TEST_F(Refusals, RootOfTheDifference) {
  Scores g;
  Node e = g.perRow(g.s, g.maximum(),
                    "    %o = arith.constant 1.0 : f32\n    %d = arith.subf %b, %a : f32\n"
                    "    %x = arith.addf %d, %o : f32\n    %r = math.sqrt %x : f32\n",
                    g.scores);
  check(g.finish(g.divided(g.values(e), g.sum(e))), "separable");
}

/// exp(t) * t under a maximum inside a root: separable in one factor only.
TEST_F(Refusals, FactorThatIsNotSeparable) {
  Scores g;
  Node e = g.perRow(g.s, g.maximum(),
                    "    %o = arith.constant 1.0 : f32\n    %d = arith.subf %a, %b : f32\n    %e = math.exp %d : f32\n"
                    "    %n = arith.subf %o, %d : f32\n    %s = math.sqrt %n : f32\n    %r = arith.mulf %e, %s : f32\n",
                    g.scores);
  check(g.finish(g.divided(g.values(e), g.sum(e))), "separable");
}

/// Rounding to f16 between the weights and the values does not commute with repairing.
TEST_F(Refusals, CastBetweenWeightsAndValues) {
  Scores g;
  Node e = g.weights(g.maximum());
  Node half = g.map({e}, {identityMap(2)}, g.scores,
                    "    %h = arith.truncf %a : f32 to f16\n    %r = arith.extf %h : f16 to f32\n");
  const std::string text = g.finish(g.divided(g.values(half), g.sum(e)));
  FusionReport report = fuseGraph(text);
  EXPECT_EQ(report.error, "");
  EXPECT_FALSE(report.isOneCascade()) << report.toString();
  // An f32 error that crosses a tie moves a weight by 2^-11.
  for (const std::string &level : codegen::runnableLevels()) {
    CompiledGraph graph(text, level);
    ASSERT_EQ(graph.error(), "") << text;
    Step step = stepOf(5);
    Result<StepResult> actual = graph.runHost(step, 1), exact = graph.interpret(step, Precision::Exact);
    ASSERT_TRUE(actual) << actual.status().message();
    ASSERT_TRUE(exact) << exact.status().message();
    EXPECT_TRUE(within(actual->output, exact->output, [](int64_t) { return 0x1p-11; }));
  }
  if (derivationIsThere) {
    EXPECT_TRUE(report.missed("derive", "separable") || report.missed("derive", "numerics")) << report.toString();
  }
}

/// The order of the values' sum is promised: nothing may be repaired or moved.
TEST_F(Refusals, SequentialOrder) {
  Scores g;
  Node e = g.weights(g.maximum());
  check(g.finish(g.divided(g.values(e, "sequential"), g.sum(e))), "numerics");
}

/// The sum runs over the tokens, the maximum over the keys.
TEST_F(Refusals, SumOverAnotherDimension) {
  Scores g;
  Node e = g.weights(g.maximum());
  Node turned = g.view(e, "(j, t) -> (t, j)", "37, ragged(T)");
  Node l = g.reduce(turned, 2, "arith.addf", "0.0", "37");
  Node p = g.map({e, l}, {identityMap(2), "(t, j) -> (j)"}, g.scores, "    %r = arith.divf %a, %b : f32\n");
  const std::string text = g.finish(g.values(p));
  expectRight(text, stepOf(5));
  FusionReport report = fuseGraph(text);
  EXPECT_EQ(report.error, "");
  EXPECT_FALSE(report.isOneCascade()) << report.toString();
  EXPECT_GE(report.launches.size(), 2u) << report.toString();
}

/// Rows of weights picked by index: the row value of another token.
TEST_F(Refusals, WeightsOfAnotherRow) {
  Scores g;
  Node other = g.argument("rows", "ragged(T)", "i32");
  Node e = g.weights(g.maximum());
  Node picked = g.gather(e, other, g.scores);
  const std::string text = g.finish(g.values(picked));
  Step step = stepOf(5);
  step.inputs["rows"] = integerTensor({4, 0, 0, 2, 3});
  expectRight(text, step);
  FusionReport report = fuseGraph(text);
  EXPECT_EQ(report.error, "");
  EXPECT_FALSE(report.isOneCascade()) << report.toString();
}

/// The maximum of the next token's row is not this row's.
TEST_F(Refusals, RowValueOfAnotherRow) {
  GraphText g;
  Node q = g.argument("q", "6, 8"), k = g.argument("k", "37, 8"), v = g.argument("v", "37, 16");
  Node s = g.contract(q, k, {"(t, j, d) -> (t, d)", "(t, j, d) -> (j, d)", "(t, j, d) -> (t, j)"}, "6, 37");
  Node m = g.reduce(s, 2, "arith.maximumf", "0xFF800000", "6");
  Node e = g.map({s, m}, {identityMap(2), "(t, j) -> ((t + 1) mod 6)"}, "6, 37", Scores::shiftedExp);
  Node y = g.contract(e, v, {"(t, c, j) -> (t, j)", "(t, c, j) -> (j, c)", "(t, c, j) -> (t, c)"}, "6, 16", "any");
  // Without its own maximum an exponential may be as large as exp(8): the bound scales with the result.
  const std::string text = g.finish(y);
  Step step = stepOf(6);
  for (const std::string &level : codegen::runnableLevels()) {
    CompiledGraph graph(text, level);
    ASSERT_EQ(graph.error(), "") << text;
    Result<StepResult> actual = graph.runHost(step, 1), exact = graph.interpret(step, Precision::F64);
    ASSERT_TRUE(actual) << actual.status().message();
    ASSERT_TRUE(exact) << exact.status().message();
    EXPECT_TRUE(within(actual->output, exact->output, [](int64_t) { return std::exp(8.0) * bound; }));
  }
  expectRefused(text, "aligned");
}

/// The divisor differs along the row, so it cannot move behind the sum over it.
TEST_F(Refusals, DivisorThatChangesAlongTheRow) {
  Scores g;
  Node e = g.weights(g.maximum());
  Node squares = g.map({g.v}, {identityMap(2)}, "37, 16", "    %r = arith.mulf %a, %a : f32\n");
  Node c = g.reduce(squares, 2, "arith.addf", "0.0", "37");
  Node p = g.map({e, c}, {identityMap(2), "(t, j) -> (j)"}, g.scores, "    %r = arith.divf %a, %b : f32\n");
  const std::string text = g.finish(g.values(p));
  expectRight(text, stepOf(5));
  FusionReport report = fuseGraph(text);
  EXPECT_EQ(report.error, "");
  EXPECT_GE(report.launches.size(), 2u) << "the divisor's sum is not part of a loop over keys\n" << report.toString();
}

/// Weights that use two row values at once: which of them moved is not known to a repair for one.
TEST_F(Refusals, TwoRowValues) {
  Scores g;
  Node m = g.maximum();
  Node total = g.sum(g.s);
  Node e = g.map({g.s, m, total}, {identityMap(2), "(t, j) -> (t)", "(t, j) -> (t)"}, g.scores,
                 "    %n = arith.constant 37.0 : f32\n    %d = arith.subf %a, %b : f32\n    %e = math.exp %d : f32\n"
                 "    %mean = arith.divf %c, %n : f32\n    %r = arith.mulf %e, %mean : f32\n");
  const std::string text = g.finish(g.values(e));
  expectRight(text, stepOf(5));
  FusionReport report = fuseGraph(text);
  EXPECT_EQ(report.error, "");
}

} // namespace
} // namespace fusec::differential
