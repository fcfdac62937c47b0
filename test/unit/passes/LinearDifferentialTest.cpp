//===- LinearDifferentialTest.cpp - products with stored matrices, end to end ---===//
//
// A product is one chain of fused multiply-adds along k in ascending order, so
// every tile shape, row count and split must give the graph's exact bits.
//
//===----------------------------------------------------------------------===//
#include "test/unit/passes/Comparison.h"
#include "test/unit/passes/GraphText.h"

namespace fusec::differential {
namespace {

using namespace reference;

constexpr int64_t tokenCounts[] = {0, 1, 2, 7, 8, 9, 11, 12, 13, 24, 25};

std::string rows(int64_t width) { return "ragged(T), " + std::to_string(width); }
std::string matrix(int64_t n, int64_t k) { return std::to_string(n) + ", " + std::to_string(k); }

struct Case {
  std::string storage;
  int64_t n, k;
};

class LinearDifferential : public ::testing::TestWithParam<std::string> {
protected:
  void checkAll(const std::string &text, int64_t k, llvm::ArrayRef<int64_t> tokens,
                Against against = Against::GraphBits) {
    CompiledGraph graph(text, GetParam());
    ASSERT_EQ(graph.error(), "");
    for (int64_t t : tokens) {
      SCOPED_TRACE("T = " + std::to_string(t));
      check(graph, rowsStep(t, k, 17 + t), against);
    }
  }
};

TEST_P(LinearDifferential, EveryStorageTypeAtEveryRowCount) {
  const Case cases[] = {{"f32", 33, 20},   {"f16", 33, 20},   {"bf16", 33, 20}, {"q8_0", 33, 64},
                        {"q4_0", 33, 64},  {"q4_1", 33, 64},  {"q5_0", 33, 64}, {"q5_1", 33, 64},
                        {"q4_k", 33, 256}, {"q5_k", 33, 256}, {"q6_k", 33, 256}};
  for (const Case &c : cases) {
    SCOPED_TRACE(c.storage);
    GraphText g;
    Node x = g.argument("x", rows(c.k));
    checkAll(g.finish(g.linear(x, g.weight("w", matrix(c.n, c.k), c.storage), rows(c.n))), c.k, tokenCounts);
  }
}

TEST_P(LinearDifferential, EveryWidth) {
  for (int64_t n : {1, 2, 7, 15, 16, 17, 31, 32, 63, 64, 65, 172, 576}) {
    SCOPED_TRACE("N = " + std::to_string(n));
    GraphText g;
    Node x = g.argument("x", rows(32));
    checkAll(g.finish(g.linear(x, g.weight("w", matrix(n, 32), "q8_0"), rows(n))), 32, {1, 5, 13});
  }
}

TEST_P(LinearDifferential, EveryDepth) {
  const Case cases[] = {{"f32", 17, 1},  {"f32", 17, 4},   {"f32", 17, 7},   {"f32", 17, 172},  {"f16", 17, 1},
                        {"f16", 17, 36}, {"q4_1", 17, 32}, {"q4_1", 17, 96}, {"q5_0", 17, 288}, {"q6_k", 17, 512}};
  for (const Case &c : cases) {
    SCOPED_TRACE(c.storage + " K = " + std::to_string(c.k));
    GraphText g;
    Node x = g.argument("x", rows(c.k));
    checkAll(g.finish(g.linear(x, g.weight("w", matrix(c.n, c.k), c.storage), rows(c.n))), c.k, {1, 3, 9});
  }
}

TEST_P(LinearDifferential, Bias) {
  GraphText g;
  Node x = g.argument("x", rows(64));
  Node y = g.linear(x, g.weight("w", "63, 64", "q4_0"), g.weight("b", "63", "f32"), rows(63));
  checkAll(g.finish(y), 64, tokenCounts);
}

TEST_P(LinearDifferential, ResidualJoinsTheProduct) {
  GraphText g;
  Node x = g.argument("x", rows(64));
  Node y = g.linear(x, g.weight("w", "64, 64", "q4_1"), rows(64));
  Node sum = g.map({y, x}, {identityMap(2), identityMap(2)}, rows(64), "    %r = arith.addf %a, %b : f32\n");
  CompiledGraph graph(g.finish(sum), GetParam());
  ASSERT_EQ(graph.error(), "");
  EXPECT_EQ(graph.launches(), 1);
  for (int64_t t : tokenCounts)
    check(graph, rowsStep(t, 64, 3), Against::GraphBits);
}

TEST_P(LinearDifferential, StackedProjectionsOfDifferentSizes) {
  for (const char *storage : {"q8_0", "f16", "q5_1"}) {
    SCOPED_TRACE(storage);
    GraphText g;
    Node x = g.argument("x", rows(64));
    Node q = g.linear(x, g.weight("q", "36, 64", storage), rows(36));
    Node k = g.linear(x, g.weight("k", "12, 64", storage), rows(12));
    Node v = g.linear(x, g.weight("v", "7, 64", storage), rows(7));
    // Reads of all three at shifted places, so that a wrong offset shows.
    Node y = g.map({q, k, v}, {"(t, c) -> (t, c * 3)", "(t, c) -> (t, c)", "(t, c) -> (t, c floordiv 2)"}, rows(12),
                   "    %s = arith.mulf %a, %b : f32\n    %r = arith.subf %s, %c : f32\n");
    checkAll(g.finish(y), 64, tokenCounts);
  }
}

/// silu(g) * u with exact g and u (their chains are). With e = exp(-g): the
/// kernel's e errs by expError, the reference's by a rounding, so 1 + e differs by
/// at most (expError + unit + 2 roundings), and quotient and product add two
/// roundings on either side: expError + 7 units, relatively.
TEST_P(LinearDifferential, GateAndUpSideBySide) {
  for (const char *storage : {"q4_1", "q6_k", "f32"}) {
    SCOPED_TRACE(storage);
    const int64_t k = std::string(storage) == "q6_k" ? 256 : 64;
    GraphText g;
    Node x = g.argument("x", rows(k));
    Node gate = g.linear(x, g.weight("gate", matrix(49, k), storage), rows(49));
    Node up = g.linear(x, g.weight("up", matrix(49, k), storage), rows(49));
    CompiledGraph graph(g.finish(g.swiglu(gate, up)), GetParam());
    ASSERT_EQ(graph.error(), "");
    EXPECT_EQ(graph.launches(), 1);
    for (int64_t t : tokenCounts) {
      SCOPED_TRACE("T = " + std::to_string(t));
      Step step = rowsStep(t, k, 29);
      StepResult actual = check(graph, step, Against::KernelMeaning);
      Result<StepResult> exact = graph.interpret(step, Precision::Exact);
      ASSERT_TRUE(exact) << exact.status().message();
      std::vector<double> y = exact->output.values();
      EXPECT_TRUE(within(actual.output, exact->output,
                         [&](int64_t i) { return (expError + 7 * unit) * std::fabs(y[i]) + 2 * tiny; }));
    }
  }
}

/// Contractions as primitives, the forms that no named op writes.
TEST_P(LinearDifferential, TheMatrixMayStandOnTheLeft) {
  GraphText g;
  Node x = g.argument("x", rows(64));
  Node y = g.contract(g.weight("w", "33, 64", "q5_0"), x,
                      {"(t, n, k) -> (n, k)", "(t, n, k) -> (t, k)", "(t, n, k) -> (t, n)"}, rows(33));
  checkAll(g.finish(y), 64, tokenCounts);
}

TEST_P(LinearDifferential, ProductsOfSlices) {
  GraphText g;
  Node x = g.argument("x", rows(70));
  Node slice = g.view(x, "(t, c) -> (t, c + 5)", rows(64));
  Node y = g.linear(slice, g.weight("a", "20, 64", "q8_0"), rows(20));
  Node z = g.linear(g.view(x, "(t, c) -> (t, c * 2)", rows(35)), g.weight("b", "20, 35", "bf16"), rows(20));
  checkAll(g.finish(g.map({y, z}, {identityMap(2), identityMap(2)}, rows(20), "    %r = arith.subf %a, %b : f32\n")),
           70, tokenCounts);
}

TEST_P(LinearDifferential, ProductsOfActivations) {
  for (auto [heads, keys, depth] :
       {std::tuple<int64_t, int64_t, int64_t>{1, 16, 16}, {5, 33, 20}, {3, 7, 9}, {13, 64, 32}}) {
    SCOPED_TRACE(matrix(heads, keys) + " over " + std::to_string(depth));
    const std::string h = std::to_string(heads), j = std::to_string(keys), d = std::to_string(depth);
    GraphText g;
    Node a = g.argument("a", "ragged(T), " + h + ", " + d), b = g.argument("b", "ragged(T), " + j + ", " + d);
    CompiledGraph graph(
        g.finish(g.contract(a, b,
                            {"(t, h, j, d) -> (t, h, d)", "(t, h, j, d) -> (t, j, d)", "(t, h, j, d) -> (t, h, j)"},
                            "ragged(T), " + h + ", " + j)),
        GetParam());
    ASSERT_EQ(graph.error(), "");
    for (int64_t t : {0, 1, 3}) {
      Step step;
      step.symbols["T"] = t;
      step.inputs["a"] = randomTensor({t, heads, depth}, 31);
      step.inputs["b"] = randomTensor({t, keys, depth}, 37);
      check(graph, step, Against::GraphBits);
    }
  }
}

/// A number of rows that the compiler knows needs one variant.
TEST_P(LinearDifferential, StaticRows) {
  GraphText g;
  Node x = g.argument("x", "5, 32");
  CompiledGraph graph(g.finish(g.linear(x, g.weight("w", "17, 32", "q8_0"), "5, 17")), GetParam());
  Step step;
  step.inputs["x"] = randomTensor({5, 32}, 1);
  check(graph, step, Against::GraphBits);
}

INSTANTIATE_TEST_SUITE_P(Levels, LinearDifferential, ::testing::ValuesIn(codegen::runnableLevels()),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace fusec::differential
