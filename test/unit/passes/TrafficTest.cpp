//===- TrafficTest.cpp - predicted bytes against counted ones ---------------------===//
//
// The report (passes/report/Traffic.h) counts every distinct byte of a buffer
// once per launch, and apart from that what programs load and store. The
// interpreter counts the latter. So:
//
//   stored    equal: every element is written once;
//   loaded    within 5 % of the report's count of loads, for every kernel: the
//             count follows loops and positions, whatever form the kernel has;
//   read      each buffer's predicted bytes times the number of passes that the
//             kernel's programs make over it, which the schedule tells: a product
//             reads its rows once per tile of lanes, a norm its row twice.
//
// A new form of kernel needs a case below that compiles to it; `measure` checks
// the 5 % for every launch of every case.
//
//===----------------------------------------------------------------------===//
#include "test/unit/passes/AttentionGraph.h"
#include "test/unit/passes/Comparison.h"
#include "test/unit/passes/GraphText.h"

#include "passes/report/Traffic.h"

namespace fusec::differential {
namespace {

using namespace reference;

struct Bytes {
  double loaded = 0, stored = 0, predictedRead = 0, predictedWritten = 0, predictedLoaded = 0, touched = 0;
};

class TrafficTest : public ::testing::TestWithParam<std::string> {
protected:
  int64_t wideLanes() const { return GetParam() == "avx512" ? 64 : 32; }

  /// What the step's integer inputs hold.
  static StepInputs inputsOf(const Step &step) {
    return [&step](llvm::StringRef buffer, llvm::ArrayRef<int64_t> index) -> std::optional<int64_t> {
      auto it = step.inputs.find(buffer);
      if (it == step.inputs.end())
        return std::nullopt;
      return static_cast<int64_t>(it->second.get(index));
    };
  }

  /// One row per launch.
  std::vector<Bytes> measure(const std::string &text, const Step &step) {
    CompiledGraph graph(text, GetParam());
    EXPECT_EQ(graph.error(), "");
    std::vector<Bytes> rows;
    if (!graph.error().empty())
      return rows;
    PlanOptions options;
    options.afterLaunch = [&](const LaunchRecord &record, llvm::ArrayRef<Tensor>) {
      Bytes bytes;
      for (const reference::Traffic &t : record.run.traffic) {
        bytes.loaded += t.loadedBytes;
        bytes.stored += t.storedBytes;
      }
      rows.push_back(bytes);
    };
    Result<StepResult> run = graph.interpretAsPlan(step, Precision::Exact, options);
    EXPECT_TRUE(run) << run.status().message();
    StepSizes sizes;
    for (const auto &symbol : step.symbols)
      sizes[symbol.first()] = symbol.second;
    sizes["B"] = PageTable(step, 1).columns;
    std::vector<LaunchTraffic> predicted = trafficOf(graph.plan(), sizes, inputsOf(step));
    EXPECT_EQ(predicted.size(), rows.size());
    for (size_t i = 0; i < std::min(rows.size(), predicted.size()); ++i) {
      rows[i].predictedLoaded = predicted[i].loadedBytes;
      rows[i].touched = predicted[i].touchedBytes;
      EXPECT_NEAR(predicted[i].loadedBytes, rows[i].loaded, 0.05 * rows[i].loaded) << "launch " << i;
      EXPECT_NEAR(predicted[i].storedBytes, rows[i].stored, 0.05 * rows[i].stored) << "launch " << i;
      rows[i].predictedRead = predicted[i].readBytes;
      rows[i].predictedWritten = predicted[i].writtenBytes;
    }
    return rows;
  }
};

TEST_P(TrafficTest, AMapReadsAndWritesOnce) {
  GraphText g;
  Node x = g.argument("x", "ragged(T), 64");
  Node y = g.map({x, g.weight("b", "64", "f32")}, {identityMap(2), "(t, c) -> (c)"}, "ragged(T), 64",
                 "    %r = arith.addf %a, %b : f32\n");
  std::vector<Bytes> rows = measure(g.finish(y), rowsStep(5, 64, 1));
  ASSERT_EQ(rows.size(), 1u);
  const double row = 64 * 4;
  EXPECT_EQ(rows[0].predictedRead, 5 * row + row);
  EXPECT_EQ(rows[0].loaded, 5 * row + 5 * row); // the vector once per row
  EXPECT_EQ(rows[0].predictedWritten, 5 * row);
  EXPECT_EQ(rows[0].stored, 5 * row);
}

TEST_P(TrafficTest, ANormReadsItsRowTwice) {
  GraphText g;
  Node x = g.argument("x", "ragged(T), 128");
  std::vector<Bytes> rows = measure(g.finish(g.rmsNorm(x, g.weight("w", "128", "f32"))), rowsStep(3, 128, 1));
  ASSERT_EQ(rows.size(), 1u);
  const double row = 128 * 4;
  EXPECT_EQ(rows[0].predictedRead, 3 * row + row);
  EXPECT_EQ(rows[0].loaded, 2 * 3 * row + 3 * row);
  EXPECT_EQ(rows[0].predictedWritten, 3 * row);
  EXPECT_EQ(rows[0].stored, 3 * row);
  EXPECT_EQ(rows[0].touched, 3 * (row + row + row)) << "a program's second pass moves nothing";
}

TEST_P(TrafficTest, AProductReadsItsMatrixOnceAndItsRowsPerTile) {
  GraphText g;
  Node x = g.argument("x", "ragged(T), 128");
  Node y = g.linear(x, g.weight("w", "128, 128", "q8_0"), "ragged(T), 128");
  Node z = g.map({y, x}, {identityMap(2), identityMap(2)}, "ragged(T), 128", "    %r = arith.addf %a, %b : f32\n");
  const std::string text = g.finish(z);
  const double matrix = 128 * 128 * 34.0 / 32, row = 128 * 4;
  struct Case {
    int64_t tokens, lanes, passes;
  };
  // One row directly; a few rows by tiles of 8 in a program, which finds the matrix in the cache from the second on
  // (AVX2 does not do that); many rows staged: the matrix is decoded once into scratch memory.
  const bool isWide = GetParam() == std::string_view("avx512");
  const Case cases[] = {{1, wideLanes(), 1}, {24, wideLanes() / 2, isWide ? 3 : 1}, {96, wideLanes() / 2, 1}};
  for (const Case &c : cases) {
    SCOPED_TRACE("T = " + std::to_string(c.tokens));
    const double t = static_cast<double>(c.tokens);
    std::vector<Bytes> rows = measure(text, rowsStep(c.tokens, 128, 1));
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].predictedRead,
              matrix + t * row); // x is both operand and residual: one buffer
    const double programs = 128.0 / static_cast<double>(c.lanes);
    EXPECT_EQ(rows[0].loaded, matrix * static_cast<double>(c.passes) + t * row * programs + t * row);
    EXPECT_EQ(rows[0].touched, matrix + t * row * programs + t * row) << "a program's residual is a part of its x";
    EXPECT_EQ(rows[0].predictedWritten, t * row);
    EXPECT_EQ(rows[0].stored, t * row);
  }
}

