//===- CacheStorageDifferentialTest.cpp - caches kept in shorter floats ---------===//
//
// What an append leaves in a cache is the value rounded to the storage type, in
// the machine, the kernels and the graph alike; what attention then reads is
// that value. The expected bits come from runtime/base/Float16.h and E4m3.h,
// which share no code with the interpreter's rounding or with the kernels.
//
//===----------------------------------------------------------------------===//
#include "runtime/base/Float16.h"
#include "test/unit/passes/Comparison.h"
#include "test/unit/passes/E4m3.h"
#include "test/unit/passes/GraphText.h"

#include <cmath>

namespace fusec::differential {
namespace {

using namespace reference;

struct Heads {
  int64_t query, cached, size, valueSize;
};

/// Tokens of one sequence in a step: `added` after `cached` earlier ones.
struct Span {
  int64_t cached, added;
};

std::string number(int64_t n) { return std::to_string(n); }

/// Appends k and v to the caches and attends over them.
std::string attentionText(const Heads &h, const std::string &storage) {
  GraphText g;
  Node q = g.argument("q", "ragged(T), " + number(h.query) + ", " + number(h.size));
  Node k = g.argument("k", "ragged(T), " + number(h.cached) + ", " + number(h.size));
  Node v = g.argument("v", "ragged(T), " + number(h.cached) + ", " + number(h.valueSize));
  Node positions = g.argument("positions", "ragged(T)", "i32"), sequences = g.argument("sequences", "ragged(T)", "i32");
  const std::string pages = "sym(S), paged(C), " + number(h.cached) + ", ";
  Node keys = g.argument("k.0", pages + number(h.size), "f32", storage);
  Node values = g.argument("v.0", pages + number(h.valueSize), "f32", storage);
  Node allKeys = g.append(k, keys, sequences, positions), allValues = g.append(v, values, sequences, positions);
  return g.finish(g.attention(q, allKeys, allValues, positions, sequences, "0.25", 0,
                              "ragged(T), " + number(h.query * h.valueSize)));
}

float roundedToHalf(float value) { return halfToFloat(floatToHalf(value)); }
float roundedToBfloat(float value) { return bfloatToFloat(floatToBfloat(value)); }
float roundedToE4m3(float value) { return e4m3ToFloat(floatToE4m3(value)); }

/// A storage type: how it rounds, the unit at 1, and where its range ends.
struct Format {
  const char *name;
  float (*round)(float);
  double unit, smallest, smallestNormal, largest;
  double halfway; ///< Between the largest number and the one that would be next.
};

constexpr Format formats[] = {
    {"f16", roundedToHalf, 0x1p-10, 0x1p-24, 0x1p-14, 65504, 65520},
    {"bf16", roundedToBfloat, 0x1p-7, 0x1p-133, 0x1p-126, 0x1.fep127, 0x1.ffp127},
    {"fp8_e4m3", roundedToE4m3, 0x1p-3, 0x1p-9, 0x1p-6, 448, 464},
};

class CacheStorage : public ::testing::TestWithParam<std::tuple<std::string, std::string>> {
protected:
  std::string level() const { return std::get<0>(GetParam()); }
  std::string storage() const { return std::get<1>(GetParam()); }
  const Format &format() const {
    return *llvm::find_if(formats, [&](const Format &row) { return row.name == storage(); });
  }

  double rounded(double value) const { return format().round(static_cast<float>(value)); }
  Tensor rounded(const Tensor &tensor) const {
    Tensor result = tensor.clone();
    for (int64_t i = 0; i < result.size(); ++i)
      result.store(i, rounded(result.load(i)));
    return result;
  }

