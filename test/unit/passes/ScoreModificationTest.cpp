//===- ScoreModificationTest.cpp - a user's own map on the scores -----------------===//
//
// examples/score-mod/attention.mlir as it is shipped, and with other maps in its
// place: one derived loop, and the right numbers.
//
//===----------------------------------------------------------------------===//
#include "test/unit/passes/AttentionGraph.h"
#include "test/unit/passes/Comparison.h"

#include <cmath>
#include <fstream>
#include <sstream>

namespace fusec::differential {
namespace {

/// What the example's tensors are.
AttentionForm shapes() {
  AttentionForm form;
  form.kvHeads = 2;
  form.group = 4;
  return form;
}

std::string example() {
  std::ifstream file(FUSEC_SOURCE_DIR "/examples/score-mod/attention.mlir");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string replaced(std::string text, const std::string &from, const std::string &to) {
  size_t place = text.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  return place == std::string::npos ? text : text.replace(place, from.size(), to);
}

/// |y - sum p v| for p off by a factor of exp(+-2d), as softmax makes of scores that are off by d, and
/// sums over n keys. Scores: a product of 64 terms below 1 in any order, scaled by 1/8, and a bias
/// below 4 from a dozen operations that each err by a few units.
double bound(double n) {
  const double score = 64 * 66 * unit / 8 + 4 * 16 * unit;
  return 2 * std::expm1(2 * score + 2 * expError) + 4 * (n + 8) * unit;
}

class ScoreModification : public ::testing::TestWithParam<std::string> {
protected:
  void checkAll(const std::string &text) {
    CompiledGraph graph(text, GetParam());
    ASSERT_EQ(graph.error(), "");
    // The loop, and for few tokens the merge of its parts; nothing else.
    EXPECT_EQ(graph.launches(), 2);
    const std::vector<std::vector<TokenSpan>> steps = {{{0, 1}}, {{62, 3}}, {{512, 1}}, {{0, 131}}, {{40, 1}, {7, 2}}};
    for (const auto &spans : steps) {
      SCOPED_TRACE("T = " + std::to_string(spans.front().added) + " after " + std::to_string(spans.front().cached));
      Step step = attentionStep(shapes(), spans, AttentionData::Ordinary, 11);
      StepResult actual = check(graph, step, Against::KernelMeaning);
      Result<StepResult> expected = graph.interpret(step, reference::Precision::F64);
      ASSERT_TRUE(expected) << expected.status().message();
      auto keys = static_cast<double>(spans.front().cached + spans.front().added);
      EXPECT_TRUE(within(actual.output, expected->output, [&](int64_t) { return bound(keys); }));
    }
  }
};

TEST_P(ScoreModification, TheExampleIsOneLoop) { checkAll(example()); }

TEST_P(ScoreModification, SoIsAnyOtherMapInItsPlace) {
  const std::pair<const char *, const char *> edits[] = {
      {"%bias = arith.mulf %t, %slope : f32", "%bias = arith.maximumf %t, %slope : f32"}, // a floor per head
      {"%t = math.tanh %x : f32", "%t = math.sin %x : f32"},                              // a wave
      {"%d = arith.sitofp %distance : i32 to f32",                                        // by parity
       "%one = arith.constant 1 : i32\n    %odd = arith.andi %distance, %one : i32\n    %d = arith.sitofp %odd : i32 "
       "to f32"},
  };
  for (const auto &[from, to] : edits) {
    SCOPED_TRACE(to);
    checkAll(replaced(example(), from, to));
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, ScoreModification, ::testing::ValuesIn(codegen::runnableLevels()),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace fusec::differential
