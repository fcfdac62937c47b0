//===- WeightProductKernelsTest.cpp - products of stored weights in plans for GPUs ---===//
//
// Graphs whose products round their operands, compiled for tensor cores and run
// on the virtual GPU. A plan has one kernel for few tokens, one for more, one for
// many: a token's result must not depend on which of them computes it.
//
// The definition is the interpreted plan, whose sums are f32 additions in order.
// A sum of K exact products in f32, in any order, errs by at most K u times the
// sum of their magnitudes, u = 2^-24; a tensor core may truncate where it adds,
// which doubles it. So the two differ by at most 3 K u times the magnitudes.
//
// In plans that do not round (f32) the order of the sums is the kernels' too:
// equal bits.
//
//===----------------------------------------------------------------------===//
#include "test/unit/passes/Comparison.h"
#include "test/unit/passes/GraphText.h"

#include <cmath>
#include <cstdlib>

namespace fusec::differential {
namespace {

using namespace reference;

/// One below, at and above what a kernel takes at most.
constexpr int64_t tokenCounts[] = {65, 64, 33, 31, 9, 8, 7, 1};
constexpr int64_t mostTokens = 65;

std::string rows(int64_t width) { return "ragged(T), " + std::to_string(width); }
std::string matrix(int64_t n, int64_t k) { return std::to_string(n) + ", " + std::to_string(k); }
bool isFull() { return std::getenv("FUSEC_FULL") != nullptr; }

/// The first `tokens` rows of x, each the same for every number of tokens.
Step stepOf(int64_t tokens, int64_t width) {
  const std::vector<double> all = randomTensor({mostTokens, width}, 23).values();
  Step step;
  step.symbols["T"] = tokens;
  step.inputs["x"] = Tensor::fromValues(Element::F32, {tokens, width}, {all.begin(), all.begin() + tokens * width});
  return step;
}

/// sum_k |x[t, k]| |w[n, k]|, with room for the rounding of operands.
std::vector<double> magnitudes(const Tensor &x, const std::vector<float> &w, int64_t n) {
  const int64_t tokens = x.dim(0), k = x.dim(1);
  std::vector<double> sums(tokens * n);
  for (int64_t i = 0; i < tokens * n; ++i)
    for (int64_t c = 0; c < k; ++c)
      sums[i] += 1.02 * std::fabs(x.get({i / n, c}) * w[i % n * k + c]);
  return sums;
}
double sumError(int64_t k, double magnitude) { return 3.0 * static_cast<double>(k) * unit * magnitude + tiny; }

class WeightProductKernels : public ::testing::TestWithParam<std::string> {
protected:
  /// bound(step, plan's output) gives the bound of each element.
  using BoundOf = std::function<Bound(const Step &, const Tensor &)>;

  void check(const CompiledGraph &graph, int64_t k, llvm::ArrayRef<int64_t> tokens, const BoundOf &boundOf,
             bool hasExp = false) {
    ASSERT_EQ(graph.error(), "");
    std::vector<double> most;
    for (int64_t t : tokens) {
      SCOPED_TRACE("T = " + std::to_string(t));
      const Step step = stepOf(t, k);
      Result<StepResult> actual = graph.runHost(step, 1), plan = graph.interpretAsPlan(step, Precision::Exact);
      ASSERT_TRUE(actual) << actual.status().message();
      ASSERT_TRUE(plan) << plan.status().message();
      EXPECT_TRUE(within(actual->output, plan->output, boundOf(step, plan->output)));
      if (LevelChoice(GetParam()).operands.empty() && !hasExp)
        EXPECT_TRUE(sameBits(actual->output, plan->output));
      const std::vector<double> values = actual->output.values();
      if (most.empty())
        most = values;
      EXPECT_EQ(values, std::vector<double>(most.begin(), most.begin() + static_cast<int64_t>(values.size())))
          << "bits depend on the number of tokens";
    }
  }

