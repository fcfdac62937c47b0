//===- LevelsTest.cpp - the same values at every level of the compiler ------===//
//
// One model as named ops, as primitives, as groups and as a plan of tile
// kernels, each run by the reference interpreter; against each other, against
// numpy and against the compiled code. In float64, without any rounding, the
// levels below the named ops must agree to rounding of doubles, and so must the
// named ops and numpy: 1e-9 of logits of size 20 leaves a factor of 1e4 over it.
// Decomposition makes the attention's scale (and the norm's epsilon) a float32
// constant of the graph, 2^-25 off at most: scores of size 30 then move by 1e-6.
//
//===----------------------------------------------------------------------===//
#include "test/e2e/CompiledModels.h"
#include "test/e2e/ModelFiles.h"
#include "test/e2e/RandomModel.h"
#include "test/unit/models/TempDirectory.h"
#include "tools/fusec/Compilation.h"

#include "ir/reference/PlanModel.h"
#include "ir/reference/ReferenceModel.h"
#include "ir/reference/WeightDecoder.h"

#include <algorithm>
#include <cmath>

namespace fusec::e2e {
namespace {

using reference::Precision;
using Values = std::vector<double>;
using Steps = std::vector<std::vector<int32_t>>;

constexpr int64_t page = 64;
constexpr double rounding = 1e-9, constantsAsF32 = 1e-6;

/// A model opened for interpretation.
class Levels {
public:
  explicit Levels(const fs::path &model) {
    options.model = model;
    compilation = std::make_unique<Compilation>(options);
    Status status = compilation->open();
    EXPECT_TRUE(status.ok()) << status.message();
    if (status.ok())
      environment.weight = reference::weightsOf(compilation->model());
    environment.page = page;
  }

  /// Logits of all tokens of the steps, one row after the other.
  Values graph(Phase phase, const Steps &steps, Precision precision,
               reference::LogitRows rows = reference::LogitRows::All) {
    Status status = compilation->runThrough(phase, {});
    EXPECT_TRUE(status.ok()) << status.message();
    auto function = *compilation->module().getOps<mlir::func::FuncOp>().begin();
    auto model = reference::ReferenceModel::create(function, environment, precision);
    return run(model, steps, rows);
  }

  Values plan(const std::string &level, const Steps &steps, Precision precision) {
    Status status = compilation->runThrough(Phase::Groups, {});
    EXPECT_TRUE(status.ok()) << status.message();
    auto module = compilation->planFor({registersOf(level), page}, level);
    EXPECT_TRUE(module) << module.status().message();
    auto program = *(**module).getOps<fusec::plan::ProgramOp>().begin();
    auto model = reference::PlanModel::create(**module, program, environment, precision);
    return run(model, steps, reference::LogitRows::All);
  }

private:
  template <typename Model> static Values run(Result<Model> &model, const Steps &steps, reference::LogitRows rows) {
    EXPECT_TRUE(model) << model.status().message();
    Values all;
    for (const std::vector<int32_t> &step : steps) {
      auto logits = model->logits(step, rows);
      EXPECT_TRUE(logits) << logits.status().message();
      if (logits)
        llvm::append_range(all, logits->values());
    }
    return all;
  }

