//===- AttentionChunksTest.cpp - how a prompt is cut must not show in any bit --------===//
//
// A prompt at once, in chunks, token by token, alone or beside others: the same
// bits for every token. Few tokens may run a split form and many an unsplit one;
// both sides of that border are among the cuts. And what a window, a masked row and an
// end-of-text token inside a prompt may and may not change.
//
//===----------------------------------------------------------------------===//
#include "test/unit/passes/AttentionGraph.h"
#include "test/unit/passes/Comparison.h"
#include "test/unit/passes/FusionReport.h"
#include "test/unit/passes/GraphText.h"

#include <cmath>
#include <limits>

namespace fusec::differential {
namespace {

using namespace reference;

/// Rows [from, to) of dimension 0.
Tensor slice(const Tensor &tensor, int64_t from, int64_t to) {
  Shape shape(tensor.shape());
  const int64_t row = shape[0] == 0 ? 0 : tensor.size() / shape[0];
  shape[0] = to - from;
  const std::vector<double> values = tensor.values();
  return Tensor::fromValues(tensor.element(), shape, {values.begin() + from * row, values.begin() + to * row});
}

/// Tokens [from, to) of a one-sequence prompt, after what `caches` hold.
Step chunkOf(const Step &prompt, int64_t from, int64_t to) {
  Step step = prompt;
  step.symbols["T"] = to - from;
  step.lengths = {to};
  for (const char *name : {"q", "k", "v", "positions", "sequences", "limit", "tokens"})
    if (auto it = step.inputs.find(name); it != step.inputs.end())
      it->second = slice(it->second, from, to);
  return step;
}

class Chunks : public ::testing::TestWithParam<std::string> {
protected:
  /// The outputs of all tokens, row by row, of a prompt that runs in chunks.
  std::vector<double> run(const CompiledGraph &graph, const Step &prompt, int64_t chunk) {
    const int64_t tokens = prompt.symbols.lookup("T");
    std::vector<double> outputs;
    Step rest = prompt;
    for (int64_t from = 0; from < tokens; from += chunk) {
      Step step = chunkOf(prompt, from, std::min(from + chunk, tokens));
      step.caches = rest.caches;
      Result<StepResult> result = graph.runHost(step, static_cast<uint32_t>(from + chunk));
      EXPECT_TRUE(result) << result.status().message();
      if (!result)
        return outputs;
      const std::vector<double> values = result->output.values();
      outputs.insert(outputs.end(), values.begin(), values.end());
      for (auto &[name, cache] : result->caches)
        rest.caches[name] = cache;
    }
    return outputs;
  }
  Step promptOf(const AttentionForm &form, int64_t tokens, uint32_t seed) {
    Step step = attentionStep(form, {{0, tokens}}, AttentionData::Ordinary, seed);
    if (!derivationIsThere)
      step.stale.reset();
    return step;
  }
};

AttentionForm appending() {
  AttentionForm form;
  form.appends = true;
  form.group = 3;
  form.head = form.valueHead = 32;
  return form;
}

//===----------------------------------------------------------------------===//
// Cuts and company
//===----------------------------------------------------------------------===//

TEST_P(Chunks, EveryCutGivesTheSameBits) {
  std::vector<AttentionForm> forms(4, appending());
  forms[1].visibility = Visibility::Window;
  forms[1].window = 65;
  forms[2].softcap = 20;
  forms[2].alibi = true;
  forms[3].sink = true;
  forms[3].division = Division::BeforeValues;
  for (const AttentionForm &form : forms) {
    SCOPED_TRACE(describe(form));
    CompiledGraph graph(attentionText(form), GetParam());
    ASSERT_EQ(graph.error(), "");
    for (int64_t tokens : {20, 131}) {
      Step prompt = promptOf(form, tokens, 101);
      const std::vector<double> whole = run(graph, prompt, tokens);
      for (int64_t chunk : {1, 7, 15, 16, 17, 64})
        EXPECT_EQ(run(graph, prompt, chunk), whole) << tokens << " tokens in chunks of " << chunk;
    }
  }
}

/// Long contexts: few tokens after 500 earlier ones against many.
TEST_P(Chunks, SplitAndWholeFormsGiveTheSameBits) {
  const AttentionForm form = appending();
  CompiledGraph graph(attentionText(form), GetParam());
  ASSERT_EQ(graph.error(), "");
  Step prompt = promptOf(form, 520, 103);
  const std::vector<double> whole = run(graph, prompt, 520);
  for (int64_t chunk : {13, 16, 17, 260})
    EXPECT_EQ(run(graph, prompt, chunk), whole) << "chunks of " << chunk;
}

/// A sequence beside a shorter, a longer and an empty one: the bits it has alone.
TEST_P(Chunks, BatchedIsSolo) {
  const AttentionForm form = appending();
  CompiledGraph graph(attentionText(form), GetParam());
  ASSERT_EQ(graph.error(), "");
  for (int64_t cached : {0, 62, 130})
    for (int64_t added : {1, 5, 19}) {
      SCOPED_TRACE(std::to_string(added) + " after " + std::to_string(cached));
      Step batch = attentionStep(form, {{3, 1}, {cached, added}, {200, 2}, {70, 0}}, AttentionData::Ordinary, 107);
      Step solo = attentionStep(form, {{cached, added}}, AttentionData::Ordinary, 107);
      for (const char *name : {"q", "k", "v"})
        solo.inputs[name] = slice(batch.inputs[name], 1, 1 + added);
      for (const char *name : {"k.0", "v.0"})
        for (int64_t c = 0; c < cached; ++c)
          for (int64_t i = 0; i < form.kvHeads * form.head; ++i)
            solo.caches[name].set({0, c, i / form.head, i % form.head},
                                  batch.caches[name].get({1, c, i / form.head, i % form.head}));
      if (!derivationIsThere)
        batch.stale.reset(), solo.stale.reset();
      Result<StepResult> together = graph.runHost(batch, 1), alone = graph.runHost(solo, 2);
      ASSERT_TRUE(together) << together.status().message();
      ASSERT_TRUE(alone) << alone.status().message();
      EXPECT_TRUE(sameBits(slice(together->output, 1, 1 + added), alone->output));
    }
}

//===----------------------------------------------------------------------===//
// Windows: W keys with the query itself, in every cut
//===----------------------------------------------------------------------===//

/// Position t sees t - W + 1 .. t, in every cut: changing key and value of t - W changes nothing, of
/// t - W + 1 something.
TEST_P(Chunks, WindowSeesExactlyItsTokens) {
  constexpr int64_t window = 4;
  AttentionForm form = appending();
  form.visibility = Visibility::Window;
  form.window = window;
  CompiledGraph graph(attentionText(form), GetParam());
  ASSERT_EQ(graph.error(), "");
  const int64_t width = form.heads() * form.valueHead;
  for (int64_t tokens : {3, 4, 5, 8, 64, 65}) {
    SCOPED_TRACE(std::to_string(tokens) + " tokens");
    Step prompt = promptOf(form, tokens, 109);
    const std::vector<double> before = run(graph, prompt, tokens);
    const int64_t last = tokens - 1;
    for (int64_t back = 0; back < std::min(tokens, window + 2); ++back) {
      Step changed = prompt;
      for (const char *name : {"k", "v"}) {
        changed.inputs[name] = prompt.inputs[name].clone();
        for (int64_t i = 0; i < form.kvHeads * form.head; ++i)
          changed.inputs[name].set({last - back, i / form.head, i % form.head}, 0.75);
      }
      for (int64_t chunk : {tokens, int64_t(3), int64_t(1)}) {
        const std::vector<double> after = run(graph, changed, chunk);
        ASSERT_EQ(after.size(), before.size());
        const bool same = std::equal(after.end() - width, after.end(), before.end() - width);
        EXPECT_EQ(same, back >= window) << "token t - " << back << ", chunks of " << chunk;
      }
    }
  }
}

//===----------------------------------------------------------------------===//
// Rows that see nothing
//===----------------------------------------------------------------------===//

/// Zeros, fused and unfused, without effect on other rows: the same graph with those rows' tokens last
/// in another sequence gives the others' bits.
TEST_P(Chunks, RowsThatSeeNothingAreZero) {
  for (bool enabled : {true, false})
    for (MaskTensor mask : {MaskTensor::None, MaskTensor::Integer, MaskTensor::Float}) {
      AttentionForm form;
      form.mask = mask;
      form.bias = mask == MaskTensor::None;
      form.group = 2;
      SCOPED_TRACE(describe(form) + (enabled ? ", fused" : ", unfused"));
      FusionOptions fusion;
      fusion.enabled = enabled;
      CompiledGraph graph(attentionText(form), GetParam(), fusion);
      ASSERT_EQ(graph.error(), "");
      const int64_t width = form.heads() * form.valueHead;
      for (std::vector<TokenSpan> spans :
           std::vector<std::vector<TokenSpan>>{{{9, 7}}, {{64, 2}, {-2, 5}, {130, 4}}, {{0, 18}, {5, 0}}}) {
        Step hidden = attentionStep(form, spans, AttentionData::Hidden, 113);
        Step open = attentionStep(form, spans, AttentionData::Hidden, 113);
        if (!enabled || !derivationIsThere)
          hidden.stale = open.stale = 0x1p15; // finite in f16, too
        // In `open` the rows that see nothing see everything.
        const int64_t tokens = hidden.symbols.lookup("T"), context = hidden.symbols.lookup("C");
        for (int64_t t = 1; t < tokens; t += 3)
          for (int64_t j = 0; j < context; ++j) {
            open.inputs["bias"].store(t * context + j, 0.25);
            open.inputs["mask"].store(t * context + j, 1.0);
          }
        Result<StepResult> result = graph.runHost(hidden, 1), other = graph.runHost(open, 1);
        ASSERT_TRUE(result) << result.status().message();
        ASSERT_TRUE(other) << other.status().message();
        const std::vector<double> y = result->output.values(), z = other->output.values();
        for (int64_t i = 0; i < tokens * width; ++i)
          if (i / width % 3 == 1 || hidden.inputs["positions"].get({i / width}) < 0)
            ASSERT_EQ(y[i], 0.0) << i;
          else
            ASSERT_EQ(y[i], z[i]) << i;
      }
    }
}

//===----------------------------------------------------------------------===//
// Tokens by position, never by value
//===----------------------------------------------------------------------===//

/// Embedding, projections, caches, attention: token ids in, one row per token out.
std::string tokenGraph() {
  GraphText g;
  Node tokens = g.argument("tokens", "ragged(T)", "i32");
  Node positions = g.argument("positions", "ragged(T)", "i32"), sequences = g.argument("sequences", "ragged(T)", "i32");
  Node keys = g.argument("k.0", "sym(S), paged(C), 1, 16"), values = g.argument("v.0", "sym(S), paged(C), 1, 16");
  Node x = g.gather(g.weight("embedding", "50, 32", "f32"), tokens, "ragged(T), 32");
  auto project = [&](const char *name, int64_t heads) {
    const std::string size = std::to_string(heads * 16);
    Node y = g.linear(x, g.weight(name, size + ", 32", "f32"), "ragged(T), " + size);
    return g.view(y, "(t, h, d) -> (t, h * 16 + d)", "ragged(T), " + std::to_string(heads) + ", 16");
  };
  Node q = project("q", 2), k = project("k", 1), v = project("v", 1);
  return g.finish(g.attention(q, g.append(k, keys, sequences, positions), g.append(v, values, sequences, positions),
                              positions, sequences, "0.25", 0, "ragged(T), 32"));
}

Step tokenStep(const std::vector<std::vector<int64_t>> &sequences) {
  Step step;
  std::vector<int64_t> tokens, positions, owners;
  int64_t longest = 1;
  for (auto [s, ids] : llvm::enumerate(sequences)) {
    for (auto [i, id] : llvm::enumerate(ids)) {
      tokens.push_back(id);
      positions.push_back(static_cast<int64_t>(i));
      owners.push_back(static_cast<int64_t>(s));
    }
    step.lengths.push_back(static_cast<int64_t>(ids.size()));
    longest = std::max(longest, step.lengths.back());
  }
  const int64_t S = static_cast<int64_t>(sequences.size()), C = (longest + pageTokens - 1) / pageTokens * pageTokens;
  step.symbols["T"] = static_cast<int64_t>(tokens.size());
  step.symbols["S"] = S;
  step.symbols["C"] = C;
  step.inputs["tokens"] = integerTensor(tokens);
  step.inputs["positions"] = integerTensor(positions);
  step.inputs["sequences"] = integerTensor(owners);
  for (const char *name : {"k.0", "v.0"})
    step.caches[name] = Tensor::filled(Element::F32, {S, C, 1, 16}, 0.0);
  return step;
}

TEST_P(Chunks, EndOfTextInsideAPromptCountsLikeAnyToken) {
  constexpr int64_t endOfText = 2, padding = 2; // one id for both, as many models have it
  CompiledGraph graph(tokenGraph(), GetParam());
  ASSERT_EQ(graph.error(), "");
  const std::vector<int64_t> prompt = {7, 8, endOfText, 9, endOfText, 11, 12};
  std::vector<int64_t> without = prompt, longer(70, 21), ending = {5, padding};
  without[2] = 13;
  auto rows = [&](const std::vector<std::vector<int64_t>> &sequences, size_t which) {
    Result<StepResult> result = graph.runHost(tokenStep(sequences), 1);
    EXPECT_TRUE(result) << result.status().message();
    int64_t from = 0;
    for (size_t s = 0; s < which; ++s)
      from += static_cast<int64_t>(sequences[s].size());
    return slice(result->output, from, from + static_cast<int64_t>(sequences[which].size()));
  };
  const Tensor solo = rows({prompt}, 0);
  EXPECT_TRUE(sameBits(rows({ending, prompt, longer}, 1), solo));
  EXPECT_TRUE(sameBits(rows({longer, ending, {}, prompt}, 3), solo));
  EXPECT_TRUE(sameBits(rows({prompt, prompt}, 1), solo));
  // The token is seen: another one in its place changes every later row, and no earlier one.
  const Tensor other = rows({without}, 0);
  EXPECT_TRUE(sameBits(slice(other, 0, 2), slice(solo, 0, 2)));
  for (int64_t t = 2; t < 7; ++t)
    EXPECT_FALSE(sameBits(slice(other, t, t + 1), slice(solo, t, t + 1))) << "token " << t;
}

//===----------------------------------------------------------------------===//
// Group sizes that are no power of two, inputs that are one tensor
//===----------------------------------------------------------------------===//

TEST_P(Chunks, OddGroupsOfHeads) {
  for (int64_t group : {3, 5, 6, 7, 9, 12}) {
    AttentionForm form;
    form.group = group;
    form.head = form.valueHead = 16;
    SCOPED_TRACE(describe(form));
    CompiledGraph graph(attentionText(form), GetParam());
    ASSERT_EQ(graph.error(), "");
    for (std::vector<TokenSpan> spans :
         std::vector<std::vector<TokenSpan>>{{}, {{0, 1}}, {{70, 1}}, {{5, 20}, {64, 1}}}) {
      Step step = attentionStep(form, spans, AttentionData::Ordinary, 127);
      if (!derivationIsThere)
        step.stale.reset();
      form.operands = LevelChoice(GetParam()).operands;
      const AttentionOracle oracle = attend(form, step);
      Result<StepResult> actual = graph.runHost(step, 1);
      ASSERT_TRUE(actual) << actual.status().message();
      Tensor expected = Tensor::fromValues(Element::F32, actual->output.shape(), oracle.value);
      EXPECT_TRUE(within(actual->output, expected, [&](int64_t i) { return oracle.bound[i]; }));
    }
  }
}

/// q, k and v are one argument: one buffer is read in three ways.
TEST_P(Chunks, OneTensorForQueryKeyAndValue) {
  GraphText g;
  Node x = g.argument("x", "48, 2, 16");
  const std::vector<std::string> scoresOf = {"(t, h, j, d) -> (t, h, d)", "(t, h, j, d) -> (j, h, d)",
                                             "(t, h, j, d) -> (t, h, j)"};
  Node s = g.contract(x, x, scoresOf, "48, 2, 48");
  Node e = g.map({s, g.reduce(s, 3, "arith.maximumf", "0xFF800000", "48, 2")}, {identityMap(3), "(t, h, j) -> (t, h)"},
                 "48, 2, 48", "    %d = arith.subf %a, %b : f32\n    %r = math.exp %d : f32\n");
  Node o = g.contract(e, x, {"(t, h, c, j) -> (t, h, j)", "(t, h, c, j) -> (j, h, c)", "(t, h, c, j) -> (t, h, c)"},
                      "48, 2, 16", "any");
  Node y = g.map({o, g.reduce(e, 3, "arith.addf", "0.0", "48, 2")}, {identityMap(3), "(t, h, c) -> (t, h)"},
                 "48, 2, 16", "    %r = arith.divf %a, %b : f32\n");
  const std::string text = g.finish(y);
  CompiledGraph graph(text, GetParam());
  ASSERT_EQ(graph.error(), "");
  if (derivationIsThere) {
    FusionReport report = fuseGraph(text);
    EXPECT_TRUE(report.isOneCascade()) << report.toString();
  }
  Step step;
  step.inputs["x"] = randomTensor({48, 2, 16}, 131);
  Result<StepResult> actual = graph.runHost(step, 1), exact = graph.interpret(step, Precision::F64);
  ASSERT_TRUE(actual) << actual.status().message();
  ASSERT_TRUE(exact) << exact.status().message();
  // Logits of 16 products below 1 err by 17 units of 16, weights by twice that and exp; sums of 48 terms.
  constexpr double bound = 2 * (17 * 16 + 4 * 6 + 16 + 48) * unit * 1.1;
  // Rounding both operands by r moves a logit by up to 2 r 16, a weight by twice that and, where it is multiplied, by
  // r, like the value it is multiplied with.
  const std::string operands = LevelChoice(GetParam()).operands;
  const double r = operands.empty() ? 0 : operands == "f16" ? 0x1p-11 : 0x1p-8;
  const double all = bound + std::expm1(4 * 16 * r) + 2 * r;
  EXPECT_TRUE(within(actual->output, exact->output, [&](int64_t) { return all; }));
}

INSTANTIATE_TEST_SUITE_P(Levels, Chunks, ::testing::ValuesIn(codegen::runnableLevels()),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace fusec::differential
