//===- LibraryProductTest.cpp - groups whose products a library computes ------------===//
//
// Both paths of a plan, interpreted: without a library, and from 64 tokens on with
// one. What surrounds the product is the same arithmetic, so the two differ by no
// more than the order of the product's sums.
//
//===----------------------------------------------------------------------===//
#include "test/unit/passes/Comparison.h"
#include "test/unit/passes/GraphText.h"

#include <gmock/gmock.h>

#include <cmath>

namespace fusec::differential {
namespace {

using namespace reference;
using testing::ElementsAre;

std::string rows(int64_t width) { return "ragged(T), " + std::to_string(width); }
std::string matrix(int64_t n, int64_t k) { return std::to_string(n) + ", " + std::to_string(k); }

/// What a step does, in order: the kernels' names stand for launches without a path.
std::vector<std::string> pathOf(const CompiledGraph &graph) {
  std::vector<std::string> steps;
  for (mlir::Operation &step : graph.program().getBody().front()) {
    auto path = step.getAttrOfType<plan::PathAttr>("path");
    if (!path || path.getKind() == plan::PathKind::Kernels)
      continue;
    EXPECT_EQ(path.getFrom(), 64);
    if (auto product = mlir::dyn_cast<plan::LibraryProductOp>(step))
      steps.push_back(product.getAddend() ? "product + addend" : product.getBias() ? "product + bias" : "product");
    else
      steps.push_back(step.getAttrOfType<mlir::StringAttr>("name").getValue().split(':').second.str());
  }
  return steps;
}

class LibraryProduct : public testing::TestWithParam<std::string> {
public:
  /// Every element of the result follows from sums of `k` terms. Their magnitudes times how much the result moves with
  /// the sum are at most `slope` (weights of random blocks are below 16, activations at most 1).
  void checkPaths(const std::string &text, int64_t k, const std::vector<std::string> &expected, double slope) {
    checkPathsIn(GetParam(), text, k, expected, slope);
  }

  static void checkPathsIn(const std::string &operands, const std::string &text, int64_t k,
                           const std::vector<std::string> &expected, double slope) {
    CompiledGraph graph(text, "avx2_in_" + operands + "_with_library");
    ASSERT_EQ(graph.error(), "");
    EXPECT_EQ(pathOf(graph), expected);
    PlanOptions withLibrary;
    withLibrary.hasLibrary = true;
    for (int64_t tokens : {3, 64}) {
      SCOPED_TRACE("T = " + std::to_string(tokens));
      const Step step = rowsStep(tokens, k, static_cast<uint32_t>(tokens));
      Result<StepResult> kernels = graph.interpretAsPlan(step, Precision::Exact);
      Result<StepResult> library = graph.interpretAsPlan(step, Precision::Exact, withLibrary);
      ASSERT_TRUE(kernels) << kernels.status().message();
      ASSERT_TRUE(library) << library.status().message();
      if (tokens < 64)
        EXPECT_TRUE(sameBits(library->output, kernels->output));
      // A sum of k terms in any order errs by at most k roundings of its terms' magnitudes, here and there; a few
      // more operations follow.
      const double bound = slope * 2 * static_cast<double>(k + 8) * unit * static_cast<double>(k);
      EXPECT_TRUE(within(library->output, kernels->output, [&](int64_t) { return bound; }));
    }
  }
};

TEST(LibraryProductStorage, EveryStorageType) {
  const std::pair<const char *, int64_t> storages[] = {{"f32", 32},   {"f16", 32},   {"bf16", 32}, {"q8_0", 32},
                                                       {"q4_0", 32},  {"q4_1", 32},  {"q5_0", 32}, {"q5_1", 32},
                                                       {"q4_k", 256}, {"q5_k", 256}, {"q6_k", 256}};
  for (const auto &[storage, k] : storages) {
    SCOPED_TRACE(storage);
    GraphText g;
    Node x = g.argument("x", rows(k));
    LibraryProduct::checkPathsIn("bf16", g.finish(g.linear(x, g.weight("w", matrix(8, k), storage), rows(8))), k,
                                 {"round", "unpack", "product"}, 16);
  }
}

TEST_P(LibraryProduct, AResidualIsTheAddend) {
  GraphText g;
  Node x = g.argument("x", rows(32));
  Node y = g.linear(x, g.weight("w", matrix(32, 32), "q4_1"), rows(32));
  checkPaths(g.finish(g.map({y, x}, {identityMap(2), identityMap(2)}, rows(32), "    %r = arith.addf %a, %b : f32\n")),
             32, {"round", "unpack", "product + addend"}, 16);
}

TEST_P(LibraryProduct, ABiasIsTheBias) {
  GraphText g;
  Node x = g.argument("x", rows(32));
  checkPaths(g.finish(g.linear(x, g.weight("w", matrix(24, 32), "q4_0"), g.weight("b", "24", "f32"), rows(24))), 32,
             {"round", "unpack", "product + bias"}, 16);
}

TEST_P(LibraryProduct, OtherEpiloguesAreKernels) {
  GraphText g;
  Node x = g.argument("x", rows(32));
  Node gate = g.linear(x, g.weight("gate", matrix(24, 32), "q4_0"), rows(24));
  Node up = g.linear(x, g.weight("up", matrix(24, 32), "q4_0"), rows(24));
  // The derivative of a SwiGLU by one argument is at most 1.1 times the other, which is a sum of 32.
  checkPaths(g.finish(g.swiglu(gate, up)), 32, {"round", "unpack", "product", "unpack", "product", "epilogue"},
             2.2 * 32 * 16);
}

TEST_P(LibraryProduct, ANormInFrontScalesBehind) {
  GraphText g;
  Node x = g.argument("x", rows(32));
  Node normed = g.rmsNorm(x, g.weight("n", "32", "f32"));
  Node y = g.linear(normed, g.weight("w", matrix(32, 32), "q8_0"), rows(32));
  // The factor of a row is applied behind the product.
  checkPaths(g.finish(y), 32, {"round", "unpack", "product", "epilogue"},
             16 * std::sqrt(32.0)); // a normed row's largest element
}

TEST_P(LibraryProduct, OddMatricesStayWithTheKernels) {
  for (auto [n, k] : {std::pair<int64_t, int64_t>{33, 32}, {32, 36}}) {
    GraphText g;
    Node x = g.argument("x", rows(k));
    checkPaths(g.finish(g.linear(x, g.weight("w", matrix(n, k), "f16"), rows(n))), k, {}, 16);
  }
}

INSTANTIATE_TEST_SUITE_P(Operands, LibraryProduct, testing::Values("bf16", "f16"),
                         [](const auto &info) { return info.param; });

TEST(LibraryProductPlan, WithoutRoundedOperandsThereIsNone) {
  GraphText g;
  Node x = g.argument("x", rows(32));
  Node y = g.linear(x, g.weight("w", matrix(32, 32), "f32"), rows(32));
  CompiledGraph graph(g.finish(y), "avx2_in_f32_with_library");
  ASSERT_EQ(graph.error(), "");
  EXPECT_TRUE(pathOf(graph).empty());
}

} // namespace
} // namespace fusec::differential
