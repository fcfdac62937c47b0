//===- StepGoldenTest.cpp - whole models, at every level, against numpy -----------===//
//
// Goldens: tools/scripts/make_logits_goldens.py. The graph in F64 must give
// numpy's logits; the primitives and the plan must give the graph's. SmolLM2 is
// looked for at FUSEC_SMOLLM2.
//
//===----------------------------------------------------------------------===//
#include "test/unit/ir/IRFixture.h"

#include "ir/reference/PlanModel.h"
#include "ir/reference/ReferenceModel.h"
#include "ir/reference/WeightDecoder.h"
#include "models/arch/Decoder.h"
#include "models/import/Model.h"
#include "passes/Pipelines.h"

#include "mlir/Pass/PassManager.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>

namespace fusec::reference {
namespace {

namespace fs = std::filesystem;
using Values = std::vector<double>;

struct GoldenCase {
  const char *golden;
  const char *model;    ///< Relative to the repository, or null.
  const char *variable; ///< Environment variable with the path, or null.
};

constexpr GoldenCase cases[] = {
    {"stories260K.json", "../shared/data/models/stories260K/stories260K-f32.gguf", nullptr},
    {"smollm2-135m-q4_1.json", nullptr, "FUSEC_SMOLLM2"},
};

class StepGoldenTest : public IRFixture, public ::testing::WithParamInterface<GoldenCase> {
protected:
  void SetUp() override {
    const GoldenCase &c = GetParam();
    const char *given = c.variable ? std::getenv(c.variable) : nullptr;
    const fs::path path = c.model ? fs::path(FUSEC_SOURCE_DIR) / c.model : fs::path(given ? given : "");
    if (path.empty() || !fs::exists(path))
      GTEST_SKIP() << "needs " << (c.variable ? c.variable : path.string());
    Result<models::Model> opened = models::openModel(path);
    ASSERT_TRUE(opened) << opened.status().message();
    model.emplace(std::move(*opened));
    std::ifstream file(fs::path(FUSEC_SOURCE_DIR) / "test/golden/logits" / c.golden);
    golden = nlohmann::json::parse(file, nullptr, false);
    ASSERT_FALSE(golden.is_discarded());
    ids = golden["ids"].get<std::vector<int32_t>>();
    module = models::buildGraph(context, *model);
    environment.weight = weightsOf(*model);
  }

  void lower(std::initializer_list<Phase> phases, const PipelineOptions &options = {}) {
    mlir::PassManager manager(&context);
    for (Phase phase : phases)
      buildPhase(manager, phase, options);
    ASSERT_TRUE(mlir::succeeded(manager.run(*module)));
  }
  Values graphLogits(Precision precision) {
    Result<ReferenceModel> reference =
        ReferenceModel::create(*module->getOps<mlir::func::FuncOp>().begin(), environment, precision);
    return reference ? valuesOf(reference->logits(ids)) : valuesOf(reference.status());
  }
  /// The plan in chunks of `chunk` tokens, programs in a shuffled order.
  Values planLogits(Precision precision, size_t chunk) {
    PlanModelOptions options;
    options.plan.kernel.shuffleSeed = 3;
    Result<PlanModel> planned =
        PlanModel::create(*module, *module->getOps<plan::ProgramOp>().begin(), environment, precision, options);
    if (!planned)
      return valuesOf(planned.status());
    Values all;
    for (size_t start = 0; start < ids.size(); start += chunk)
      llvm::append_range(
          all, valuesOf(planned->logits(llvm::ArrayRef(ids).slice(start, std::min(chunk, ids.size() - start)))));
    return all;
  }
  static Values valuesOf(Result<Tensor> result) {
    EXPECT_TRUE(result) << result.status().message();
    return result ? result->values() : Values();
  }
  static double largestDifference(const Values &a, const Values &b) {
    EXPECT_EQ(a.size(), b.size());
    double largest = 0;
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
      largest = std::isnan(a[i] - b[i]) ? INFINITY : std::max(largest, std::abs(a[i] - b[i]));
    return largest;
  }