  CompileOptions options;
  std::unique_ptr<Compilation> compilation;
  reference::Environment environment;
};

double worstDifference(const Values &a, const Values &b) {
  EXPECT_EQ(a.size(), b.size());
  double worst = a.size() == b.size() ? 0 : INFINITY;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    worst = std::max(worst, std::abs(a[i] - b[i]));
  return worst;
}

// --- stories260K --------------------------------------------------------------------

const Steps storySteps = {{1, 403, 407}, {261}, {378, 432}, {383}};

TEST(Levels, StoriesAgreeInDouble) {
  FUSEC_NEEDS(storiesGguf());
  Levels levels(storiesGguf());
  const Values sugar = levels.graph(Phase::Import, storySteps, Precision::F64);
  ASSERT_EQ(sugar.size(), 7u * 512);
  const Values primitives = levels.graph(Phase::Primitives, storySteps, Precision::F64);
  EXPECT_LE(worstDifference(primitives, sugar), constantsAsF32);
  EXPECT_LE(worstDifference(levels.graph(Phase::Groups, storySteps, Precision::F64), primitives), rounding);
  for (const char *level : {"avx2", "avx512"})
    EXPECT_LE(worstDifference(levels.plan(level, storySteps, Precision::F64), primitives), rounding) << level;
}

// The compiled code and the interpreter do the same operations in the same order; only exp, sin and
// the like may differ, by units in the last place of float32.
TEST(Levels, StoriesPlanIsWhatRuns) {
  FUSEC_NEEDS(storiesGguf());
  Levels levels(storiesGguf());
  const std::vector<runtime::TokenId> ids = {1, 403, 407, 261, 378, 432, 383};
  for (const std::string &level : hostLevels()) {
    auto engine = openModel(storiesGguf(), {.level = level});
    ASSERT_TRUE(engine) << engine.status().message();
    auto logits = (*engine)->logits(ids, runtime::LogitRows::All);
    ASSERT_TRUE(logits) << logits.status().message();
    const Values plan = levels.plan(level, {ids}, Precision::Exact);
    EXPECT_LE(worstDifference(plan, Values(logits->begin(), logits->end())), 2e-5) << level;
  }
}

// --- tiny models --------------------------------------------------------------------

// The golden values have 9 decimals.
TEST(Levels, TinyModelsAgreeWithNumpyInDouble) {
  const nlohmann::json document = golden("tiny.json");
  ASSERT_FALSE(document.empty());
  for (const nlohmann::json &record : document) {
    TempDirectory folder;
    writeTinyModel(record, folder.path());
    Levels levels(folder.path());
    std::vector<runtime::TokenId> prompt = promptOf(record);
    prompt.resize(std::min<size_t>(prompt.size(), 70));
    const Steps steps = {{prompt.begin(), prompt.end() - 2}, {prompt[prompt.size() - 2]}, {prompt.back()}};
    const Values sugar = levels.graph(Phase::Import, steps, Precision::F64);
    const size_t vocab = record["config"]["vocab_size"];
    ASSERT_EQ(sugar.size(), prompt.size() * vocab);
    for (const auto &[position, row] : record["rows"].items())
      if (const size_t t = std::stoul(position); t < prompt.size())
        EXPECT_LE(worstDifference(Values(sugar.begin() + t * vocab, sugar.begin() + (t + 1) * vocab), row), 2e-9)
            << record["name"] << ", position " << position;
    const Values groups = levels.graph(Phase::Groups, steps, Precision::F64);
    EXPECT_LE(worstDifference(groups, sugar), constantsAsF32) << record["name"];
    for (const char *level : {"avx2", "avx512"})
      EXPECT_LE(worstDifference(levels.plan(level, steps, Precision::F64), groups), rounding)
          << record["name"] << level;
  }
}

// --- SmolLM2 ------------------------------------------------------------------------

// Whole rows; the golden values have 7 decimals. Tolerance of the compiled code: as in SmolLM2Test.
TEST(Levels, SmolLM2InDouble) {
  FUSEC_NEEDS(smolLM2());
  Levels levels(smolLM2());
  auto engine = openModel(smolLM2(), {.contextTokens = 512});
  ASSERT_TRUE(engine) << engine.status().message();
  const nlohmann::json document = golden("smollm2.json");
  ASSERT_EQ(document["prompts"].size(), 20u);
  for (const nlohmann::json &prompt : document["prompts"]) {
    const std::string name = prompt["name"];
    const auto ids = prompt["ids"].get<std::vector<int32_t>>();
    const Values exact = levels.graph(Phase::Import, {ids}, Precision::F64, reference::LogitRows::LastOfChunk);
    ASSERT_EQ(exact.size(), 49152u) << name;
    for (const auto &[id, value] : prompt["logits"].items())
      EXPECT_NEAR(exact[std::stoul(id)], value.get<double>(), 1e-6) << name << ", id " << id;
    auto logits = (*engine)->logits(ids);
    ASSERT_TRUE(logits) << logits.status().message();
    EXPECT_LE(worstDifference(exact, Values(logits->begin(), logits->end())), 4 * prompt["f32_error"].get<double>())
        << name;
  }
}

} // namespace
} // namespace fusec::e2e
