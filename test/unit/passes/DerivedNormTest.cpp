//===- DerivedNormTest.cpp - layer_norm and rms_norm, alone and before a product -----===//
//
// Mean and variance are two dependent reductions: the variance of x - mean. Rows
// far from zero are what a one-pass form gets wrong when it subtracts squares.
//
//===----------------------------------------------------------------------===//
#include "test/unit/passes/Comparison.h"
#include "test/unit/passes/FusionReport.h"
#include "test/unit/passes/GraphText.h"

#include <cmath>
#include <random>

namespace fusec::differential {
namespace {

using namespace reference;

constexpr double epsilon = 1e-5;
const std::string perRow = "(t, c) -> (t)", perColumn = "(t, c) -> (c)";

std::string literal(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9e", value);
  return text;
}

/// Mean, then the mean of the squared differences, then (x - mean) / sqrt(variance + epsilon) [* w + b].
struct LayerNorm {
  GraphText &g;
  const int64_t n;

  Node mean(const Node &x) {
    return g.map({g.reduce(x, 2, "arith.addf", "0.0", "ragged(T)")}, {identityMap(1)}, "ragged(T)",
                 "    %n = arith.constant " + literal(static_cast<double>(n)) +
                     " : f32\n    %r = arith.divf %a, %n : f32\n");
  }
  Node write(const Node &x, const Node *w, const Node *b) {
    Node m = mean(x);
    Node d = g.map({x, m}, {identityMap(2), perRow}, x.dims, "    %r = arith.subf %a, %b : f32\n");
    Node variance = mean(g.map({d}, {identityMap(2)}, x.dims, "    %r = arith.mulf %a, %a : f32\n"));
    Node r =
        g.map({variance}, {identityMap(1)}, "ragged(T)",
              "    %e = arith.constant " + literal(epsilon) + " : f32\n    %o = arith.constant 1.0 : f32\n" +
                  "    %s = arith.addf %a, %e : f32\n    %q = math.sqrt %s : f32\n    %r = arith.divf %o, %q : f32\n");
    Node y = g.map({d, r}, {identityMap(2), perRow}, x.dims, "    %r = arith.mulf %a, %b : f32\n");
    if (w)
      y = g.map({y, *w, *b}, {identityMap(2), perColumn, perColumn}, x.dims,
                "    %p = arith.mulf %a, %b : f32\n    %r = arith.addf %p, %c : f32\n");
    return y;
  }
};

/// What a row is in double, and the largest error of its f32 mean and root.
///
/// The mean: n additions in any order, or n steps mean += (x - mean) / k, err by a unit of the largest
/// |x| each, the quotient by one more: D = (n + 2) u max|x|. The variance: with a mean that is off by D
/// the sum of squares is n (variance + D^2), exactly; differences and squares round twice, the sum n times:
/// relative (n + 5) u. (A merge of partial means and squares adds terms of the same form.) The root halves it.
struct RowMoments {
  double mean = 0, variance = 0, root = 0, meanError = 0, rootError = 0; ///< rootError is relative.
  RowMoments(const Tensor &x, int64_t row) {
    const int64_t n = x.dim(1);
    double largest = 0;
    for (int64_t c = 0; c < n; ++c) {
      mean += x.get({row, c}) / static_cast<double>(n);
      largest = std::max(largest, std::fabs(x.get({row, c})));
    }
    for (int64_t c = 0; c < n; ++c)
      variance += (x.get({row, c}) - mean) * (x.get({row, c}) - mean) / static_cast<double>(n);
    root = std::sqrt(variance + static_cast<float>(epsilon));
    meanError = 1.01 * static_cast<double>(n + 2) * unit * largest;
    const double relative = static_cast<double>(n + 5) * unit * 1.01 + meanError * meanError / (root * root);
    rootError = 0.5 * relative / (1 - std::min(relative, 0.5)) + 3 * unit;
  }
  /// Of (x - mean) / root.
  double normalisedError(double x) const {
    const double y = std::fabs(x - mean) / root;
    return (meanError / root * (1 + rootError) + y * (rootError + 3 * unit)) * 1.01;
  }
};

/// Rows around `center` with a spread of `spread`.
Tensor rowsAround(int64_t rows, int64_t n, double center, double spread, uint32_t seed) {
  Tensor x = randomTensor({rows, n}, seed);
  for (int64_t i = 0; i < x.size(); ++i)
    x.store(i, static_cast<float>(center + spread * x.load(i)));
  return x;
}

class Norm : public ::testing::TestWithParam<std::string> {
protected:
  void expectNear(const CompiledGraph &graph, const Step &step, const Bound &bound) {
    Result<StepResult> actual = graph.runHost(step, 1), again = graph.runHost(step, 2),
                       exact = graph.interpret(step, Precision::F64);
    ASSERT_TRUE(actual) << actual.status().message();
    ASSERT_TRUE(again) << again.status().message();
    ASSERT_TRUE(exact) << exact.status().message();
    EXPECT_TRUE(sameBits(again->output, actual->output));
    EXPECT_TRUE(within(actual->output, exact->output, bound));
  }
  void expectOneKernel(const std::string &text) {
    FusionReport report = fuseGraph(text);
    EXPECT_EQ(report.error, "");
    EXPECT_EQ(report.launches.size(), 1u) << report.toString();
  }
};

TEST_P(Norm, LayerNormOfEveryWidth) {
  for (int64_t n : {1, 2, 7, 10, 31, 32, 33, 127, 1000}) {
    SCOPED_TRACE(n);
    const std::string size = std::to_string(n);
    GraphText g;
    Node x = g.argument("x", "ragged(T), " + size), w = g.argument("w", size), b = g.argument("b", size);
    const std::string text = g.finish(LayerNorm{g, n}.write(x, &w, &b));
    CompiledGraph graph(text, GetParam());
    ASSERT_EQ(graph.error(), "");
    expectOneKernel(text);
    for (int64_t rows : {0, 1, 5}) {
      Step step = rowsStep(rows, n, 47);
      step.inputs["w"] = randomTensor({n}, 48);
      step.inputs["b"] = randomTensor({n}, 49);
      expectNear(graph, step, [&](int64_t i) {
        const Tensor &x = step.inputs["x"];
        const RowMoments row(x, i / n);
        const double weight = std::fabs(step.inputs["w"].get({i % n}));
        const double y = std::fabs(x.get({i / n, i % n}) - row.mean) / row.root * weight;
        return 1.01 * (row.normalisedError(x.get({i / n, i % n})) * weight + 2 * unit * (y + 1));
      });
    }
  }
}

/// Rows around 1e4 with a spread of one: squares minus the squared mean would lose all digits (1e8 * 2^-24 = 6).
TEST_P(Norm, LayerNormFarFromZero) {
  for (int64_t n : {7, 31, 32, 64, 127}) {
    SCOPED_TRACE(n);
    GraphText g;
    CompiledGraph graph(
        g.finish(LayerNorm{g, n}.write(g.argument("x", "ragged(T), " + std::to_string(n)), nullptr, nullptr)),
        GetParam());
    ASSERT_EQ(graph.error(), "");
    for (double spread : {1.0, 4.0, 100.0}) {
      SCOPED_TRACE(spread);
      Step step = rowsStep(4, n, 53);
      step.inputs["x"] = rowsAround(4, n, 1e4, spread, 53);
      const Tensor &x = step.inputs["x"];
      EXPECT_LT(RowMoments(x, 0).normalisedError(1e4), 0.25) << "the bound says something";
      expectNear(graph, step, [&](int64_t i) { return RowMoments(x, i / n).normalisedError(x.get({i / n, i % n})); });
    }
  }
}

/// One artifact for every width; the count is a reduction, too.
TEST_P(Norm, LayerNormOfSymbolicWidth) {
  GraphText g;
  Node x = g.argument("x", "ragged(T), sym(N)");
  Node count = g.reduce(g.map({x}, {identityMap(2)}, x.dims, "    %r = arith.constant 1.0 : f32\n"), 2, "arith.addf",
                        "0.0", "ragged(T)");
  const std::string quotient = "    %r = arith.divf %a, %b : f32\n";
  Node sum = g.reduce(x, 2, "arith.addf", "0.0", "ragged(T)");
  Node mean = g.map({sum, count}, {identityMap(1), identityMap(1)}, "ragged(T)", quotient);
  Node d = g.map({x, mean}, {identityMap(2), perRow}, x.dims, "    %r = arith.subf %a, %b : f32\n");
  Node squares = g.map({d}, {identityMap(2)}, x.dims, "    %r = arith.mulf %a, %a : f32\n");
  Node q = g.reduce(squares, 2, "arith.addf", "0.0", "ragged(T)");
  Node y = g.map({d, q, count}, {identityMap(2), perRow, perRow}, x.dims,
                 "    %e = arith.constant 1.0e-5 : f32\n    %v = arith.divf %b, %c : f32\n"
                 "    %s = arith.addf %v, %e : f32\n    %q = math.sqrt %s : f32\n    %r = arith.divf %a, %q : f32\n");
  CompiledGraph graph(g.finish(y), GetParam());
  ASSERT_EQ(graph.error(), "");
  for (int64_t n : {0, 1, 7, 10, 31, 32, 33, 127, 1000}) {
    SCOPED_TRACE(n);
    Step step = rowsStep(3, n, 59);
    step.symbols["N"] = n;
    const Tensor &x = step.inputs["x"];
    expectNear(graph, step, [&](int64_t i) { return RowMoments(x, i / n).normalisedError(x.get({i / n, i % n})); });
  }
}

/// A row of equal elements has no variance: exactly the bias comes out.
TEST_P(Norm, ConstantRowsGiveTheBias) {
  GraphText g;
  Node x = g.argument("x", "ragged(T), 64"), w = g.argument("w", "64"), b = g.argument("b", "64");
  CompiledGraph graph(g.finish(LayerNorm{g, 64}.write(x, &w, &b)), GetParam());
  ASSERT_EQ(graph.error(), "");
  Step step = rowsStep(2, 64, 61);
  step.inputs["x"] = Tensor::filled(Element::F32, {2, 64}, -2.0);
  step.inputs["w"] = randomTensor({64}, 62);
  step.inputs["b"] = randomTensor({64}, 63);
  Result<StepResult> actual = graph.runHost(step, 1);
  ASSERT_TRUE(actual) << actual.status().message();
  for (int64_t i = 0; i < 128; ++i)
    EXPECT_EQ(actual->output.get({i / 64, i % 64}), step.inputs["b"].get({i % 64}));
}

/// The mean of everything: a reduction to a scalar that a map reads.
TEST_P(Norm, RowOfTheWholeTensor) {
  GraphText g;
  Node x = g.argument("x", "3, 4");
  Node flat = g.view(x, "(i) -> (i floordiv 4, i mod 4)", "12");
  Node sum = g.reduce(flat, 1, "arith.addf", "0.0", "");
  CompiledGraph graph(
      g.finish(g.map({x, sum}, {identityMap(2), "(a, b) -> ()"}, "3, 4", "    %r = arith.divf %a, %b : f32\n")),
      GetParam());
  ASSERT_EQ(graph.error(), "");
  Step step;
  step.inputs["x"] = Tensor::fromValues(Element::F32, {3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  expectNear(graph, step, [](int64_t) { return 14 * unit; });
}

//===----------------------------------------------------------------------===//
// Before a product
//===----------------------------------------------------------------------===//

/// sum_k y[k] * m[n, k] in either association. With the norm inside, y[k] errs as its own bound says and
/// the dot adds (K + 1) units of sum |y m|. With the norm outside, the dot runs over x (or x and, times the mean,
/// the matrix' row sums), so its roundings scale with sum |x m| / root and |mean| sum |m| / root.
class NormProduct : public Norm {
protected:
  static constexpr int64_t K = 96, N = 40;
  void SetUp() override {
    matrix = randomTensor({N, K}, 71);
    weight = randomTensor({K}, 72);
  }
  Node product(GraphText &g, const Node &y) {
    return g.contract(y, g.argument("m", "40, 96"),
                      {"(t, n, k) -> (t, k)", "(t, n, k) -> (n, k)", "(t, n, k) -> (t, n)"}, "ragged(T), 40", "any");
  }
  Step stepOf(int64_t rows, double center) {
    Step step = rowsStep(rows, K, 73);
    step.inputs["x"] = rowsAround(rows, K, center, 1.0, 73);
    step.inputs["m"] = matrix;
    step.inputs["w"] = weight;
    return step;
  }
  /// One tile of lanes covers the product, so that the rows' moments are folded in its kernel: nothing but
  /// the result is stored.
  void expectDeferred(const std::string &text) {
    if (!derivationIsThere)
      return;
    FusionReport report = fuseGraph(text);
    EXPECT_EQ(report.error, "");
    EXPECT_TRUE(report.derived()) << report.toString();
    EXPECT_EQ(report.launches.size(), 1u) << report.toString();
  }
  Tensor matrix, weight;
};

TEST_P(NormProduct, RmsNorm) {
  GraphText g;
  Node x = g.argument("x", "ragged(T), 96"), w = g.argument("w", "96");
  Node squares = g.map({x}, {identityMap(2)}, x.dims, "    %r = arith.mulf %a, %a : f32\n");
  Node r = g.map({g.reduce(squares, 2, "arith.addf", "0.0", "ragged(T)")}, {identityMap(1)}, "ragged(T)",
                 "    %n = arith.constant 96.0 : f32\n    %e = arith.constant 1.0e-5 : f32\n"
                 "    %o = arith.constant 1.0 : f32\n    %m = arith.divf %a, %n : f32\n"
                 "    %s = arith.addf %m, %e : f32\n    %q = math.sqrt %s : f32\n    %r = arith.divf %o, %q : f32\n");
  Node y = g.map({x, r, w}, {identityMap(2), perRow, perColumn}, x.dims,
                 "    %p = arith.mulf %a, %b : f32\n    %r = arith.mulf %p, %c : f32\n");
  const std::string text = g.finish(product(g, y));
  CompiledGraph graph(text, GetParam());
  ASSERT_EQ(graph.error(), "");
  expectDeferred(text);
  for (int64_t rows : {1, 3, 9, 20}) {
    SCOPED_TRACE(rows);
    Step step = stepOf(rows, 0.5);
    const Tensor &x = step.inputs["x"];
    expectNear(graph, step, [&](int64_t i) {
      double squares = 0, magnitude = 0;
      for (int64_t k = 0; k < K; ++k) {
        const double v = x.get({i / N, k});
        squares += v * v;
        magnitude += std::fabs(v * weight.get({k}) * matrix.get({i % N, k}));
      }
      // The root's relative error is n / 2 + 4 units (RowDifferentialTest), the products add 3, the dot K + 1.
      const double root = std::sqrt(squares / K + 1e-5);
      return 1.01 * (K / 2.0 + 4 + 3 + K + 1) * unit * magnitude / root;
    });
  }
}

TEST_P(NormProduct, LayerNorm) {
  GraphText g;
  Node x = g.argument("x", "ragged(T), 96");
  const std::string text = g.finish(product(g, LayerNorm{g, K}.write(x, nullptr, nullptr)));
  CompiledGraph graph(text, GetParam());
  ASSERT_EQ(graph.error(), "");
  expectDeferred(text);
  for (double center : {0.0, 0.5, 30.0})
    for (int64_t rows : {1, 3, 9, 20}) {
      SCOPED_TRACE(std::to_string(rows) + " rows around " + std::to_string(center));
      Step step = stepOf(rows, center);
      const Tensor &x = step.inputs["x"];
      expectNear(graph, step, [&](int64_t i) {
        const RowMoments row(x, i / N);
        double inside = 0, outside = 0, magnitude = 0;
        for (int64_t k = 0; k < K; ++k) {
          const double v = x.get({i / N, k}), m = std::fabs(matrix.get({i % N, k}));
          inside += row.normalisedError(v) * m;
          magnitude += std::fabs(v - row.mean) * m;
          outside += (std::fabs(v) + std::fabs(row.mean)) * m;
        }
        return 1.01 * (inside + (K + 4) * unit * (magnitude + outside) / row.root);
      });
    }
}

INSTANTIATE_TEST_SUITE_P(Levels, Norm, ::testing::ValuesIn(codegen::runnableLevels()),
                         [](const auto &info) { return info.param; });
INSTANTIATE_TEST_SUITE_P(Levels, NormProduct, ::testing::ValuesIn(codegen::runnableLevels()),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace fusec::differential