  std::optional<models::Model> model;
  nlohmann::json golden;
  std::vector<int32_t> ids;
};

/// Two f64 evaluations of some hundred operations per logit, in different orders.
constexpr double f64Tolerance = 1e-9;
/// Named ops hold scale and epsilon in f64, primitives as f32 constants: one
/// relative rounding in each score and norm, through a few layers and logits below 30.
constexpr double constantTolerance = 16 * f32Roundoff;

TEST_P(StepGoldenTest, EveryLevelGivesNumpysLogits) {
  const Values graph = graphLogits(Precision::F64);
  const size_t vocab = golden["vocab"].get<size_t>();
  ASSERT_EQ(graph.size(), ids.size() * vocab);
  for (size_t row = 0; row < ids.size(); ++row) {
    const nlohmann::json &expected = golden["rows"][row];
    const double *logits = graph.data() + row * vocab;
    for (size_t i = 0; i < expected["first"].size(); ++i)
      EXPECT_NEAR(logits[i], expected["first"][i].get<double>(), f64Tolerance);
    EXPECT_EQ(std::max_element(logits, logits + vocab) - logits, expected["argmax"].get<int64_t>());
    EXPECT_NEAR(*std::max_element(logits, logits + vocab), expected["max"].get<double>(), f64Tolerance);
    EXPECT_NEAR(std::accumulate(logits, logits + vocab, 0.0), expected["sum"].get<double>(), f64Tolerance * vocab);
  }
  lower({Phase::Primitives});
  const Values primitives = graphLogits(Precision::F64);
  EXPECT_LE(largestDifference(primitives, graph), constantTolerance);
  lower({Phase::Derived, Phase::Groups, Phase::Plan});
  EXPECT_LE(largestDifference(planLogits(Precision::F64, ids.size()), primitives), f64Tolerance);
  EXPECT_LE(largestDifference(planLogits(Precision::F64, 3), primitives), f64Tolerance);
}

/// Exact plan steps give one set of bits, however the tokens are cut into steps.
TEST_P(StepGoldenTest, ChunksDoNotChangeABitOfThePlan) {
  lower({Phase::Primitives, Phase::Derived, Phase::Groups, Phase::Plan});
  const Values whole = planLogits(Precision::Exact, ids.size());
  EXPECT_EQ(planLogits(Precision::Exact, 1), whole);
  EXPECT_EQ(planLogits(Precision::Exact, 3), whole);
}

PipelineOptions gpuOptions(const char *operands) {
  PipelineOptions options;
  options.isGpu = true;
  options.operands = operands;
  return options;
}

TEST_P(StepGoldenTest, TheGpuPlanGivesTheSameLogits) {
  lower({Phase::Primitives});
  const Values primitives = graphLogits(Precision::F64);
  lower({Phase::Derived, Phase::Groups, Phase::Plan}, gpuOptions(""));
  EXPECT_LE(largestDifference(planLogits(Precision::F64, ids.size()), primitives), f64Tolerance);
  EXPECT_LE(largestDifference(planLogits(Precision::F64, 3), primitives), f64Tolerance);
}

/// Few tokens run split over the context, many in query tiles; slices are the same in both.
TEST_P(StepGoldenTest, ChunksDoNotChangeABitOfTheGpuPlanIn16Bits) {
  if (GetParam().variable)
    GTEST_SKIP() << "minutes, for what the small model shows";
  lower({Phase::Primitives, Phase::Derived, Phase::Groups, Phase::Plan}, gpuOptions("bf16"));
  const Values whole = planLogits(Precision::Exact, ids.size());
  EXPECT_EQ(planLogits(Precision::Exact, 1), whole);
  EXPECT_EQ(planLogits(Precision::Exact, 3), whole);
}

INSTANTIATE_TEST_SUITE_P(Models, StepGoldenTest, ::testing::ValuesIn(cases));

} // namespace
} // namespace fusec::reference