  /// Caches of `context` positions; what earlier steps appended is rounded.
  Step stepOf(const Heads &h, llvm::ArrayRef<Span> spans, int64_t context, uint32_t seed) const {
    Step step;
    std::vector<int64_t> positions, sequences;
    for (auto [s, span] : llvm::enumerate(spans)) {
      for (int64_t i = 0; i < span.added; ++i) {
        positions.push_back(span.cached + i);
        sequences.push_back(static_cast<int64_t>(s));
      }
      step.lengths.push_back(span.cached + span.added);
    }
    const int64_t T = static_cast<int64_t>(positions.size()), S = static_cast<int64_t>(spans.size());
    step.symbols["T"] = T;
    step.symbols["S"] = S;
    step.symbols["C"] = context;
    step.inputs["q"] = randomTensor({T, h.query, h.size}, seed);
    step.inputs["k"] = randomTensor({T, h.cached, h.size}, seed + 1);
    step.inputs["v"] = randomTensor({T, h.cached, h.valueSize}, seed + 2);
    step.inputs["positions"] = integerTensor(positions);
    step.inputs["sequences"] = integerTensor(sequences);
    step.caches["k.0"] = rounded(randomTensor({S, context, h.cached, h.size}, seed + 3));
    step.caches["v.0"] = rounded(randomTensor({S, context, h.cached, h.valueSize}, seed + 4));
    step.stale = 0x1p15; // as large as every storage type can say
    return step;
  }

  /// The caches after a step: what was there, and the new tokens rounded.
  Tensor appended(const Step &step, const std::string &cache, const std::string &values) const {
    Tensor result = step.caches.lookup(cache).clone();
    const Tensor added = rounded(step.inputs.lookup(values));
    for (int64_t t = 0; t < added.dim(0); ++t)
      for (int64_t h = 0; h < added.dim(1); ++h)
        for (int64_t d = 0; d < added.dim(2); ++d)
          result.set({static_cast<int64_t>(step.inputs.lookup("sequences").get({t})),
                      static_cast<int64_t>(step.inputs.lookup("positions").get({t})), h, d},
                     added.get({t, h, d}));
    for (int64_t s = 0; s < result.dim(0); ++s)
      for (int64_t c = step.lengths[s]; c < result.dim(1); ++c)
        for (int64_t i = 0; i < result.dim(2) * result.dim(3); ++i)
          result.set({s, c, i / result.dim(3), i % result.dim(3)}, 0.0);
    return result;
  }

  void expectRounded(const StepResult &result, const Step &step, const char *what) const {
    EXPECT_TRUE(sameBits(result.caches.at("k.0"), appended(step, "k.0", "k"))) << what << ", keys";
    EXPECT_TRUE(sameBits(result.caches.at("v.0"), appended(step, "v.0", "v"))) << what << ", values";
  }