  BoundOf productBound(const CompiledGraph &graph, int64_t n, int64_t k, double scale = 1.0) {
    return [&graph, n, k, scale](const Step &step, const Tensor &plan) -> Bound {
      return [=, sums = magnitudes(step.inputs.lookup("x"), graph.weight("w"), n), y = plan.values()](int64_t i) {
        return scale * sumError(k, sums[i]) + 2 * unit * std::fabs(y[i]);
      };
    };
  }
};

TEST_P(WeightProductKernels, EveryNumberOfTokens) {
  GraphText g;
  Node x = g.argument("x", rows(288));
  CompiledGraph graph(g.finish(g.linear(x, g.weight("w", matrix(133, 288), "q4_1"), rows(133))), GetParam());
  check(graph, 288, tokenCounts, productBound(graph, 133, 288));
}

TEST_P(WeightProductKernels, EveryStorageType) {
  struct Case {
    const char *storage;
    int64_t k;
  };
  const Case all[] = {{"q6_k", 512}, {"bf16", 96}, {"f32", 96},   {"f16", 96},   {"q8_0", 96},
                      {"q4_0", 96},  {"q5_0", 96}, {"q5_1", 320}, {"q4_k", 512}, {"q5_k", 256}};
  for (auto [storage, k] : llvm::ArrayRef(all).take_front(isFull() ? std::size(all) : 2)) {
    SCOPED_TRACE(storage);
    GraphText g;
    Node x = g.argument("x", rows(k));
    CompiledGraph graph(g.finish(g.linear(x, g.weight("w", matrix(21, k), storage), rows(21))), GetParam());
    check(graph, k, {33, 3}, productBound(graph, 21, k));
  }
}

/// True if a kernel of the plan has its matrices come through a ring.
bool streams(const CompiledGraph &graph) {
  bool any = false;
  graph.plan()->walk([&](mlir::Operation *op) { any |= op->hasAttr(tile::streamAttr); });
  return any;
}

TEST_P(WeightProductKernels, StreamedWeightsGiveTheSameBits) {
  struct Case {
    const char *storage;
    int64_t k; ///< Slices are an eighth: whole super-blocks.
  };
  const Case all[] = {{"q4_1", 288}, {"q6_k", 2048}, {"q8_0", 96},   {"q4_0", 96},
                      {"q5_0", 96},  {"q5_1", 96},   {"q4_k", 2048}, {"q5_k", 2048}};
  const std::string operands = LevelChoice(GetParam()).operands;
  for (auto [storage, k] : llvm::ArrayRef(all).take_front(operands.empty() ? 0 : isFull() ? std::size(all) : 3))
    for (const char *target : {"sm_80", "sm_90a"}) {
      SCOPED_TRACE(std::string(storage) + " on " + target);
      GraphText g;
      Node x = g.argument("x", rows(k));
      const std::string text = g.finish(g.linear(x, g.weight("w", matrix(37, k), storage), rows(37)));
      const std::string level = std::string(target) + "_in_" + operands;
      CompiledGraph plain(text, level), streamed(text, level + "_streamed");
      ASSERT_EQ(streamed.error(), "");
      EXPECT_TRUE(streams(streamed) && !streams(plain));
      for (int64_t tokens : {9, 1}) {
        const Step step = stepOf(tokens, k);
        Result<StepResult> expected = plain.runHost(step, 1), found = streamed.runHost(step, 1);
        ASSERT_TRUE(expected) << expected.status().message();
        ASSERT_TRUE(found) << found.status().message();
        EXPECT_TRUE(sameBits(found->output, expected->output)) << tokens << " tokens";
      }
    }
}

TEST_P(WeightProductKernels, NarrowMatrices) {
  for (int64_t n : {1, 2, 8, 17, 130}) {
    if (!isFull() && n != 8)
      continue;
    SCOPED_TRACE(n);
    GraphText g;
    Node x = g.argument("x", rows(64));
    CompiledGraph graph(g.finish(g.linear(x, g.weight("w", matrix(n, 64), "q8_0"), rows(n))), GetParam());
    check(graph, 64, {40, 2}, productBound(graph, n, 64));
  }
}

TEST_P(WeightProductKernels, BiasAndResidual) {
  GraphText g;
  Node x = g.argument("x", rows(64));
  Node y = g.linear(x, g.weight("w", "64, 64", "q5_0"), g.weight("b", "64", "f32"), rows(64));
  Node sum = g.map({y, x}, {identityMap(2), identityMap(2)}, rows(64), "    %r = arith.addf %a, %b : f32\n");
  CompiledGraph graph(g.finish(sum), GetParam());
  EXPECT_EQ(graph.launches(), 1);
  check(graph, 64, {35, 8}, [&](const Step &step, const Tensor &plan) -> Bound {
    return [=, sums = magnitudes(step.inputs.lookup("x"), graph.weight("w"), 64), y = plan.values()](int64_t i) {
      return sumError(64, sums[i]) + 2 * unit * (std::fabs(y[i]) + sums[i] + 1.0);
    };
  });
}

/// y = silu(g) u with sums that are off by G and U: |silu'| < 1.1, so y is off by 1.1 G (|u| + U) + |silu(g)| U, and
/// by the roundings of exp, quotient and product on either side.
TEST_P(WeightProductKernels, GateAndUp) {
  constexpr int64_t n = 136, k = 256;
  for (auto [gate, up] : {std::pair("q4_1", "q4_1"), std::pair("q8_0", "q6_k")}) {
    if (!isFull() && gate != std::string_view(up))
      continue;
    SCOPED_TRACE(std::string(gate) + " and " + up);
    GraphText g;
    Node x = g.argument("x", rows(k));
    Node a = g.linear(x, g.weight("gate", matrix(n, k), gate), rows(n));
    Node b = g.linear(x, g.weight("up", matrix(n, k), up), rows(n));
    CompiledGraph graph(g.finish(g.swiglu(a, b)), GetParam());
    EXPECT_EQ(graph.launches(), gate == std::string_view(up) ? 1 : 2);
    check(
        graph, k, {34, 6},
        [&](const Step &step, const Tensor &plan) -> Bound {
          const Tensor &input = step.inputs.find("x")->second;
          return [=, ofGate = magnitudes(input, graph.weight("gate"), n),
                  ofUp = magnitudes(input, graph.weight("up"), n), y = plan.values()](int64_t i) {
            const double gateError = sumError(k, ofGate[i]), upError = sumError(k, ofUp[i]);
            return 1.1 * gateError * (ofUp[i] + upError) + ofGate[i] * upError +
                   (expError + 9 * unit) * std::fabs(y[i]) + 2 * tiny;
          };
        },
        true);
  }
}

/// The row's scale is the same in both, bit for bit: it is folded by the fixed tree.
TEST_P(WeightProductKernels, NormBefore) {
  constexpr int64_t n = 129, k = 128;
  GraphText g;
  Node x = g.argument("x", rows(k));
  Node y =
      g.linear(g.rmsNorm(x, g.weight("norm", std::to_string(k), "f32")), g.weight("w", matrix(n, k), "q4_0"), rows(n));
  CompiledGraph graph(g.finish(y), GetParam());
  double largest = 0;
  for (float v : graph.weight("norm"))
    largest = std::max(largest, std::fabs(static_cast<double>(v)));
  // Rows of k values spread over [-1, 1) have a root mean square above 0.3.
  check(graph, k, {33, 3}, productBound(graph, n, k, largest / 0.3));
}

/// Something that no factor commutes with stands between norm and product: each element is computed where it is read.
TEST_P(WeightProductKernels, NormInFront) {
  constexpr int64_t n = 16, k = 128; // one tile of lanes: nothing is folded twice
  GraphText g;
  Node x = g.argument("x", rows(k));
  Node squares = g.map({x}, {identityMap(2)}, rows(k), "    %r = arith.mulf %a, %a : f32\n");
  Node scale =
      g.map({g.reduce(squares, 2, "arith.addf", "0.0", "ragged(T)")}, {identityMap(1)}, "ragged(T)",
            "    %n = arith.constant 128.0 : f32\n    %o = arith.constant 1.0 : f32\n"
            "    %m = arith.divf %a, %n : f32\n    %q = math.sqrt %m : f32\n    %r = arith.divf %o, %q : f32\n");
  Node positive =
      g.map({x, scale, g.weight("norm", "128", "f32")}, {identityMap(2), "(t, c) -> (t)", "(t, c) -> (c)"}, rows(k),
            "    %z = arith.constant 0.0 : f32\n    %p = arith.mulf %a, %b : f32\n"
            "    %q = arith.mulf %p, %c : f32\n    %r = arith.maximumf %q, %z : f32\n");
  CompiledGraph graph(g.finish(g.linear(positive, g.weight("w", matrix(n, k), "q4_1"), rows(n))), GetParam());
  EXPECT_EQ(graph.launches(), 1);
  double largest = 0;
  for (float v : graph.weight("norm"))
    largest = std::max(largest, std::fabs(static_cast<double>(v)));
  check(graph, k, {33, 3}, productBound(graph, n, k, largest / 0.3));
}

INSTANTIATE_TEST_SUITE_P(Levels, WeightProductKernels, ::testing::ValuesIn(codegen::runnableLevels()),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace fusec::differential