TEST_P(TrafficTest, AGatherReadsTheRowsItTakes) {
  GraphText g;
  Node tokens = g.argument("tokens", "ragged(T)", "i32");
  Node x = g.gather(g.weight("table", "64, 64", "f16"), tokens, "ragged(T), 64");
  Node y = g.map({x}, {identityMap(2)}, "ragged(T), 64", "    %r = arith.negf %a : f32\n");
  Step step;
  step.symbols["T"] = 3;
  step.inputs["tokens"] = integerTensor({63, 0, 17});
  std::vector<Bytes> rows = measure(g.finish(y), step);
  ASSERT_FALSE(rows.empty());
  double read = 0, loaded = 0, written = 0, stored = 0;
  for (const Bytes &bytes : rows) {
    read += bytes.predictedRead;
    loaded += bytes.loaded;
    written += bytes.predictedWritten;
    stored += bytes.stored;
  }
  EXPECT_EQ(read, loaded);
  EXPECT_EQ(written, stored);
}

/// Appends write one position per token and cache, scores the whole context.
TEST_P(TrafficTest, AttentionStoresWhatIsPredicted) {
  for (std::string storage : {"", "f16"}) {
    GraphText g;
    Node q = g.argument("q", "ragged(T), 4, 16"), k = g.argument("k", "ragged(T), 2, 16");
    Node positions = g.argument("positions", "ragged(T)", "i32"),
         sequences = g.argument("sequences", "ragged(T)", "i32");
    Node keys = g.argument("k.0", "sym(S), paged(C), 2, 16", "f32", storage);
    Node values = g.argument("v.0", "sym(S), paged(C), 2, 16", "f32", storage);
    Node o = g.attention(q, g.append(k, keys, sequences, positions), g.append(k, values, sequences, positions),
                         positions, sequences, "0.25", 0, "ragged(T), 64");
    Step step;
    step.symbols["T"] = 3;
    step.symbols["S"] = 2;
    step.symbols["C"] = 128;
    step.lengths = {100, 7};
    step.inputs["q"] = randomTensor({3, 4, 16}, 1);
    step.inputs["k"] = randomTensor({3, 2, 16}, 2);
    step.inputs["positions"] = integerTensor({99, 5, 6});
    step.inputs["sequences"] = integerTensor({0, 1, 1});
    step.caches["k.0"] = randomTensor({2, 128, 2, 16}, 3);
    step.caches["v.0"] = randomTensor({2, 128, 2, 16}, 4);
    std::vector<Bytes> rows = measure(g.finish(o), step);
    ASSERT_FALSE(rows.empty());
    EXPECT_EQ(rows[0].stored, 2 * 3 * (2 * 16) * (storage.empty() ? 4.0 : 2.0)); // both caches, tokens, heads
    for (const Bytes &bytes : rows)
      EXPECT_EQ(bytes.stored, bytes.predictedWritten);
  }
}

