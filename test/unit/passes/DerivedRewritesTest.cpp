//===- DerivedRewritesTest.cpp - one function, however it is written ---------------===//
//
// Attention renamed, reordered and re-associated: the algebra is the same, so
// the kernels must be, and the results stay within the same bound. And a change
// to the scores that no compiler has a name for.
//
//===----------------------------------------------------------------------===//
#include "test/unit/passes/AttentionGraph.h"
#include "test/unit/passes/Comparison.h"
#include "test/unit/passes/FusionReport.h"
#include "test/unit/passes/GraphText.h"
#include "test/unit/passes/ShuffledText.h"

#include <cmath>
#include <fstream>
#include <sstream>

namespace fusec::differential {
namespace {

using namespace reference;

struct Spelled {
  const char *name;
  AttentionSpelling spelling;
  Division division = Division::AfterValues;
};

const Spelled spellings[] = {
    {"as importers write it", {}},
    {"exp(-(m - t))", {.negated = true}},
    {"scaled query", {.scaledQuery = true}},
    {"mask as bias", {.maskAsBias = true}},
    {"one dimension of heads", {.flatHeads = true}},
    {"values on the left", {.swapped = true}},
    {"iteration backwards", {.reversed = true}},
    {"normalised softmax", {}, Division::BeforeValues},
    {"normalised softmax, values on the left", {.swapped = true}, Division::BeforeValues},
    {"all at once",
     {.negated = true, .scaledQuery = true, .maskAsBias = true, .flatHeads = true, .swapped = true, .reversed = true},
     Division::BeforeValues},
};

AttentionForm formOf(const Spelled &spelled, KeyMemory memory) {
  AttentionForm form;
  form.memory = memory;
  form.group = 3;
  form.head = 32;
  form.valueHead = 48;
  form.spelling = spelled.spelling;
  form.division = spelled.division;
  return form;
}

/// Within the oracle's bound at every level.
void expectRight(const std::string &text, const AttentionForm &form) {
  Step step = attentionStep(form, {{derivationIsThere ? 34 : 13, 3}}, AttentionData::Ordinary, 5);
  if (!derivationIsThere || form.spelling.maskAsBias)
    step.stale.reset(); // as written, NaN plus -inf is NaN
  const AttentionOracle oracle = attend(form, step);
  for (const std::string &level : codegen::runnableLevels()) {
    SCOPED_TRACE(level);
    CompiledGraph graph(text, level);
    ASSERT_EQ(graph.error(), "") << text;
    Result<StepResult> actual = graph.runHost(step, 1);
    ASSERT_TRUE(actual) << actual.status().message();
    Tensor expected = Tensor::fromValues(Element::F32, actual->output.shape(), oracle.value);
    EXPECT_TRUE(within(actual->output, expected, [&](int64_t i) { return oracle.bound[i]; })) << text;
  }
}

class Rewrites : public ::testing::TestWithParam<KeyMemory> {};

TEST_P(Rewrites, EverySpellingGivesTheSameKernels) {
  const std::vector<std::string> kernels = fuseGraph(attentionText(formOf(spellings[0], GetParam()))).launches;
  for (const Spelled &spelled : spellings) {
    SCOPED_TRACE(spelled.name);
    const AttentionForm form = formOf(spelled, GetParam());
    const std::string text = attentionText(form);
    expectRight(text, form);
    if (!derivationIsThere)
      continue;
    FusionReport report = fuseGraph(text);
    EXPECT_TRUE(report.isOneCascade()) << report.toString();
    EXPECT_EQ(report.launches, kernels) << report.toString();
  }
}

TEST_P(Rewrites, NamesAndOrderDoNotMatter) {
  const AttentionForm form = formOf(spellings[0], GetParam());
  const std::string text = attentionText(form);
  const std::vector<std::string> kernels = fuseGraph(text).launches;
  for (uint32_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    const std::string shuffled = shuffledText(text, seed);
    EXPECT_NE(shuffled, text);
    FusionReport report = fuseGraph(shuffled);
    EXPECT_EQ(report.error, "");
    EXPECT_EQ(report.launches, kernels) << shuffled << report.toString();
    if (seed < 3)
      expectRight(shuffled, form);
  }
}

std::string nameOf(const ::testing::TestParamInfo<KeyMemory> &info) {
  constexpr const char *names[] = {"plain", "batched", "paged"};
  return names[static_cast<int>(info.param)];
}
INSTANTIATE_TEST_SUITE_P(Memories, Rewrites, ::testing::Values(KeyMemory::Plain, KeyMemory::Batched, KeyMemory::Paged),
                         nameOf);

//===----------------------------------------------------------------------===//
// A modification of the scores without a name
//===----------------------------------------------------------------------===//

/// test/golden/fusion/score_modification.mlir is a user's text; its function is in its comment.
class ScoreModification : public ::testing::Test {
protected:
  ScoreModification() {
    std::ifstream in(std::string(FUSEC_SOURCE_DIR) + "/test/golden/fusion/score_modification.mlir");
    std::stringstream buffer;
    buffer << in.rdbuf();
    text = buffer.str();
  }
  std::string text;
};

TEST_F(ScoreModification, FusesLikeAnyOther) {
  ASSERT_NE(text, "");
  FusionReport report = fuseGraph(text);
  EXPECT_EQ(report.error, "");
  if (derivationIsThere) {
    EXPECT_TRUE(report.isOneCascade()) << report.toString();
  }
}

/// Against the graph in F64. Logits are below 8 in magnitude and err by (D + 1) units of sum |q k| <= 32
/// before the modification, whose slope in the score is below 1.5 and whose own five roundings are of
/// values below 8: 33 * 32 / 4 * 1.5 + 40 units. exp passes that on as a relative error of each weight, the
/// sums over 80 keys add 80 units each; everything twice, for numerator and denominator.
TEST_F(ScoreModification, IsRight) {
  constexpr double bound = 2 * (33 * 8 * 1.5 + 40 + 80 + 8) * unit * 1.1;
  AttentionForm form;
  form.head = form.valueHead = 32;
  form.group = 2;
  for (std::vector<TokenSpan> spans : std::vector<std::vector<TokenSpan>>{{{79, 1}}, {{60, 20}}, {{0, 3}, {64, 2}}}) {
    Step step = attentionStep(form, spans, AttentionData::Ordinary, 3);
    if (!derivationIsThere)
      step.stale.reset();
    for (const std::string &level : codegen::runnableLevels()) {
      SCOPED_TRACE(level);
      CompiledGraph graph(text, level);
      ASSERT_EQ(graph.error(), "");
      Result<StepResult> actual = graph.runHost(step, 1), exact = graph.interpret(step, Precision::F64);
      ASSERT_TRUE(actual) << actual.status().message();
      ASSERT_TRUE(exact) << exact.status().message();
      EXPECT_TRUE(within(actual->output, exact->output, [&](int64_t) { return bound; }));
    }
  }
}

} // namespace
} // namespace fusec::differential
