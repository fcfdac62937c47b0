//===- OnnxCasesTest.cpp - ONNX's own cases of attention, softmax and norms ------===//
//
// tools/scripts/make_onnx_goldens.py wrote the graphs from ONNX's expanded node
// tests, where the operators are spelled out in primitives; the expected outputs
// are ONNX's. Each runs at every level.
//
//===----------------------------------------------------------------------===//
#include "test/unit/passes/Comparison.h"
#include "test/unit/passes/FusionReport.h"

#include "runtime/base/Json.h"

#include "llvm/Support/Base64.h"

#include <cmath>
#include <cstring>

namespace fusec::differential {
namespace {

using namespace reference;

Tensor decode(const std::string &text, const Shape &shape) {
  std::vector<char> bytes;
  llvm::Error error = llvm::decodeBase64(text, bytes);
  EXPECT_FALSE(static_cast<bool>(error));
  llvm::consumeError(std::move(error));
  std::vector<float> floats(bytes.size() / sizeof(float));
  std::memcpy(floats.data(), bytes.data(), floats.size() * sizeof(float));
  EXPECT_EQ(static_cast<int64_t>(floats.size()), numElements(shape));
  return Tensor::fromValues(Element::F32, shape, {floats.begin(), floats.end()});
}

Shape shapeOf(const nlohmann::json &list) {
  Shape shape;
  for (const nlohmann::json &extent : list)
    shape.push_back(extent.get<int64_t>());
  return shape;
}

struct Cases {
  Cases() {
    Result<nlohmann::json> read = readJsonFile(std::string(FUSEC_SOURCE_DIR) + "/test/golden/onnx/cases.json");
    if (read)
      document = *read;
  }
  nlohmann::json document;
};
const nlohmann::json &document() {
  static const Cases cases;
  return cases.document;
}

/// Expected and actual are two f32 evaluations, so they may differ by twice the error of one. With
/// sums of up to n terms (heads, keys, rows) of inputs in [0, 1) or of spread one, logits stay below
/// 4 in magnitude: their error is (n + 6) u * 4, passed on by exp as a relative one, plus exp's own 4 u;
/// sums of weights and values add n u each, quotients and roots a few.
///
/// In f16 each operator's result is rounded to 11 bits; the evaluations may round every one of about
/// 12 on the way to the other neighbour, logits being worth 4 of them.
double tolerance(int64_t n, double largest, bool half) {
  const double f32 = static_cast<double>(4 * (n + 6) + 2 * n + 24) * unit;
  return 2 * (f32 + (half ? 16 * 0x1p-11 : 0)) * std::max(largest, 1.0);
}

class OnnxCases : public ::testing::TestWithParam<std::string> {
protected:
  void checkCase(const nlohmann::json &c) {
    CompiledGraph graph(c["graph"].get<std::string>(), GetParam());
    ASSERT_EQ(graph.error(), "") << c["graph"].get<std::string>();
    Step step;
    for (const nlohmann::json &input : c["inputs"])
      step.inputs[input["name"].get<std::string>()] = decode(input["values"], shapeOf(input["shape"]));
    const Tensor expected = decode(c["expected"], shapeOf(c["shape"]));
    double largest = 0;
    for (double v : expected.values())
      largest = std::isfinite(v) ? std::max(largest, std::fabs(v)) : largest;
    const double bound = tolerance(c["summed"].get<int64_t>(), largest, c["half"].get<bool>());
    Result<StepResult> meaning = graph.interpret(step, Precision::F64);
    ASSERT_TRUE(meaning) << meaning.status().message();
    EXPECT_TRUE(within(meaning->output, expected, [&](int64_t) { return bound; })) << "the graph as written";
    Result<StepResult> actual = graph.runHost(step, 1);
    ASSERT_TRUE(actual) << actual.status().message();
    EXPECT_TRUE(within(actual->output, expected, [&](int64_t) { return bound; })) << "the machine";
  }
};

TEST_P(OnnxCases, GiveOnnxsResults) {
  ASSERT_TRUE(document().contains("cases"));
  ASSERT_GE(document()["cases"].size(), 171u);
  for (const nlohmann::json &c : document()["cases"]) {
    SCOPED_TRACE(c["name"].get<std::string>());
    checkCase(c);
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, OnnxCases, ::testing::ValuesIn(codegen::runnableLevels()),
                         [](const auto &info) { return info.param; });

/// Whether a choice between 0 and a weight by a value of the row moves behind the sum like a quotient.
/// While it does not, cases that look for rows without any visible key by a second maximum stay apart.
constexpr bool choicesOfRowsMove = true;

bool choosesByRow(const std::string &graph) {
  const std::string maximum = "arith.maximumf";
  return graph.find(maximum) != graph.rfind(maximum);
}

/// Every contraction of an attention case is in one loop. What a case computes beside it (joining
/// past and present, the largest mask of a row) may be a row kernel of its own.
TEST(OnnxKernels, AttentionIsOneLoop) {
  int64_t cases = 0, launches = 0, loops = 0;
  for (const nlohmann::json &c : document()["cases"]) {
    if (c["family"] != "attention" || c["half"].get<bool>()) // roundings between the sums forbid one loop
      continue;
    SCOPED_TRACE(c["name"].get<std::string>());
    FusionReport report = fuseGraph(c["graph"].get<std::string>());
    EXPECT_EQ(report.error, "");
    std::map<std::string, int64_t> forms;
    for (const std::string &form : report.launches)
      ++forms[form];
    ++cases;
    launches += static_cast<int64_t>(report.launches.size());
    if (!derivationIsThere || (!choicesOfRowsMove && choosesByRow(c["graph"].get<std::string>())))
      continue;
    ++loops;
    EXPECT_EQ(forms["cascade"], 1) << report.toString();
    EXPECT_LE(forms["cascade-merge"], 1) << report.toString();
    EXPECT_EQ(forms["direct"] + forms["staged"], 0) << report.toString();
  }
  std::printf("%ld attention cases, %ld launches, %ld demanded to be one loop\n", cases, launches, loops);
}

TEST(OnnxKernels, SoftmaxAndNormsAreOneKernel) {
  for (const nlohmann::json &c : document()["cases"]) {
    if (c["family"] == "attention")
      continue;
    SCOPED_TRACE(c["name"].get<std::string>());
    FusionReport report = fuseGraph(c["graph"].get<std::string>());
    EXPECT_EQ(report.error, "");
    EXPECT_EQ(report.launches.size(), 1u) << report.toString();
  }
}

/// What is missing is another element type, never an operator.
TEST(OnnxKernels, OnlyElementTypesAreNotExpressible) {
  const nlohmann::json &missing = document()["not_expressible"];
  EXPECT_LE(missing.size(), 1u);
  for (const nlohmann::json &m : missing) {
    const std::string reason = m["reason"].get<std::string>();
    EXPECT_NE(reason.find("is float64"), std::string::npos) << m["name"].get<std::string>() << ": " << reason;
  }
}

} // namespace
} // namespace fusec::differential
