//===- Comparison.cpp - what compiled graphs are held to ------------------------===//
#include "test/unit/passes/Comparison.h"

#include <bit>
#include <cmath>
#include <random>

namespace fusec::differential {

using namespace reference;

namespace {

::testing::AssertionResult sameShape(const Tensor &actual, const Tensor &expected) {
  if (actual.shape() == expected.shape())
    return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "shape " << toString(actual.shape()) << ", expected "
                                       << toString(expected.shape());
}

bool bitsAgree(double actual, double expected) {
  if (std::isnan(actual) || std::isnan(expected))
    return std::isnan(actual) && std::isnan(expected);
  return std::bit_cast<uint64_t>(actual) == std::bit_cast<uint64_t>(expected);
}

/// Neither NaN nor infinity, or the same of them.
bool sameClass(double actual, double expected) {
  if (std::isfinite(actual) && std::isfinite(expected))
    return true;
  return bitsAgree(actual, expected);
}

std::string place(const Tensor &tensor, int64_t i) {
  Shape index;
  for (int64_t d = tensor.rank() - 1; d >= 0; --d) {
    index.insert(index.begin(), i % tensor.dim(d));
    i /= tensor.dim(d);
  }
  return toString(index);
}

template <typename Agree>::testing::AssertionResult compare(const Tensor &actual, const Tensor &expected, Agree agree) {
  if (auto shape = sameShape(actual, expected); !shape)
    return shape;
  const std::vector<double> a = actual.values(), e = expected.values();
  int64_t wrong = 0, first = -1;
  for (int64_t i = 0; i < static_cast<int64_t>(a.size()); ++i)
    if (!agree(i, a[i], e[i]) && wrong++ == 0)
      first = i;
  if (wrong == 0)
    return ::testing::AssertionSuccess();
  char text[160];
  std::snprintf(text, sizeof text, "%.9g (%a), expected %.9g (%a)", a[first], a[first], e[first], e[first]);
  return ::testing::AssertionFailure() << wrong << " of " << a.size() << " differ in " << toString(expected.shape())
                                       << ", first " << place(expected, first) << ": " << text;
}

void expectSameBits(const StepResult &actual, const StepResult &expected, const char *what) {
  EXPECT_TRUE(sameBits(actual.output, expected.output)) << what;
  for (const auto &[name, cache] : expected.caches)
    EXPECT_TRUE(sameBits(actual.caches.at(name), cache)) << what << ", cache " << name;
}

/// Both compute in double in different orders: a few hundred double roundings
/// of well-conditioned steps stay far below 1e-9 of the largest element, and a
/// wrong index or a lost f32 constant far above.
Bound nearlyEqual(const Tensor &expected) {
  double largest = 0;
  for (double v : expected.values())
    if (std::isfinite(v))
      largest = std::max(largest, std::fabs(v));
  return [largest](int64_t) { return 1e-9 * largest; };
}

void expectSameMeaning(const CompiledGraph &graph, const Step &step) {
  Result<StepResult> meaning = graph.interpret(step, Precision::F64);
  ASSERT_TRUE(meaning) << meaning.status().message();
  PlanOptions shuffled;
  shuffled.kernel.shuffleSeed = 5;
  Result<StepResult> kernels = graph.interpretAsPlan(step, Precision::F64, shuffled);
  ASSERT_TRUE(kernels) << kernels.status().message();
  EXPECT_TRUE(within(kernels->output, meaning->output, nearlyEqual(meaning->output))) << "kernels against graph, F64";
  for (const auto &[name, cache] : meaning->caches)
    EXPECT_TRUE(within(kernels->caches.at(name), cache, nearlyEqual(cache))) << "kernels against graph, cache " << name;
}

} // namespace

::testing::AssertionResult sameBits(const Tensor &actual, const Tensor &expected) {
  return compare(actual, expected, [](int64_t, double a, double e) { return bitsAgree(a, e); });
}

::testing::AssertionResult within(const Tensor &actual, const Tensor &expected, const Bound &bound) {
  return compare(actual, expected, [&](int64_t i, double a, double e) {
    return sameClass(a, e) && (!std::isfinite(e) || std::fabs(a - e) <= bound(i));
  });
}

StepResult check(const CompiledGraph &graph, const Step &step, Against against) {
  EXPECT_EQ(graph.error(), "");
  if (!graph.error().empty())
    return {};
  Result<StepResult> actual = graph.runHost(step, 1), again = graph.runHost(step, 2);
  EXPECT_TRUE(actual) << actual.status().message();
  EXPECT_TRUE(again) << again.status().message();
  if (!actual || !again)
    return {};
  expectSameBits(*again, *actual, "other pages and splits");
  expectSameMeaning(graph, step);
  if (against != Against::KernelMeaning) {
    Result<StepResult> kernels = graph.interpretAsPlan(step, Precision::Exact);
    EXPECT_TRUE(kernels) << kernels.status().message();
    if (kernels)
      expectSameBits(*actual, *kernels, "machine against kernels");
  }
  if (against == Against::GraphBits) {
    Result<StepResult> meaning = graph.interpret(step, Precision::Exact);
    EXPECT_TRUE(meaning) << meaning.status().message();
    if (meaning)
      expectSameBits(*actual, *meaning, "machine against graph");
  }
  return *actual;
}

Tensor randomTensor(llvm::ArrayRef<int64_t> shape, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  std::vector<double> values(numElements(shape));
  for (double &v : values)
    v = uniform(random);
  return Tensor::fromValues(Element::F32, shape, std::move(values));
}

Tensor integerTensor(const std::vector<int64_t> &values) {
  return Tensor::fromValues(Element::I32, {static_cast<int64_t>(values.size())}, {values.begin(), values.end()});
}

Step rowsStep(int64_t tokens, int64_t width, uint32_t seed) {
  Step step;
  step.symbols["T"] = tokens;
  step.inputs["x"] = randomTensor({tokens, width}, seed);
  return step;
}

} // namespace fusec::differential
