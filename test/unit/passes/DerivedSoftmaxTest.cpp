//===- DerivedSoftmaxTest.cpp - rows of every width, losses, the largest element ---===//
//
// One artifact per graph for every width: nothing may depend on what lies behind
// a row. Rows are all different.
//
//===----------------------------------------------------------------------===//
#include "test/unit/passes/Comparison.h"
#include "test/unit/passes/FusionReport.h"
#include "test/unit/passes/GraphText.h"

#include <cmath>
#include <limits>

namespace fusec::differential {
namespace {

using namespace reference;

constexpr int64_t widths[] = {0, 1, 7, 10, 31, 32, 33, 127, 1000};

/// Rows [rows, n] that all differ: another range and another place of the maximum each.
Tensor differentRows(int64_t rows, int64_t n, uint32_t seed) {
  Tensor x = randomTensor({rows, n}, seed);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < n; ++c)
      x.set({r, c}, static_cast<float>(x.get({r, c}) * static_cast<double>(1 + r * r) + static_cast<double>(r)));
  return x;
}

struct RowStep {
  Step step;
  double range; ///< Largest difference of two elements of a row.
};
RowStep rowStep(int64_t rows, int64_t n, uint32_t seed) {
  RowStep s;
  s.step.symbols["T"] = rows;
  s.step.symbols["N"] = n;
  s.step.inputs["x"] = differentRows(rows, n, seed);
  s.range = 2.0 * static_cast<double>(1 + rows * rows);
  return s;
}

/// The sum of exp(x - m): arguments round by range units, each weight and each of the repairs in blocks
/// of 16 errs by expError, n additions and the repairs' products by a unit each.
double sumError(int64_t n, double range) {
  const double repairs = static_cast<double>(n) / 16 + 3;
  return 1.01 * ((range + static_cast<double>(n) + repairs) * unit + (repairs + 1) * expError);
}
/// The numerator's own argument and exp, the quotient's rounding, the sum.
double softmaxError(int64_t n, double range) { return sumError(n, range) + (range + 2) * unit + expError; }

class Softmax : public ::testing::TestWithParam<std::string> {
protected:
  void expectNear(const CompiledGraph &graph, const Step &step, const std::function<double(double)> &bound) {
    Result<StepResult> actual = graph.runHost(step, 1), again = graph.runHost(step, 2),
                       exact = graph.interpret(step, Precision::F64);
    ASSERT_TRUE(actual) << actual.status().message();
    ASSERT_TRUE(again) << again.status().message();
    ASSERT_TRUE(exact) << exact.status().message();
    EXPECT_TRUE(sameBits(again->output, actual->output));
    const std::vector<double> y = exact->output.values();
    EXPECT_TRUE(within(actual->output, exact->output, [&](int64_t i) { return bound(y[i]); }));
  }
  void expectOneKernel(const std::string &text) {
    FusionReport report = fuseGraph(text);
    EXPECT_EQ(report.error, "");
    EXPECT_EQ(report.launches.size(), 1u) << report.toString();
  }
};

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

/// Row kinds: tokens by a symbol, a static number by a symbol, rows along the tokens themselves.
TEST_P(Softmax, OneArtifactForEveryWidth) {
  struct {
    const char *dims;
    bool staticRows, tokensAlong;
  } kinds[] = {{"ragged(T), sym(N)", false, false}, {"4, sym(N)", true, false}, {"4, ragged(T)", true, true}};
  for (const auto &kind : kinds) {
    SCOPED_TRACE(kind.dims);
    GraphText g;
    const std::string text = g.finish(g.softmax(g.argument("x", kind.dims)));
    CompiledGraph graph(text, GetParam());
    ASSERT_EQ(graph.error(), "");
    expectOneKernel(text);
    for (int64_t n : widths)
      for (int64_t rows : {0, 1, 4}) { // an empty batch and one of a single row, too
        if (kind.staticRows && rows != 4)
          continue;
        SCOPED_TRACE(std::to_string(rows) + " rows of " + std::to_string(n));
        RowStep s = rowStep(rows, n, 17);
        if (kind.tokensAlong)
          s.step.symbols["T"] = n;
        expectNear(graph, s.step, [&](double y) { return softmaxError(n, s.range) * y + 2 * tiny; });
      }
  }
}

TEST_P(Softmax, EveryStaticWidth) {
  for (int64_t n : widths) {
    if (n == 0)
      continue; // not a type
    SCOPED_TRACE(n);
    GraphText g;
    CompiledGraph graph(g.finish(g.softmax(g.argument("x", "ragged(T), " + std::to_string(n)))), GetParam());
    ASSERT_EQ(graph.error(), "");
    RowStep s = rowStep(5, n, 19);
    expectNear(graph, s.step, [&](double y) { return softmaxError(n, s.range) * y + 2 * tiny; });
  }
}

/// Adversarial rows: +-1e4, all -inf (zeros), one visible element, an infinity's neighbour.
TEST_P(Softmax, AdversarialRows) {
  const double inf = std::numeric_limits<double>::infinity();
  GraphText g;
  CompiledGraph graph(g.finish(g.softmax(g.argument("x", "ragged(T), sym(N)"))), GetParam());
  ASSERT_EQ(graph.error(), "");
  for (int64_t n : {1, 31, 33, 127}) {
    SCOPED_TRACE(n);
    RowStep s = rowStep(5, n, 23);
    for (int64_t c = 0; c < n; ++c) {
      s.step.inputs["x"].set({0, c}, c % 2 ? 1e4 : -1e4);
      s.step.inputs["x"].set({1, c}, -inf);
      s.step.inputs["x"].set({2, c}, c == n - 1 ? -1e30 : -inf);
      s.step.inputs["x"].set({3, c}, static_cast<float>(1e4 + 0.37 * static_cast<double>(c % 11)));
    }
    expectNear(graph, s.step, [&](double y) { return softmaxError(n, s.range) * y + 2 * tiny; });
    Result<StepResult> actual = graph.runHost(s.step, 3);
    for (int64_t c = 0; c < n; ++c)
      EXPECT_EQ(actual->output.get({1, c}), 0.0);
  }
}

//===----------------------------------------------------------------------===//
// Other reductions over the same rows
//===----------------------------------------------------------------------===//

TEST_P(Softmax, SumMaximumMeanNormAndArgmaxOfEveryWidth) {
  struct {
    const char *name;
    std::function<Node(GraphText &, const Node &)> write;
    std::function<double(int64_t n, double magnitude)> error; ///< magnitude: sum of |terms|.
  } reductions[] = {
      {"sum", [](GraphText &g, const Node &x) { return g.reduce(x, 2, "arith.addf", "0.0", "ragged(T)"); },
       [](int64_t n, double s) { return static_cast<double>(n) * unit * s; }},
      {"max", [](GraphText &g, const Node &x) { return g.reduce(x, 2, "arith.maximumf", "0xFF800000", "ragged(T)"); },
       [](int64_t, double) { return 0.0; }},
      {"mean",
       [](GraphText &g, const Node &x) {
         Node count = g.reduce(g.map({x}, {identityMap(2)}, x.dims, "    %r = arith.constant 1.0 : f32\n"), 2,
                               "arith.addf", "0.0", "ragged(T)");
         return g.map({g.reduce(x, 2, "arith.addf", "0.0", "ragged(T)"), count}, {identityMap(1), identityMap(1)},
                      "ragged(T)", "    %r = arith.divf %a, %b : f32\n");
       },
       [](int64_t n, double s) { return n == 0 ? 0 : static_cast<double>(n + 1) * unit * s / static_cast<double>(n); }},
      {"norm",
       [](GraphText &g, const Node &x) {
         Node squares = g.map({x}, {identityMap(2)}, x.dims, "    %r = arith.mulf %a, %a : f32\n");
         return g.map({g.reduce(squares, 2, "arith.addf", "0.0", "ragged(T)")}, {identityMap(1)}, "ragged(T)",
                      "    %r = math.sqrt %a : f32\n");
       },
       // The root halves the relative error of n + 1 roundings; its value is at most the sum of |x|.
       [](int64_t n, double s) { return (static_cast<double>(n + 1) / 2 + 1) * unit * s; }},
      {"argmax", [](GraphText &g, const Node &x) { return g.argmax(x, 2, "ragged(T)"); },
       [](int64_t, double) { return 0.0; }},
  };
  for (const auto &reduction : reductions) {
    SCOPED_TRACE(reduction.name);
    GraphText g;
    Node x = g.argument("x", "ragged(T), sym(N)");
    CompiledGraph graph(g.finish(reduction.write(g, x)), GetParam());
    ASSERT_EQ(graph.error(), "");
    for (int64_t n : widths)
      for (int64_t rows : {0, 1, 4}) {
        SCOPED_TRACE(std::to_string(rows) + " rows of " + std::to_string(n));
        RowStep s = rowStep(rows, n, 29);
        Result<StepResult> actual = graph.runHost(s.step, 1), exact = graph.interpret(s.step, Precision::F64);
        ASSERT_TRUE(actual) << actual.status().message();
        ASSERT_TRUE(exact) << exact.status().message();
        EXPECT_TRUE(within(actual->output, exact->output, [&](int64_t r) {
          double magnitude = 0;
          for (int64_t c = 0; c < n; ++c)
            magnitude += std::fabs(s.step.inputs["x"].get({r, c}));
          return 1.01 * reduction.error(n, magnitude);
        }));
      }
  }
}

TEST_P(Softmax, ArgmaxOfEqualElementsIsTheLowest) {
  GraphText g;
  CompiledGraph graph(g.finish(g.argmax(g.argument("x", "ragged(T), sym(N)"), 2, "ragged(T)")), GetParam());
  ASSERT_EQ(graph.error(), "");
  for (int64_t n : {1, 7, 33, 127, 1000}) {
    SCOPED_TRACE(n);
    RowStep s = rowStep(4, n, 31);
    std::vector<double> expected;
    for (int64_t r = 0; r < 4; ++r) {
      const int64_t first = (r * 37 + 5) % n;
      expected.push_back(static_cast<double>(first));
      for (int64_t c = 0; c < n; ++c) // 9 at `first`, in the same and the next lane of later steps, and at 33
        s.step.inputs["x"].set(
            {r, c}, c >= first && ((c - first) % 16 < 2 || c - first == 33) ? 9.0 : -static_cast<double>(c % 5));
    }
    Result<StepResult> actual = graph.runHost(s.step, 1);
    ASSERT_TRUE(actual) << actual.status().message();
    EXPECT_EQ(actual->output.values(), expected);
  }
}

//===----------------------------------------------------------------------===//
// Cross entropy: log sum exp minus the target's logit
//===----------------------------------------------------------------------===//

/// log(sum exp(x - m)) + m - x[target], from max, sum and a pick of the target.
Node crossEntropy(GraphText &g, const Node &x, const Node &target) {
  Node m = g.reduce(x, 2, "arith.maximumf", "0xFF800000", "ragged(T)");
  Node e = g.map({x, m}, {identityMap(2), "(t, j) -> (t)"}, x.dims,
                 "    %d = arith.subf %a, %b : f32\n    %r = math.exp %d : f32\n");
  Node l = g.reduce(e, 2, "arith.addf", "0.0", "ragged(T)");
  Node picked = g.map({x, target}, {identityMap(2), "(t, j) -> (t)"}, x.dims,
                      "    %j = fuse.index 1\n    %z = arith.constant 0.0 : f32\n"
                      "    %v = arith.cmpi eq, %j, %b : i32\n    %r = arith.select %v, %a, %z : f32\n");
  Node logit = g.reduce(picked, 2, "arith.addf", "0.0", "ragged(T)");
  return g.map({l, m, logit}, {identityMap(1), identityMap(1), identityMap(1)}, "ragged(T)",
               "    %g = math.log %a : f32\n    %s = arith.addf %g, %b : f32\n    %r = arith.subf %s, %c : f32\n");
}

/// The C library's logf errs by at most 2 ulp.
constexpr double logError = 4 * unit;

/// Whether two reductions that read one argument of the graph, and nothing else in common, share a kernel.
constexpr bool readersOfArgumentsJoin = true;

TEST_P(Softmax, CrossEntropyOfStoredLogits) {
  GraphText g;
  Node x = g.argument("x", "ragged(T), sym(N)"), target = g.argument("target", "ragged(T)", "i32");
  const std::string text = g.finish(crossEntropy(g, x, target));
  CompiledGraph graph(text, GetParam());
  ASSERT_EQ(graph.error(), "");
  if (readersOfArgumentsJoin) {
    expectOneKernel(text);
  }
  for (int64_t n : {1, 7, 10, 31, 32, 33, 127, 1000})
    for (int64_t rows : {0, 1, 5}) {
      SCOPED_TRACE(std::to_string(rows) + " rows of " + std::to_string(n));
      RowStep s = rowStep(rows, n, 37);
      std::vector<int64_t> targets;
      for (int64_t r = 0; r < rows; ++r)
        targets.push_back(r == 0 ? n - 1 : r * 13 % n); // the last one lies in the tail
      s.step.inputs["target"] = integerTensor(targets);
      // d log(l) = dl / l; the logarithm is at most log n; two sums of terms up to the range.
      const double bound =
          1.01 * (sumError(n, s.range) + logError * std::log(std::max<double>(static_cast<double>(n), 2)) +
                  3 * unit * (s.range + 8));
      expectNear(graph, s.step, [&](double) { return bound; });
    }
}

void expectLargest(const Tensor &x, const std::vector<float> &head, const Tensor &chosen, int64_t n, double slack) {
  for (int64_t t = 0; t < x.dim(0); ++t) {
    std::vector<double> logits(n);
    for (int64_t j = 0; j < n; ++j)
      for (int64_t k = 0; k < x.dim(1); ++k)
        logits[j] += x.get({t, k}) * static_cast<double>(head[j * x.dim(1) + k]);
    const int64_t j = static_cast<int64_t>(chosen.get({t}));
    ASSERT_TRUE(j >= 0 && j < n) << j;
    EXPECT_GE(logits[j] + slack, *std::max_element(logits.begin(), logits.end())) << "row " << t;
  }
}

/// The logits are products that nothing else reads: x [T, 64] with a stored head [N, 64].
TEST_P(Softmax, CrossEntropyAndArgmaxBehindAContraction) {
  for (int64_t n : {33, 127, 1000}) {
    SCOPED_TRACE(n);
    const std::string logits = "ragged(T), " + std::to_string(n);
    GraphText loss, best;
    Node x = loss.argument("x", "ragged(T), 64"), target = loss.argument("target", "ragged(T)", "i32");
    const std::vector<std::string> maps = {"(t, n, k) -> (t, k)", "(t, n, k) -> (n, k)", "(t, n, k) -> (t, n)"};
    Node head = loss.weight("head", std::to_string(n) + ", 64", "f32");
    CompiledGraph lossGraph(loss.finish(crossEntropy(loss, loss.contract(x, head, maps, logits), target)), GetParam());
    ASSERT_EQ(lossGraph.error(), "");
    Node y = best.argument("x", "ragged(T), 64");
    Node sameHead = best.weight("head", std::to_string(n) + ", 64", "f32");
    CompiledGraph bestGraph(best.finish(best.argmax(best.contract(y, sameHead, maps, logits), 2, "ragged(T)")),
                            GetParam());
    ASSERT_EQ(bestGraph.error(), "");
    for (int64_t rows : {1, 3, 20}) {
      SCOPED_TRACE(rows);
      Step step = rowsStep(rows, 64, 41);
      std::vector<int64_t> targets;
      for (int64_t r = 0; r < rows; ++r)
        targets.push_back((n - 1 + r * 7) % n);
      step.inputs["target"] = integerTensor(targets);
      // Logits of 64 products of |x| < 1 and |w| up to `largest`: each errs by 65 units of 64 * largest.
      double largest = 0;
      for (float w : lossGraph.weight("head"))
        largest = std::max(largest, std::fabs(static_cast<double>(w)));
      const double magnitude = 64 * largest, logitError = 65 * unit * magnitude;
      const double bound = 1.01 * (2 * logitError + sumError(n, 2 * magnitude) +
                                   logError * std::log(static_cast<double>(n)) + 6 * unit * magnitude);
      expectNear(lossGraph, step, [&](double) { return bound; });
      // The largest logit in the machine's f32 is one whose exact value comes within two errors of the largest.
      Result<StepResult> chosen = bestGraph.runHost(step, 1);
      ASSERT_TRUE(chosen) << chosen.status().message();
      expectLargest(step.inputs["x"], bestGraph.weight("head"), chosen->output, n, 2 * logitError);
    }
  }
}

/// A head of equal rows: every logit of a row is the same in any order of summation, the lowest wins.
TEST_P(Softmax, ArgmaxBehindAContractionOfEqualLogits) {
  GraphText g;
  Node x = g.argument("x", "ragged(T), 64"), head = g.argument("head", "40, 64");
  Node s = g.contract(x, head, {"(t, n, k) -> (t, k)", "(t, n, k) -> (n, k)", "(t, n, k) -> (t, n)"}, "ragged(T), 40");
  CompiledGraph graph(g.finish(g.argmax(s, 2, "ragged(T)")), GetParam());
  ASSERT_EQ(graph.error(), "");
  Step step = rowsStep(3, 64, 43);
  Tensor rows = Tensor::filled(Element::F32, {40, 64}, 0.25);
  step.inputs["head"] = rows;
  Result<StepResult> actual = graph.runHost(step, 1);
  ASSERT_TRUE(actual) << actual.status().message();
  EXPECT_EQ(actual->output.values(), std::vector<double>(3, 0.0));
}

INSTANTIATE_TEST_SUITE_P(Levels, Softmax, ::testing::ValuesIn(codegen::runnableLevels()),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace fusec::differential
