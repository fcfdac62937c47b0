//===- AttentionDifferentialTest.cpp - attention over paged caches, end to end ---===//
//
// One graph appends this step's keys and values and attends over the caches.
// Sequences have different lengths; pages are shuffled; what no sequence has
// written is large finite garbage.
//
//===----------------------------------------------------------------------===//
#include "test/unit/passes/Comparison.h"
#include "test/unit/passes/GraphText.h"

#include <cmath>

namespace fusec::differential {
namespace {

using namespace reference;

struct Heads {
  int64_t query, cached, size, valueSize;
};

struct Config {
  Heads heads;
  double scale = 0.25;
  int64_t window = 0;
};

/// Tokens of one sequence in a step: `added` after `cached` earlier ones.
struct Span {
  int64_t cached, added;
};

std::string number(int64_t n) { return std::to_string(n); }

std::string attentionText(const Config &config) {
  const Heads &h = config.heads;
  GraphText g;
  Node q = g.argument("q", "ragged(T), " + number(h.query) + ", " + number(h.size));
  Node k = g.argument("k", "ragged(T), " + number(h.cached) + ", " + number(h.size));
  Node v = g.argument("v", "ragged(T), " + number(h.cached) + ", " + number(h.valueSize));
  Node positions = g.argument("positions", "ragged(T)", "i32"), sequences = g.argument("sequences", "ragged(T)", "i32");
  Node keys = g.argument("k.0", "sym(S), paged(C), " + number(h.cached) + ", " + number(h.size));
  Node values = g.argument("v.0", "sym(S), paged(C), " + number(h.cached) + ", " + number(h.valueSize));
  Node allKeys = g.append(k, keys, sequences, positions), allValues = g.append(v, values, sequences, positions);
  return g.finish(g.attention(q, allKeys, allValues, positions, sequences, std::to_string(config.scale), config.window,
                              "ragged(T), " + number(h.query * h.valueSize)));
}

Step attentionStep(const Heads &h, llvm::ArrayRef<Span> spans, uint32_t seed) {
  Step step;
  std::vector<int64_t> positions, sequences;
  int64_t longest = 1;
  for (auto [s, span] : llvm::enumerate(spans)) {
    for (int64_t i = 0; i < span.added; ++i) {
      positions.push_back(span.cached + i);
      sequences.push_back(static_cast<int64_t>(s));
    }
    step.lengths.push_back(span.cached + span.added);
    longest = std::max(longest, step.lengths.back());
  }
  const int64_t T = static_cast<int64_t>(positions.size()), S = static_cast<int64_t>(spans.size());
  const int64_t C = (longest + pageTokens - 1) / pageTokens * pageTokens;
  step.symbols["T"] = T;
  step.symbols["S"] = S;
  step.symbols["C"] = C;
  step.inputs["q"] = randomTensor({T, h.query, h.size}, seed);
  step.inputs["k"] = randomTensor({T, h.cached, h.size}, seed + 1);
  step.inputs["v"] = randomTensor({T, h.cached, h.valueSize}, seed + 2);
  step.inputs["positions"] = integerTensor(positions);
  step.inputs["sequences"] = integerTensor(sequences);
  step.caches["k.0"] = randomTensor({S, C, h.cached, h.size}, seed + 3);
  step.caches["v.0"] = randomTensor({S, C, h.cached, h.valueSize}, seed + 4);
  return step;
}

/// Against the graph in Exact, whose scores have the machine's bits (a chain
/// along the head, one product with the scale, one subtraction of the same
/// maximum). So each e = exp(s - m) differs by expError plus the reference's
/// own rounding: 5 units relatively. Over n visible keys and values up to V:
/// the numerator's two chains differ by 5 units + n roundings each, of the sum
/// of e * V; the denominators likewise (positive terms); two quotient roundings.
/// Hidden keys add e = 0 exactly. An e near underflow may differ by `tiny`.
double attentionBound(int64_t n, double largestValue) {
  return (2 * 5 + 4 * static_cast<double>(n) + 2) * unit * 1.01 * largestValue + static_cast<double>(n) * tiny;
}

class AttentionDifferential : public ::testing::TestWithParam<std::string> {
protected:
  void checkStep(const CompiledGraph &graph, const Config &config, llvm::ArrayRef<Span> spans) {
    Step step = attentionStep(config.heads, spans, 83);
    StepResult actual = check(graph, step, Against::KernelMeaning);
    Result<StepResult> exact = graph.interpret(step, Precision::Exact);
    ASSERT_TRUE(exact) << exact.status().message();
    const int64_t width = config.heads.query * config.heads.valueSize;
    EXPECT_TRUE(within(actual.output, exact->output, [&](int64_t i) {
      int64_t visible = static_cast<int64_t>(step.inputs["positions"].get({i / width})) + 1;
      return attentionBound(config.window > 0 ? std::min(visible, config.window) : visible, 1.0);
    }));
    for (const auto &[name, cache] : exact->caches)
      EXPECT_TRUE(sameBits(actual.caches.at(name), cache)) << name;
  }
  void checkSteps(const Config &config, llvm::ArrayRef<std::vector<Span>> steps) {
    CompiledGraph graph(attentionText(config), GetParam());
    ASSERT_EQ(graph.error(), "");
    for (auto [i, spans] : llvm::enumerate(steps)) {
      SCOPED_TRACE("step " + std::to_string(i));
      checkStep(graph, config, spans);
    }
  }
};

TEST_P(AttentionDifferential, EveryGroupSizeAndHeadSize) {
  const Heads all[] = {{1, 1, 64, 64}, {3, 1, 8, 8},   {8, 2, 16, 16}, {7, 1, 80, 80},  {8, 1, 64, 64},  {9, 3, 64, 64},
                       {4, 4, 16, 16}, {6, 2, 96, 96}, {2, 1, 20, 12}, {14, 2, 64, 64}, {2, 2, 128, 128}};
  for (const Heads &h : all) {
    SCOPED_TRACE(number(h.query) + " heads over " + number(h.cached) + " of " + number(h.size));
    checkSteps({h}, {{{0, 1}}, {{5, 3}}, {{70, 1}}, {{66, 2}, {0, 3}, {130, 1}}});
  }
}

TEST_P(AttentionDifferential, PageBorders) {
  const Config config{{6, 2, 16, 16}, 0.5};
  std::vector<std::vector<Span>> steps;
  for (int64_t length : {63, 64, 65, 127, 128, 129}) {
    steps.push_back({{length - 1, 1}});         // one token ends at the border
    steps.push_back({{length - 3, 5}});         // a few cross it
    steps.push_back({{0, length}});             // all new
    steps.push_back({{length - 1, 1}, {2, 1}}); // beside a short sequence
  }
  checkSteps(config, steps);
}

TEST_P(AttentionDifferential, Window) {
  for (int64_t window : {1, 4, 64, 65}) {
    SCOPED_TRACE("window " + number(window));
    checkSteps({{4, 2, 16, 16}, 0.5, window}, {{{0, 7}}, {{62, 5}}, {{140, 1}}, {{63, 1}, {0, 2}, {127, 3}}});
  }
}

TEST_P(AttentionDifferential, ManySequencesOfOneTokenAndNoToken) {
  checkSteps({{4, 1, 16, 16}, 0.25},
             {{{0, 1}, {64, 1}, {63, 1}, {10, 1}, {200, 1}}, {{5, 0}, {63, 2}, {9, 0}}, {{12, 0}}});
}

/// Scores of 100 and more: exp underflows for all but the largest.
TEST_P(AttentionDifferential, LargeScores) { checkSteps({{4, 2, 64, 64}, 40.0}, {{{0, 9}}, {{100, 2}}}); }

/// A row that sees no key (its position is before the sequence) gives zeros.
TEST_P(AttentionDifferential, RowsWithoutVisibleKeysAreZero) {
  const Heads h{4, 2, 16, 16};
  GraphText g;
  Node q = g.argument("q", "ragged(T), 4, 16");
  Node positions = g.argument("positions", "ragged(T)", "i32"), sequences = g.argument("sequences", "ragged(T)", "i32");
  Node keys = g.argument("k.0", "sym(S), paged(C), 2, 16"), values = g.argument("v.0", "sym(S), paged(C), 2, 16");
  CompiledGraph graph(g.finish(g.attention(q, keys, values, positions, sequences, "0.25", 0, "ragged(T), 64")),
                      GetParam());
  ASSERT_EQ(graph.error(), "");
  std::vector<Span> spans = {{9, 3}};
  Step step = attentionStep(h, spans, 89);
  step.inputs["positions"] = integerTensor({-1, 10, -1});
  StepResult actual = check(graph, step, Against::KernelMeaning);
  ASSERT_EQ(actual.output.size(), 3 * 64);
  for (int64_t c = 0; c < 64; ++c) {
    EXPECT_EQ(actual.output.get({0, c}), 0.0);
    EXPECT_EQ(actual.output.get({2, c}), 0.0);
    EXPECT_NE(actual.output.get({1, c}), 0.0);
  }
}

/// q, k and v from one stacked product, turned, appended, attended, projected, plus the residual:
/// the first half of a block, against the graph in F64 and the kernels' bits do not apply (exp).
TEST_P(AttentionDifferential, HalfABlock) {
  GraphText g;
  const std::string rows = "ragged(T), 48";
  Node x = g.argument("x", rows);
  Node positions = g.argument("positions", "ragged(T)", "i32"), sequences = g.argument("sequences", "ragged(T)", "i32");
  Node keys = g.argument("k.0", "sym(S), paged(C), 1, 16"), values = g.argument("v.0", "sym(S), paged(C), 1, 16");
  Node n = g.rmsNorm(x, g.weight("norm", "48", "f32"));
  Node q = g.linear(n, g.weight("q", "48, 48", "f16"), rows);
  Node k = g.linear(n, g.weight("k", "16, 48", "f16"), "ragged(T), 16");
  Node v = g.linear(n, g.weight("v", "16, 48", "f16"), "ragged(T), 16");
  Node f = g.frequencies(8);
  Node qr = g.rope(g.view(q, "(t, h, d) -> (t, h * 16 + d)", "ragged(T), 3, 16"), positions, f, "half");
  Node kr = g.rope(g.view(k, "(t, h, d) -> (t, h * 16 + d)", "ragged(T), 1, 16"), positions, f, "half");
  Node v3 = g.view(v, "(t, h, d) -> (t, h * 16 + d)", "ragged(T), 1, 16");
  Node o = g.attention(qr, g.append(kr, keys, sequences, positions), g.append(v3, values, sequences, positions),
                       positions, sequences, "0.25", 0, rows);
  Node y = g.map({g.linear(o, g.weight("o", "48, 48", "f16"), rows), x}, {identityMap(2), identityMap(2)}, rows,
                 "    %r = arith.addf %a, %b : f32\n");
  CompiledGraph graph(g.finish(y), GetParam());
  ASSERT_EQ(graph.error(), "");
  for (std::vector<Span> spans : std::vector<std::vector<Span>>{{{0, 1}}, {{63, 1}}, {{60, 9}}, {{3, 13}, {64, 1}}}) {
    Step step = attentionStep({3, 1, 16, 16}, spans, 97);
    step.inputs["x"] = randomTensor({step.symbols["T"], 48}, 98);
    StepResult actual = check(graph, step, Against::KernelMeaning);
    // Two f32 runs of one function that round alike but for exp and the norm's sum: not a derived
    // bound but a plain one, far below the effect of any wrong element.
    Result<StepResult> exact = graph.interpret(step, Precision::F64);
    ASSERT_TRUE(exact) << exact.status().message();
    EXPECT_TRUE(within(actual.output, exact->output, [](int64_t) { return 1e-4; }));
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, AttentionDifferential, ::testing::ValuesIn(codegen::runnableLevels()),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace fusec::differential
