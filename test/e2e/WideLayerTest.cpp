//===- WideLayerTest.cpp - CUDA kernels at the width of a real model ---------===//
//
// One layer of SmolLM2's shape (WideLayer.h): of the model itself where its file
// is at hand, else with random weights. Compiled for CUDA it runs on the virtual
// device, every access checked, and is compared with the host's kernels: 6 of both
// runs' deviations are allowed (BoundedLayer.h), which of 10^5 logits none
// exceeds by chance in 5000 runs. Products are rounded to bf16; with FUSEC_FULL
// also f32, whose kernels take NVRTC 20 seconds.
//
// And what the kernels of one token move is what the plan says, within 5 %.
//
//===----------------------------------------------------------------------===//
#include "test/e2e/WideLayer.h"
#include "codegen/cuda/KernelTable.h"
#include "test/e2e/BoundedLayer.h"
#include "test/e2e/CompiledModels.h"
#include "test/e2e/ModelFiles.h"
#include "test/unit/models/TempDirectory.h"
#include "tools/fusec/Compiler.h"
#include "tools/fusec/KernelCounts.h"

#include <cmath>
#include <fstream>
#include <map>

namespace fusec::e2e {
namespace {

using runtime::TokenId;

const fs::path &folder() {
  static const TempDirectory directory;
  return directory.path();
}

/// The model; written on first use.
const fs::path &wideLayer() {
  static const fs::path file = [] {
    fs::path path = folder() / "layer.gguf";
    if (fs::exists(smolLM2())) {
      const Status cut = cutWideLayer(smolLM2(), path);
      EXPECT_TRUE(cut.ok()) << cut.message();
    } else {
      writeWideLayer(path);
    }
    return path;
  }();
  return file;
}

/// An artifact for both CUDA targets; Unsupported without NVRTC.
const Result<fs::path> &compiledFor(const std::string &math) {
  static std::map<std::string, Result<fs::path>> known;
  auto it = known.find(math);
  if (it == known.end()) {
    CompileOptions options;
    options.model = wideLayer();
    options.output = folder() / math;
    options.target = "cuda:sm_80,sm_90a";
    options.math = math;
    it = known.emplace(math, compileModel(options)).first;
  }
  return it->second;
}

#define NEEDS_COMPILED(math)                                                                                           \
  if (!compiledFor(math) && compiledFor(math).status().message().find("NVRTC") != std::string::npos)                   \
    GTEST_SKIP() << compiledFor(math).status().message();                                                              \
  ASSERT_TRUE(compiledFor(math)) << compiledFor(math).status().message()

std::vector<TokenId> promptOf(size_t length) {
  std::vector<TokenId> ids;
  for (size_t i = 0; i < length; ++i)
    ids.push_back(static_cast<TokenId>((i * 389 + 17) % wideLayerVocab));
  return ids;
}

/// Logits of all positions, `chunk` tokens a step.
std::vector<float> logitsOn(const std::string &device, const fs::path &artifact, const std::vector<TokenId> &ids,
                            int64_t chunk) {
  runtime::EngineOptions options;
  options.artifact = artifact;
  options.device = device;
  options.contextTokens = 128;
  options.chunkTokens = chunk;
  auto engine = runtime::Engine::create(options);
  EXPECT_TRUE(engine) << engine.status().message();
  if (!engine)
    return {};
  auto logits = (*engine)->logits(ids, runtime::LogitRows::All);
  EXPECT_TRUE(logits) << logits.status().message();
  return logits ? *logits : std::vector<float>();
}

using Rows = std::vector<std::vector<Bounded>>;
constexpr double deviations = 6;
constexpr Arithmetic onHost{0, 0x1p-24}, inBfloat{0x1p-8, 0x1p-23};
constexpr size_t allTokens = 40, fewTokens = 9;

/// The host's logits; and the same evaluated in double, with what a run may be off.
struct Oracle {
  std::vector<float> host;
  Rows ofHost, ofBfloat;
};

const Oracle &oracle() {
  static const Oracle made = [] {
    Oracle o;
    auto model = models::openModel(wideLayer());
    auto artifact = artifactOf(wideLayer());
    if (!model || !artifact)
      return o;
    o.host = logitsOn("", *artifact, promptOf(allTokens), 256);
    o.ofHost = boundedLogits(*model, promptOf(allTokens), onHost);
    o.ofBfloat = boundedLogits(*model, promptOf(allTokens), inBfloat);
    return o;
  }();
  return made;
}

/// Expects what a CUDA run found for the first positions near the host's; prints how much of the bound is used.
void expectNear(const std::vector<float> &found, const Rows &rows, size_t positions) {
  ASSERT_EQ(found.size(), positions * wideLayerVocab);
  ASSERT_LE(found.size(), oracle().host.size());
  double squares = 0, used = 0, largest = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    const size_t position = i / wideLayerVocab, token = i % wideLayerVocab;
    const double host = oracle().host[i], ofHost = deviations * oracle().ofHost[position][token].deviation;
    const Bounded &exact = rows[position][token];
    const double bound = deviations * exact.deviation + ofHost, off = std::fabs(found[i] - host);
    ASSERT_LE(off, bound) << "position " << position << ", token " << token;
    ASSERT_NEAR(host, exact.value, ofHost) << "the host's, position " << position << ", token " << token;
    squares += exact.value * exact.value;
    used = std::max(used, off / bound);
    largest = std::max(largest, bound);
  }
  const double typical = std::sqrt(squares / static_cast<double>(found.size()));
  EXPECT_LT(largest, 0.5 * typical) << "a bound that excludes nothing";
  std::printf("logits of about %.3g, bounds up to %.3g, used to %.0f %%\n", typical, largest, 100 * used);
}

class WideLayer : public testing::TestWithParam<std::string> {};

TEST_P(WideLayer, RoundedLogitsAgreeWithTheHost) {
  NEEDS_COMPILED("bf16");
  ASSERT_FALSE(oracle().host.empty());
  const std::string device = "virtual:" + GetParam();
  // Tiles of many tokens, then 7 at once; and steps of one token.
  expectNear(logitsOn(device, *compiledFor("bf16"), promptOf(allTokens), 33), oracle().ofBfloat, allTokens);
  expectNear(logitsOn(device, *compiledFor("bf16"), promptOf(fewTokens), 1), oracle().ofBfloat, fewTokens);
}

TEST_P(WideLayer, FloatLogitsAgreeWithTheHost) {
  if (!std::getenv("FUSEC_FULL"))
    GTEST_SKIP() << "for time, only with FUSEC_FULL";
  NEEDS_COMPILED("f32");
  ASSERT_FALSE(oracle().host.empty());
  expectNear(logitsOn("virtual:" + GetParam(), *compiledFor("f32"), promptOf(fewTokens), 8), oracle().ofHost,
             fewTokens);
}

/// Kernels that stream: all of a step of one token, but those that take single rows of packed panels (an embedding) or
/// write single elements of cache pages (an append), where sectors of 32 bytes hold what nobody asked for.
bool streams(const codegen::KernelTableRow &row, const std::string &text) {
  const bool gathers = text.find("const int token2 = tokens[") != std::string::npos;
  const bool appends = text.find("Page[") != std::string::npos && row.family == "elementwise";
  return row.tokens == 1 && !gathers && !appends && row.family != "angles";
}

TEST_P(WideLayer, KernelsMoveWhatThePlanSays) {
  NEEDS_COMPILED("bf16");
  const fs::path kernels = *compiledFor("bf16") / "kernels" / GetParam();
  auto table = codegen::readKernelTable(kernels / codegen::kernelTableName);
  ASSERT_TRUE(table) << table.status().message();
  const Status counted = countKernels(*compiledFor("bf16"), *table);
  ASSERT_TRUE(counted.ok()) << counted.message();
  int streaming = 0;
  for (const codegen::KernelTableRow &row : table->rows) {
    std::ifstream file(kernels / (row.entry + ".cu"));
    const std::string text(std::istreambuf_iterator<char>(file), {});
    ASSERT_FALSE(text.empty()) << row.entry;
    if (row.conflictFactor)
      EXPECT_LE(*row.conflictFactor, 1.05) << row.entry;
    if (!streams(row, text))
      continue;
    ++streaming;
    ASSERT_TRUE(row.predictedBytes && row.countedBytes) << row.entry;
    const double ratio = static_cast<double>(*row.countedBytes) / static_cast<double>(*row.predictedBytes);
    EXPECT_GE(ratio, 0.95) << row.entry << " (" << row.family << ")";
    EXPECT_LE(ratio, 1.05) << row.entry << " (" << row.family << ")";
    EXPECT_GE(*row.requestedBytes, *row.countedBytes) << row.entry;
  }
  EXPECT_GE(streaming, 8); // Two norms and the last, attention and its merge, four products and the head.
}

INSTANTIATE_TEST_SUITE_P(Targets, WideLayer, testing::Values("sm_80", "sm_90a"),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace fusec::e2e