/// Derived kernels: the prediction follows what the loops over the cache visit, for single tokens (split
/// loops), chunks, several sequences, groups of heads, and windows.
TEST_P(TrafficTest, DerivedAttentionLoadsWhatItsLoopsVisit) {
  struct Case {
    const char *name;
    int64_t group, window;
    std::vector<TokenSpan> spans;
  };
  const Case cases[] = {
      {"decode", 1, 0, {{600, 1}}},         {"decode, groups", 4, 0, {{300, 1}}},        {"chunk", 4, 0, {{70, 37}}},
      {"prefill", 1, 0, {{0, 90}}},         {"two sequences", 2, 0, {{130, 1}, {7, 3}}}, {"window", 1, 100, {{700, 1}}},
      {"window, chunk", 4, 70, {{500, 33}}}};
  for (const Case &c : cases) {
    SCOPED_TRACE(c.name);
    AttentionForm form;
    form.group = c.group;
    form.window = c.window;
    form.visibility = c.window ? Visibility::Window : Visibility::Causal;
    Step step = attentionStep(form, c.spans, AttentionData::Ordinary, 1);
    std::vector<Bytes> rows = measure(attentionText(form), step);
    ASSERT_FALSE(rows.empty());
    for (const Bytes &bytes : rows) {
      EXPECT_LE(bytes.predictedRead, bytes.loaded * 1.05);
      EXPECT_EQ(bytes.stored, bytes.predictedWritten);
    }
  }
}

/// A window bounds the loop, so bytes stay the same however long the context grows.
TEST_P(TrafficTest, AWindowReadsNoMoreOfALongerCache) {
  AttentionForm form;
  form.visibility = Visibility::Window;
  form.window = 64;
  auto readAfter = [&](int64_t cached) {
    Step step = attentionStep(form, {{cached, 1}}, AttentionData::Ordinary, 1);
    double read = 0;
    for (const Bytes &bytes : measure(attentionText(form), step))
      read += bytes.predictedRead;
    return read;
  };
  double few = readAfter(255), many = readAfter(1279);
  // Splits that see nothing still leave their partial results, 1/64 of what they would have read.
  EXPECT_LT(many, 2 * few);
}

/// Whatever the kernels, no byte is predicted that no program touches, and none is stored twice.
TEST_P(TrafficTest, NothingPredictedIsUntouched) {
  GraphText g;
  Node x = g.argument("x", "ragged(T), 64");
  Node n = g.rmsNorm(x, g.weight("n", "64", "f32"));
  Node gate = g.linear(n, g.weight("gate", "128, 64", "q4_1"), "ragged(T), 128");
  Node up = g.linear(n, g.weight("up", "128, 64", "q4_1"), "ragged(T), 128");
  Node down = g.linear(g.swiglu(gate, up), g.weight("down", "64, 128", "q4_1"), "ragged(T), 64");
  Node y = g.map({down, x}, {identityMap(2), identityMap(2)}, "ragged(T), 64", "    %r = arith.addf %a, %b : f32\n");
  const std::string text = g.finish(y);
  for (int64_t tokens : {1, 4, 24})
    for (const Bytes &bytes : measure(text, rowsStep(tokens, 64, 1))) {
      EXPECT_GE(bytes.loaded, bytes.predictedRead);
      EXPECT_EQ(bytes.stored, bytes.predictedWritten);
    }
}

INSTANTIATE_TEST_SUITE_P(Levels, TrafficTest, ::testing::ValuesIn(codegen::runnableLevels()),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace fusec::differential
