//===- RowDifferentialTest.cpp - row kernels, end to end ------------------------===//
//
// Elementwise arithmetic rounds as written: equal bits. Sums over a row are
// taken in lanes: equal bits with the kernels, and a bound against the graph.
//
//===----------------------------------------------------------------------===//
#include "test/unit/passes/Comparison.h"
#include "test/unit/passes/GraphText.h"

#include <cmath>
#include <limits>

namespace fusec::differential {
namespace {

using namespace reference;

constexpr int64_t rowWidths[] = {1, 2, 7, 15, 16, 17, 31, 33, 63, 64, 65, 127, 172, 576, 1000};
const std::string add = "    %r = arith.addf %a, %b : f32\n";

std::string rows(int64_t width) { return "ragged(T), " + std::to_string(width); }

class RowDifferential : public ::testing::TestWithParam<std::string> {
protected:
  StepResult checkText(const std::string &text, const Step &step, Against against) {
    CompiledGraph graph(text, GetParam());
    return check(graph, step, against);
  }
};

//===----------------------------------------------------------------------===//
// rms_norm
//===----------------------------------------------------------------------===//

/// With S = sum of n squares: any order of n - 1 additions of positives, each
/// square rounded once, errs by at most n units of S. The division by n, the
/// addition of epsilon and the root at most halve what came before and round:
/// r errs by n / 2 + 3 + 1 (its quotient) units, the two products add 2.
double rmsNormBound(int64_t n) { return (n / 2.0 + 6) * unit * 1.001; }

void expectNearF64(const CompiledGraph &graph, const Step &step, const StepResult &actual, double relative) {
  Result<StepResult> exact = graph.interpret(step, Precision::F64);
  ASSERT_TRUE(exact) << exact.status().message();
  std::vector<double> y = exact->output.values();
  EXPECT_TRUE(within(actual.output, exact->output, [&](int64_t i) { return relative * std::fabs(y[i]) + 2 * tiny; }));
}

TEST_P(RowDifferential, RmsNormOfEveryWidth) {
  for (int64_t n : rowWidths) {
    SCOPED_TRACE(n);
    GraphText g;
    Node x = g.argument("x", rows(n));
    CompiledGraph graph(g.finish(g.rmsNorm(x, g.weight("w", std::to_string(n), "f32"))), GetParam());
    ASSERT_EQ(graph.error(), "");
    EXPECT_EQ(graph.launches(), 1);
    for (int64_t t : {0, 1, 5}) {
      Step step = rowsStep(t, n, 41);
      expectNearF64(graph, step, check(graph, step, Against::KernelBits), rmsNormBound(n));
    }
  }
}

TEST_P(RowDifferential, EmbeddingAndNormInOneKernel) {
  for (const char *storage : {"f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "q4_k", "q5_k", "q6_k"}) {
    SCOPED_TRACE(storage);
    GraphText g;
    Node tokens = g.argument("tokens", "ragged(T)", "i32");
    Node x = g.gather(g.weight("table", "37, 256", storage), tokens, rows(256));
    Node y = g.rmsNorm(x, g.weight("w", "256", "f32"));
    CompiledGraph graph(g.finish(g.map({x, y}, {identityMap(2), identityMap(2)}, rows(256), add)), GetParam());
    ASSERT_EQ(graph.error(), "");
    Step step;
    step.symbols["T"] = 6;
    step.inputs["tokens"] = integerTensor({36, 0, 15, 16, 31, 32});
    check(graph, step, Against::KernelBits);
  }
}

TEST_P(RowDifferential, EmbeddingAlone) {
  for (const char *storage : {"f32", "q8_0", "q4_1", "q6_k"}) {
    SCOPED_TRACE(storage);
    GraphText g;
    Node tokens = g.argument("tokens", "ragged(T)", "i32");
    Node x = g.gather(g.weight("table", "37, 256", storage), tokens, rows(256));
    Step step;
    step.symbols["T"] = 5;
    step.inputs["tokens"] = integerTensor({36, 0, 15, 16, 0});
    checkText(g.finish(g.map({x}, {identityMap(2)}, rows(256), "    %r = arith.negf %a : f32\n")), step,
              Against::GraphBits);
  }
}

/// The tail of a block: product + residual, its norm, and a product of that plus the residual
/// again.
TEST_P(RowDifferential, NormAfterResidual) {
  for (int64_t n : {32, 96}) {
    SCOPED_TRACE(n);
    const std::string size = std::to_string(n);
    GraphText g;
    Node x = g.argument("x", rows(n));
    Node h = g.map({g.linear(x, g.weight("o", size + ", " + size, "q8_0"), rows(n)), x},
                   {identityMap(2), identityMap(2)}, rows(n), add);
    Node y = g.rmsNorm(h, g.weight("w", size, "f32"));
    Node z = g.linear(y, g.weight("down", size + ", " + size, "q4_0"), rows(n));
    CompiledGraph graph(g.finish(g.map({z, h}, {identityMap(2), identityMap(2)}, rows(n), add)), GetParam());
    ASSERT_EQ(graph.error(), "");
    for (int64_t t : {1, 2, 8, 13})
      check(graph, rowsStep(t, n, 43), Against::KernelBits);
  }
}

TEST_P(RowDifferential, OnlySomeRowsAreWanted) {
  GraphText g;
  Node x = g.argument("x", rows(64));
  Node wanted = g.argument("output_rows", "sym(R)", "i32");
  Node y = g.rmsNorm(x, g.weight("w", "64", "f32"));
  Node picked = g.gather(y, wanted, "sym(R), 64");
  CompiledGraph graph(g.finish(g.linear(picked, g.weight("head", "35, 64", "q8_0"), "sym(R), 35")), GetParam());
  ASSERT_EQ(graph.error(), "");
  for (std::vector<int64_t> indices :
       std::vector<std::vector<int64_t>>{{}, {4}, {0, 4, 2}, {4, 4, 4, 3, 2, 1, 0, 0, 1}}) {
    Step step = rowsStep(5, 64, 47);
    step.symbols["R"] = static_cast<int64_t>(indices.size());
    step.inputs["output_rows"] = integerTensor(indices);
    check(graph, step, Against::KernelBits);
  }
}

//===----------------------------------------------------------------------===//
// softmax
//===----------------------------------------------------------------------===//

/// d = x - m errs by a unit of |d| <= range, so e = exp(d) by range units
/// absolutely in the exponent = relatively in e, plus expError; their sum of
/// positives adds n units, the quotient one. Both e and the sum carry e's error.
double softmaxBound(int64_t n, double range) { return (2 * range + n + 2) * unit * 1.01 + 2 * expError; }

TEST_P(RowDifferential, SoftmaxOfEveryWidth) {
  for (int64_t n : rowWidths) {
    SCOPED_TRACE(n);
    GraphText g;
    Node x = g.argument("x", rows(n));
    CompiledGraph graph(g.finish(g.softmax(x)), GetParam());
    ASSERT_EQ(graph.error(), "");
    Step step = rowsStep(6, n, 53);
    const double inf = std::numeric_limits<double>::infinity();
    for (int64_t c = 0; c < n; ++c) {
      step.inputs["x"].set({1, c}, c % 3 == 0 ? 30.0 : -30.0); // far apart
      step.inputs["x"].set({2, c}, -inf);                      // nothing visible
      step.inputs["x"].set({3, c}, c == n - 1 ? 1.0 : -inf);   // only the last, in the tail
      step.inputs["x"].set({4, c}, 1e4 + static_cast<double>(c % 5));
    }
    expectNearF64(graph, step, check(graph, step, Against::KernelMeaning), softmaxBound(n, 60));
  }
}

/// One artifact for every length: the last dimension is a symbol.
TEST_P(RowDifferential, SoftmaxOfEqualElementsIsUniformAtEveryLength) {
  GraphText g;
  Node x = g.argument("x", "ragged(T), sym(N)");
  CompiledGraph graph(g.finish(g.softmax(x)), GetParam());
  ASSERT_EQ(graph.error(), "");
  for (int64_t n : {0, 1, 2, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 1000}) {
    SCOPED_TRACE(n);
    Step step;
    step.symbols["T"] = 3;
    step.symbols["N"] = n;
    step.inputs["x"] = Tensor::filled(Element::F32, {3, n}, 1.0);
    StepResult actual = check(graph, step, Against::KernelMeaning);
    for (double v : actual.output.values())
      ASSERT_EQ(v, static_cast<double>(1.0f / static_cast<float>(n)));
  }
}

//===----------------------------------------------------------------------===//
// rope
//===----------------------------------------------------------------------===//

/// Angles are products of doubles, cos and sin come from the same C library on
/// both sides and round to f32 once: equal bits.
TEST_P(RowDifferential, RopeOfBothPairingsFullAndPartial) {
  for (const char *pairing : {"half", "interleaved"})
    for (auto [head, pairs] :
         {std::pair<int64_t, int64_t>{64, 32}, {64, 16}, {8, 4}, {20, 5}, {80, 40}, {96, 48}, {96, 16}}) {
      SCOPED_TRACE(std::string(pairing) + " " + std::to_string(head) + " by " + std::to_string(pairs));
      const std::string dims = "ragged(T), 3, " + std::to_string(head);
      GraphText g;
      Node x = g.argument("x", dims);
      Node positions = g.argument("positions", "ragged(T)", "i32");
      CompiledGraph graph(g.finish(g.rope(x, positions, g.frequencies(pairs), pairing)), GetParam());
      ASSERT_EQ(graph.error(), "");
      Step step;
      step.symbols["T"] = 5;
      step.inputs["x"] = randomTensor({5, 3, head}, 59);
      step.inputs["positions"] = integerTensor({0, 1, 700, 2355, 131071});
      check(graph, step, Against::GraphBits);
    }
}

//===----------------------------------------------------------------------===//
// Maps
//===----------------------------------------------------------------------===//

TEST_P(RowDifferential, ArithmeticRoundsAsWritten) {
  // Not contracted: a * b + c is two roundings here.
  const std::string body = R"(    %m = arith.mulf %a, %b : f32
    %s = arith.addf %m, %a : f32
    %q = arith.divf %s, %b : f32
    %z = math.absf %q : f32
    %t = math.sqrt %z : f32
    %n = arith.negf %t : f32
    %y = arith.maximumf %n, %m : f32
    %w = arith.minimumf %y, %s : f32
    %c = arith.cmpf olt, %w, %a : f32
    %d = arith.subf %w, %b : f32
    %r = arith.select %c, %d, %w : f32
)";
  for (int64_t n : rowWidths) {
    SCOPED_TRACE(n);
    GraphText g;
    Node x = g.argument("x", rows(n)), y = g.argument("y", rows(n));
    Step step = rowsStep(4, n, 61);
    step.inputs["y"] = randomTensor({4, n}, 62);
    const double inf = std::numeric_limits<double>::infinity();
    const double special[] = {0.0, -0.0, inf, -inf, std::nan(""), 0x1p-149, -0x1p-140, 0x1.fffffep127, 1.0};
    for (int64_t c = 0; c < n; ++c) { // meets of special values, and with ordinary ones
      step.inputs["x"].set({2, c}, special[c % 9]);
      step.inputs["x"].set({3, c}, special[c % 9]);
      step.inputs["y"].set({3, c}, special[c / 9 % 9]);
    }
    checkText(g.finish(g.map({x, y}, {identityMap(2), identityMap(2)}, rows(n), body)), step, Against::GraphBits);
  }
}

/// The error that every bound with an exp in it relies on (Comparison.h), over the whole range.
TEST_P(RowDifferential, ExpKeepsItsStatedError) {
  constexpr int64_t n = 4000;
  GraphText g;
  Node x = g.argument("x", rows(n));
  CompiledGraph graph(g.finish(g.map({x}, {identityMap(2)}, rows(n), "    %r = math.exp %a : f32\n")), GetParam());
  ASSERT_EQ(graph.error(), "");
  Step step = rowsStep(3, n, 113);
  const double inf = std::numeric_limits<double>::infinity();
  const double special[] = {0.0,   -0.0,   inf,    -inf, std::nan(""), 88.7228, 89.0,
                            -87.4, -103.9, -104.1, 1e30, -1e30,        0x1p-149};
  for (int64_t c = 0; c < n; ++c) {
    step.inputs["x"].set({0, c}, static_cast<float>(-110 + 200.0 * static_cast<double>(c) / n));
    step.inputs["x"].set({1, c}, static_cast<float>(special[static_cast<size_t>(c) % std::size(special)]));
  }
  StepResult actual = check(graph, step, Against::KernelMeaning);
  Result<StepResult> exact = graph.interpret(step, Precision::Exact); // rounded to f32: overflows where f32 does
  ASSERT_TRUE(exact) << exact.status().message();
  std::vector<double> y = exact->output.values();
  EXPECT_TRUE(within(actual.output, exact->output, [&](int64_t i) { return expError * std::fabs(y[i]) + 2 * tiny; }));
}

/// Gates from far below to far above the range of exp.
TEST_P(RowDifferential, SwigluOfAnyGate) {
  GraphText g;
  Node gate = g.argument("x", rows(97)), up = g.argument("y", rows(97));
  CompiledGraph graph(g.finish(g.swiglu(gate, up)), GetParam());
  ASSERT_EQ(graph.error(), "");
  Step step = rowsStep(4, 97, 127);
  step.inputs["y"] = randomTensor({4, 97}, 131);
  const double inf = std::numeric_limits<double>::infinity();
  const double special[] = {0.0, -0.0, inf, -inf, std::nan(""), 200.0, -200.0, -88.9, 88.9, -87.0};
  for (int64_t c = 0; c < 97; ++c) {
    step.inputs["x"].set({1, c}, static_cast<float>(static_cast<double>(c - 48) * 2.5));
    step.inputs["x"].set({2, c}, static_cast<float>(special[c % 10]));
  }
  StepResult actual = check(graph, step, Against::KernelMeaning);
  Result<StepResult> exact = graph.interpret(step, Precision::Exact);
  ASSERT_TRUE(exact) << exact.status().message();
  std::vector<double> y = exact->output.values();
  // As in LinearDifferentialTest: expError + 7 units. Below -87 the quotient is subnormal; there
  // its own error is a step of `tiny`, or a sign of infinity's neighbour: 1 + e overflows a little
  // earlier or later.
  EXPECT_TRUE(within(actual.output, exact->output,
                     [&](int64_t i) { return (expError + 7 * unit) * std::fabs(y[i]) + 2 * tiny; }));
}

/// The embedding's matrix is the head's, too: one packed buffer, read by rows and by panels.
TEST_P(RowDifferential, TiedEmbeddings) {
  for (const char *storage : {"f16", "q8_0", "q6_k"}) {
    SCOPED_TRACE(storage);
    GraphText g;
    Node tokens = g.argument("tokens", "ragged(T)", "i32");
    Node table = g.weight("table", "70, 256", storage);
    Node x = g.gather(table, tokens, rows(256));
    CompiledGraph graph(
        g.finish(g.linear(g.map({x}, {identityMap(2)}, rows(256), "    %r = arith.negf %a : f32\n"), table, rows(70))),
        GetParam());
    ASSERT_EQ(graph.error(), "");
    for (std::vector<int64_t> ids :
         std::vector<std::vector<int64_t>>{{69}, {0, 16, 69, 31}, {1, 2, 3, 4, 5, 6, 7, 8, 64, 65}}) {
      Step step;
      step.symbols["T"] = static_cast<int64_t>(ids.size());
      step.inputs["tokens"] = integerTensor(ids);
      check(graph, step, Against::GraphBits);
    }
  }
}

struct ViewCase {
  const char *name, *map, *dims;
};

TEST_P(RowDifferential, ViewsComposeIntoReaders) {
  const ViewCase cases[] = {
      {"slice", "(t, c) -> (t, c + 5)", "ragged(T), 31"},
      {"stride", "(t, c) -> (t, c * 2)", "ragged(T), 36"},
      {"reverse", "(t, c) -> (t, -c + 71)", "ragged(T), 72"},
      {"rotate", "(t, c) -> (t, (c + 7) mod 72)", "ragged(T), 72"},
      {"repeat", "(t, c) -> (t, c floordiv 3)", "ragged(T), 100"},
      {"tile", "(t, c) -> (t, c mod 9)", "ragged(T), 50"},
      {"split", "(t, h, d) -> (t, h * 24 + d)", "ragged(T), 3, 24"},
      {"transpose", "(t, d, h) -> (t, h * 24 + d)", "ragged(T), 24, 3"},
      {"column", "(t) -> (t, 71)", "ragged(T)"},
      {"deinterleave", "(t, p, i) -> (t, i * 2 + p)", "ragged(T), 2, 36"},
      {"mixed", "(t, c) -> (t, (c mod 8) * 9 + c floordiv 8)", "ragged(T), 72"},
  };
  for (const ViewCase &c : cases) {
    SCOPED_TRACE(c.name);
    GraphText g;
    Node x = g.argument("x", rows(72));
    Node v = g.view(x, c.map, c.dims);
    const int rank = static_cast<int>(std::count(c.dims, c.dims + std::string(c.dims).size(), ',')) + 1;
    Node y = g.map({v, v}, {identityMap(rank), identityMap(rank)}, c.dims,
                   "    %m = arith.mulf %a, %b : f32\n    %r = arith.addf %m, %a : f32\n");
    checkText(g.finish(y), rowsStep(5, 72, 67), Against::GraphBits);
  }
}

TEST_P(RowDifferential, BroadcastsAndIndices) {
  GraphText g;
  Node x = g.argument("x", rows(45));
  Node table = g.weight("table", "45", "f32");
  Node squares = g.map({x}, {identityMap(2)}, rows(45), "    %r = arith.mulf %a, %a : f32\n");
  Node most = g.reduce(squares, 2, "arith.maximumf", "0xFF800000", "ragged(T)"); // a maximum has no order
  const std::string body = R"(    %i = fuse.index 1
    %t = fuse.index 0
    %k = arith.muli %i, %t : i32
    %f = arith.sitofp %k : i32 to f32
    %s = arith.mulf %a, %f : f32
    %u = arith.divf %s, %b : f32
    %r = arith.addf %u, %c : f32
)";
  Node y = g.map({x, most, table}, {"(t, c) -> (t, c)", "(t, c) -> (t)", "(t, c) -> (c)"}, rows(45), body);
  checkText(g.finish(y), rowsStep(7, 45, 71), Against::GraphBits);
}

TEST_P(RowDifferential, SumsAreTakenInFixedLanes) {
  for (int64_t n : rowWidths) {
    SCOPED_TRACE(n);
    GraphText g;
    Node x = g.argument("x", rows(n));
    Node s = g.reduce(x, 2, "arith.addf", "0.0", "ragged(T)");
    CompiledGraph graph(g.finish(s), GetParam());
    ASSERT_EQ(graph.error(), "");
    Step step = rowsStep(5, n, 73);
    StepResult actual = check(graph, step, Against::KernelBits);
    // |error| <= (n - 1) units of the sum of magnitudes, in any order.
    Result<StepResult> exact = graph.interpret(step, Precision::F64);
    ASSERT_TRUE(exact) << exact.status().message();
    EXPECT_TRUE(within(actual.output, exact->output, [&](int64_t t) {
      double magnitudes = 0;
      for (int64_t c = 0; c < n; ++c)
        magnitudes += std::fabs(step.inputs["x"].get({t, c}));
      return n * unit * magnitudes * 1.001;
    }));
  }
}

TEST_P(RowDifferential, ReductionsOfSymbolicRows) {
  GraphText g;
  Node x = g.argument("x", "ragged(T), sym(N)");
  Node most = g.reduce(x, 2, "arith.maximumf", "0xFF800000", "ragged(T)");
  Node y =
      g.map({x, most}, {identityMap(2), "(t, c) -> (t)"}, "ragged(T), sym(N)", "    %r = arith.subf %a, %b : f32\n");
  CompiledGraph graph(g.finish(y), GetParam());
  ASSERT_EQ(graph.error(), "");
  for (int64_t n : {1, 2, 15, 16, 17, 33, 100}) {
    Step step;
    step.symbols["T"] = 4;
    step.symbols["N"] = n;
    step.inputs["x"] = randomTensor({4, n}, 79);
    check(graph, step, Against::GraphBits);
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, RowDifferential, ::testing::ValuesIn(codegen::runnableLevels()),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace fusec::differential
