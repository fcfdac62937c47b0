//===- DerivedAttentionTest.cpp - every variant of attention, from primitives ---===//
//
// A set of variants that meets every pair of options, written out as maps,
// reductions and contractions: no named op, nothing that a pass could recognise.
// Each is compiled for every level, runs in guarded memory on shuffled pages whose
// unused positions are NaN, and stays within the bound that AttentionOracle.cpp
// derives. FUSEC_ATTENTION_SEEDS=first,count draws others.
//
//===----------------------------------------------------------------------===//
#include "test/unit/passes/AttentionGraph.h"
#include "test/unit/passes/Comparison.h"
#include "test/unit/passes/Covering.h"
#include "test/unit/passes/FusionReport.h"

#include <cmath>
#include <cstdlib>
#include <random>

namespace fusec::differential {
namespace {

using namespace reference;

//===----------------------------------------------------------------------===//
// Cases
//===----------------------------------------------------------------------===//

struct Case {
  AttentionForm form;
  std::vector<TokenSpan> spans;
  AttentionData data = AttentionData::Ordinary;
};

/// How many values each factor has, in the order that `caseOf` reads them.
constexpr int factors[] = {3, 4, 7, 3, 5, 2, 2, 2, 3, 2, 2, 9, 4, 4};

constexpr int64_t groups[] = {1, 4, 7, 8}, kvHeads[] = {3, 2, 1, 1};
constexpr int64_t headSizes[] = {32, 64, 80, 96, 128, 192, 256};
constexpr int64_t windows[] = {0, 0, 1, 4, 64};
constexpr int64_t lengths[] = {0, 1, 7, 63, 64, 65, 131, 257, 513};
/// Tokens of a step: decoding, a few, more than the split form takes, all that the budget allows.
constexpr int64_t tokenCounts[] = {1, 7, 17, 513};

/// Tokens such that the interpreters' work stays in the tens of milliseconds.
int64_t affordable(const AttentionForm &form, int64_t length, int64_t tokens) {
  const int64_t perToken = form.heads() * std::max<int64_t>(length, 1) * (form.head + form.valueHead);
  return std::clamp<int64_t>(tokens, 1, std::max<int64_t>(3000000 / perToken, 1));
}

std::vector<TokenSpan> spansOf(const AttentionForm &form, int64_t length, int64_t wanted) {
  int64_t tokens = affordable(form, length, wanted);
  if (wanted == tokenCounts[3])
    tokens = std::min(tokens, std::max<int64_t>(length, 1));
  std::vector<TokenSpan> spans = {{length - tokens, tokens}};
  if (form.memory == KeyMemory::Batched)
    spans.push_back({length / 2 - tokens, tokens});
  if (form.memory == KeyMemory::Paged && tokens < 17)
    spans.insert(spans.end(), {{5, 0}, {66, 2}}); // one that does not take part, one across a page's border
  return spans;
}

Case caseOf(const std::vector<int> &row) {
  Case c;
  c.form.memory = static_cast<KeyMemory>(row[0]);
  c.form.kvHeads = kvHeads[row[1]];
  c.form.group = groups[row[1]];
  c.form.head = headSizes[row[2]];
  const int64_t valueSizes[] = {c.form.head, c.form.head / 2, 40};
  c.form.valueHead = valueSizes[row[3]];
  c.form.window = windows[row[4]];
  c.form.visibility = row[4] == 0 ? Visibility::All : row[4] == 1 ? Visibility::Causal : Visibility::Window;
  c.form.softcap = row[5] ? 30 : 0;
  c.form.alibi = row[6];
  c.form.bias = row[7];
  c.form.mask = static_cast<MaskTensor>(row[8]);
  c.form.sink = row[9];
  c.form.division = static_cast<Division>(row[10]);
  c.form.merged = row[2] % 2;
  c.spans = spansOf(c.form, lengths[row[11]], tokenCounts[row[12]]);
  c.data = static_cast<AttentionData>(row[13]);
  return c;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// |error| / bound of every element, over all cases.
class Ratios {
public:
  void add(double error, double bound) {
    if (bound > 0)
      ratios.push_back(error / bound);
  }
  double median() { return at(ratios.size() / 2); }
  double largest() { return at(ratios.size() - 1); }
  size_t count() const { return ratios.size(); }

private:
  double at(size_t i) {
    std::nth_element(ratios.begin(), ratios.begin() + i, ratios.end());
    return ratios[i];
  }
  std::vector<double> ratios;
};

/// Both compute in double, in other orders, of logits up to 1e4 times the terms' spread.
void expectSameAsInterpreter(const Tensor &interpreted, const AttentionOracle &oracle) {
  ASSERT_EQ(interpreted.size(), static_cast<int64_t>(oracle.value.size()));
  Tensor expected = Tensor::fromValues(Element::F32, interpreted.shape(), oracle.value);
  EXPECT_TRUE(within(interpreted, expected, [](int64_t) { return 1e-9; })) << "two oracles differ";
}

void expectWithinBound(const Tensor &actual, const AttentionOracle &oracle, Ratios &ratios) {
  ASSERT_EQ(actual.size(), static_cast<int64_t>(oracle.value.size()));
  Tensor expected = Tensor::fromValues(Element::F32, actual.shape(), oracle.value);
  EXPECT_TRUE(within(actual, expected, [&](int64_t i) { return oracle.bound[i]; }));
  const std::vector<double> values = actual.values();
  for (size_t i = 0; i < values.size(); ++i)
    ratios.add(std::fabs(values[i] - oracle.value[i]), oracle.bound[i]);
}

/// The same text without any fusion: one op, one kernel, every score in memory.
void expectUnfusedWithinBound(const std::string &text, Step step, const AttentionOracle &oracle) {
  step.stale.reset(); // separate kernels multiply hidden values by 0
  FusionOptions fusion;
  fusion.enabled = false;
  CompiledGraph graph(text, codegen::runnableLevels().front(), fusion);
  ASSERT_EQ(graph.error(), "");
  Result<StepResult> actual = graph.runHost(step, 3);
  ASSERT_TRUE(actual) << actual.status().message();
  Ratios ratios;
  expectWithinBound(actual->output, oracle, ratios);
}

/// With rounded operands, caches are stored in f32 and every shorter type in turn.
AttentionForm formAt(AttentionForm form, const std::string &level, uint32_t seed) {
  constexpr const char *storages[] = {"", "bf16", "f16", "fp8_e4m3"};
  if (!LevelChoice(level).operands.empty() && form.memory == KeyMemory::Paged)
    form.storage = storages[seed % std::size(storages)];
  return form;
}

/// Products that tensor cores cannot take are computed in f32 instead.
bool roundsOperands(const CompiledGraph &graph) {
  bool rounds = false;
  graph.plan()->walk([&](tile::DotOp op) { rounds |= op.getOperandType().has_value(); });
  return rounds;
}

/// The second run has other pages and splits.
void checkAtLevel(const Case &c, const std::string &level, uint32_t seed, Ratios &ratios) {
  AttentionForm form = formAt(c.form, level, seed);
  const std::string text = attentionText(form);
  Step step = attentionStep(form, c.spans, c.data, seed);
  if (!derivationIsThere)
    step.stale.reset(); // today's kernels multiply hidden values by 0
  CompiledGraph graph(text, level);
  ASSERT_EQ(graph.error(), "") << text;
  if (roundsOperands(graph))
    form.operands = LevelChoice(level).operands;
  SCOPED_TRACE(level + ": " + describe(form));
  const AttentionOracle oracle = attend(form, step);
  if (form.operands.empty()) { // the text rounds nothing
    Result<StepResult> interpreted = graph.interpret(step, Precision::F64);
    ASSERT_TRUE(interpreted) << interpreted.status().message();
    expectSameAsInterpreter(interpreted->output, oracle);
  }
  Result<StepResult> actual = graph.runHost(step, 1), again = graph.runHost(step, 2);
  ASSERT_TRUE(actual) << actual.status().message();
  ASSERT_TRUE(again) << again.status().message();
  expectWithinBound(actual->output, oracle, ratios);
  EXPECT_TRUE(sameBits(again->output, actual->output)) << "other pages and splits";
}

/// Compiles and runs a case at every level.
void checkCase(const Case &c, uint32_t seed, Ratios &ratios) {
  SCOPED_TRACE(std::to_string(c.spans[0].added) + " tokens after " + std::to_string(c.spans[0].cached) + ", data " +
               std::to_string(static_cast<int>(c.data)));
  for (const std::string &level : codegen::runnableLevels())
    checkAtLevel(c, level, seed, ratios);
  if (LevelChoice(codegen::runnableLevels().front()).isGpuPlan)
    return;
  const std::string text = attentionText(c.form);
  Step step = attentionStep(c.form, c.spans, c.data, seed);
  const AttentionOracle oracle = attend(c.form, step);
  if (seed % 6 == 0)
    expectUnfusedWithinBound(text, step, oracle);
  if (derivationIsThere) {
    FusionReport report = fuseGraph(text);
    EXPECT_TRUE(report.isOneCascade()) << report.toString();
  }
}

void report(Ratios &ratios) {
  std::printf("%zu results, error / bound: median %.4f, largest %.3f\n", ratios.count(), ratios.median(),
              ratios.largest());
  // Not vacuous: the worst case comes within two orders of magnitude of its bound.
  EXPECT_GT(ratios.largest(), 0.01);
}

//===----------------------------------------------------------------------===//
// Tests
//===----------------------------------------------------------------------===//

constexpr size_t caseCount = 150;
constexpr int shards = 5;

class AttentionMatrix : public ::testing::TestWithParam<int> {};

TEST_P(AttentionMatrix, StaysWithinTheBound) {
  const auto rows = coveringRows(factors, caseCount, 7);
  Ratios ratios;
  for (size_t i = GetParam(); i < rows.size() && !HasFailure(); i += shards) {
    SCOPED_TRACE("case " + std::to_string(i));
    checkCase(caseOf(rows[i]), static_cast<uint32_t>(i), ratios);
  }
  report(ratios);
}
INSTANTIATE_TEST_SUITE_P(Cases, AttentionMatrix, ::testing::Range(0, shards));

TEST(AttentionSoak, DrawsOtherCases) {
  unsigned first = 0, count = 0;
  if (const char *seeds = std::getenv("FUSEC_ATTENTION_SEEDS"))
    std::sscanf(seeds, "%u,%u", &first, &count);
  if (count == 0)
    GTEST_SKIP() << "FUSEC_ATTENTION_SEEDS=first,count draws cases";
  Ratios ratios;
  for (uint32_t seed = first; seed < first + count && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    std::vector<int> row;
    for (int values : factors)
      row.push_back(static_cast<int>(random() % values));
    checkCase(caseOf(row), seed, ratios);
  }
  report(ratios);
}

/// The covering set does what it says.
TEST(Covering, MeetsEveryPair) {
  const auto rows = coveringRows(factors, caseCount, 7);
  for (size_t f = 0; f < std::size(factors); ++f)
    for (size_t g = f + 1; g < std::size(factors); ++g) {
      std::set<std::pair<int, int>> seen;
      for (const auto &row : rows)
        seen.emplace(row[f], row[g]);
      EXPECT_EQ(seen.size(), static_cast<size_t>(factors[f] * factors[g])) << f << ", " << g;
    }
  EXPECT_LE(rows.size(), caseCount);
}

} // namespace
} // namespace fusec::differential