  /// Machine, kernels and graph leave the same caches; the output is near the graph's.
  StepResult checkStep(const CompiledGraph &graph, const Heads &h, const Step &step) const {
    StepResult actual = check(graph, step, Against::KernelMeaning);
    Result<StepResult> exact = graph.interpret(step, Precision::Exact);
    EXPECT_TRUE(exact) << exact.status().message();
    if (!exact || actual.caches.empty())
      return actual;
    expectRounded(actual, step, "machine");
    expectRounded(*exact, step, "graph");
    // Both read the same caches, in whatever order of sums: a score of |q|, |k| <= 1 and scale 0.25 misses by
    // (D + 2) units of D / 4; exp doubles it (numerator, denominator) and adds its own; a sum over n keys adds n
    // units on each side.
    const double score = static_cast<double>(h.size + 2) * unit * static_cast<double>(h.size) / 4;
    const Tensor positions = step.inputs.lookup("positions");
    const int64_t width = h.query * h.valueSize;
    EXPECT_TRUE(within(actual.output, exact->output, [&](int64_t i) {
      const double n = positions.get({i / width}) + 1;
      return 4 * score + (4 * n + 12) * unit;
    }));
    return actual;
  }
};

TEST_P(CacheStorage, PrefillDecodeAndPageBorders) {
  const Heads all[] = {{6, 2, 16, 16}, {3, 1, 64, 64}, {2, 1, 20, 12}};
  const std::vector<std::vector<Span>> steps = {
      {{0, 1}}, {{5, 3}}, {{62, 5}}, {{63, 1}}, {{64, 1}}, {{0, 130}}, {{127, 2}, {0, 3}, {130, 1}}};
  for (const Heads &h : all) {
    SCOPED_TRACE(number(h.query) + " heads over " + number(h.cached) + " of " + number(h.size));
    CompiledGraph graph(attentionText(h, storage()), level());
    ASSERT_EQ(graph.error(), "");
    for (const std::vector<Span> &spans : steps) {
      SCOPED_TRACE(number(spans[0].cached) + " + " + number(spans[0].added));
      checkStep(graph, h, stepOf(h, spans, 192, 101));
    }
  }
}

/// The caches that one step leaves go into the next one.
TEST_P(CacheStorage, StepsFollowEachOther) {
  const Heads h{4, 2, 16, 16};
  CompiledGraph graph(attentionText(h, storage()), level());
  ASSERT_EQ(graph.error(), "");
  int64_t length = 0;
  std::map<std::string, Tensor> caches;
  for (int64_t added : {60, 1, 5, 1, 1}) {
    SCOPED_TRACE("after " + number(length));
    Step step = stepOf(h, {{length, added}}, 128, static_cast<uint32_t>(200 + length));
    for (const auto &[name, cache] : caches)
      step.caches[name] = cache;
    caches = checkStep(graph, h, step).caches;
    length += added;
  }
}

/// Ties around 1, the ends of the range, subnormals, and what is no number, in both signs.
std::vector<double> notableValues(const Format &format) {
  const double smallest = format.smallest;
  std::vector<double> values = {
      0.0,
      1.0,
      0x1.fffffep-1,
      1 + format.unit / 2,
      1 + 3 * format.unit / 2,
      1 + format.unit / 2 + 0x1p-23,
      smallest,
      smallest / 2,
      smallest * 0.75,
      smallest * 1.5,
      smallest * 2.5,
      smallest / 4,
      format.smallestNormal,
      format.smallestNormal - smallest / 2,
      0x1.ffcp-15,
      0x1p-14,
      0x1p-126,
      0x1.fffffcp-127,
      0x1p-149,
      format.largest,
      format.halfway,
      65519.99609375,
      70000,
      0x1.fffffep127,
      INFINITY,
      NAN,
  };
  values.push_back(std::nextafterf(static_cast<float>(format.halfway), 0.0f));
  values.push_back(std::nextafterf(static_cast<float>(format.largest), INFINITY));
  for (size_t i = 0, n = values.size(); i < n; ++i)
    values.push_back(-values[i]);
  return values;
}

TEST_P(CacheStorage, EveryKindOfValue) {
  const std::vector<double> values = notableValues(format());
  const Heads h{2, 1, 64, 64};
  CompiledGraph graph(attentionText(h, storage()), level());
  ASSERT_EQ(graph.error(), "");
  for (int64_t added : {1, 3}) { // both kernels' forms: single tokens and many
    Step step = stepOf(h, {{63, added}}, 128, 301);
    size_t next = 0;
    for (const char *name : {"k", "v"})
      for (int64_t i = 0; i < step.inputs[name].size(); ++i)
        step.inputs[name].store(i, static_cast<float>(values[next++ % values.size()]));
    Result<StepResult> machine = graph.runHost(step, 1), graphBits = graph.interpret(step, Precision::Exact);
    Result<StepResult> inDouble = graph.interpret(step, Precision::F64);
    Result<StepResult> kernels = graph.interpretAsPlan(step, Precision::Exact);
    ASSERT_TRUE(machine && graphBits && inDouble && kernels);
    expectRounded(*machine, step, "machine");
    expectRounded(*graphBits, step, "graph");
    expectRounded(*inDouble, step, "graph in F64");
    expectRounded(*kernels, step, "kernels");
  }
}

/// Without storage nothing is rounded: the same step differs, by at most the type's half unit.
TEST_P(CacheStorage, RoundsByAtMostHalfAUnit) {
  const Heads h{2, 1, 16, 16};
  CompiledGraph narrow(attentionText(h, storage()), level()), wide(attentionText(h, ""), level());
  Step step = stepOf(h, {{3, 9}}, 64, 401);
  Result<StepResult> a = narrow.runHost(step, 1), b = wide.runHost(step, 1);
  ASSERT_TRUE(a && b);
  EXPECT_FALSE(sameBits(a->caches.at("k.0"), b->caches.at("k.0")));
  for (const char *name : {"k.0", "v.0"})
    EXPECT_TRUE(within(a->caches.at(name), b->caches.at(name), [&](int64_t i) {
      return format().unit / 2 * std::fabs(b->caches.at(name).load(i)) + format().smallest / 2;
    }));
}

std::string levelAndStorage(const ::testing::TestParamInfo<std::tuple<std::string, std::string>> &info) {
  return std::get<0>(info.param) + "_" + std::get<1>(info.param);
}

INSTANTIATE_TEST_SUITE_P(Levels, CacheStorage,
                         ::testing::Combine(::testing::ValuesIn(codegen::runnableLevels()),
                                            ::testing::Values("f16", "bf16", "fp8_e4m3")),
                         levelAndStorage);

//===----------------------------------------------------------------------===//
// Every code of a byte
//===----------------------------------------------------------------------===//

class CacheInBytes : public CacheStorage {
protected:
  /// 256 elements a token.
  const Heads h{4, 4, 64, 64};
  /// Every number is 0, so that all keys have the same weight.
  Step stepOfZeros(Span span, uint32_t seed) const {
    Step step = stepOf(h, {span}, 64, seed);
    for (Tensor *tensor :
         {&step.inputs["q"], &step.inputs["k"], &step.inputs["v"], &step.caches["k.0"], &step.caches["v.0"]})
      for (int64_t i = 0; i < tensor->size(); ++i)
        tensor->store(i, 0.0);
    return step;
  }
};

/// The mean of a value and 0 is its half, exactly: what no number is stays none, every other code is what it says.
TEST_P(CacheInBytes, EveryCodeIsReadExactly) {
  CompiledGraph graph(attentionText(h, storage()), level());
  ASSERT_EQ(graph.error(), "");
  for (int64_t added : {1, 3}) { // both kernels' forms: single tokens and many
    Step step = stepOfZeros({1, added}, 501);
    Tensor expected = Tensor::filled(Element::F32, {added, 256}, 0.0);
    for (int64_t code = 0; code < 256; ++code) {
      const float value = e4m3ToFloat(static_cast<uint8_t>(code));
      step.caches["v.0"].set({0, 0, code / 64, code % 64}, value);
      expected.store(code, (value + 0.0f) / 2); // of -0 and 0 it is 0
    }
    Result<StepResult> machine = graph.runHost(step, 1);
    ASSERT_TRUE(machine) << machine.status().message();
    Tensor first = Tensor::filled(Element::F32, {added, 256}, 0.0);
    for (int64_t i = 0; i < 256; ++i)
      first.store(i, machine->output.load(i));
    EXPECT_TRUE(sameBits(first, expected)) << added << " tokens";
  }
}

/// All numbers, the middles between neighbours, and the floats beside these middles.
TEST_P(CacheInBytes, EveryCodeIsWrittenExactly) {
  std::vector<float> values;
  for (int code = 0; code < 0x7e; ++code) {
    const float low = e4m3ToFloat(static_cast<uint8_t>(code)), high = e4m3ToFloat(static_cast<uint8_t>(code + 1));
    const float middle = (low + high) / 2;
    for (float value : {low, high, middle, std::nextafterf(middle, 0.0f), std::nextafterf(middle, INFINITY)})
      values.insert(values.end(), {value, -value});
  }
  CompiledGraph graph(attentionText(h, storage()), level());
  ASSERT_EQ(graph.error(), "");
  Step step = stepOfZeros({0, 5}, 502);
  ASSERT_LE(values.size(), 5 * 256u);
  for (auto [i, value] : llvm::enumerate(values))
    for (const char *name : {"k", "v"})
      step.inputs[name].store(static_cast<int64_t>(i), value);
  Result<StepResult> machine = graph.runHost(step, 1), bits = graph.interpret(step, Precision::Exact);
  ASSERT_TRUE(machine && bits);
  expectRounded(*machine, step, "machine");
  expectRounded(*bits, step, "graph");
}

INSTANTIATE_TEST_SUITE_P(Levels, CacheInBytes,
                         ::testing::Combine(::testing::ValuesIn(codegen::runnableLevels()),
                                            ::testing::Values("fp8_e4m3")),
                         levelAndStorage);

} // namespace
} // namespace fusec::differential
