//===- PerplexityTest.cpp - perplexity of SmolLM2 on tinyshakespeare --------===//
//
// 16 windows of 1024 tokens, each from an empty cache (what `fusec eval
// --context-window 1024 --max-tokens 16384` scores), against float64 in numpy on
// the dequantised weights. The requirement is 0.2 %; found are 5e-8.
//
//===----------------------------------------------------------------------===//
#include "test/e2e/CompiledModels.h"
#include "test/e2e/ModelFiles.h"

#include "runtime/text/Tokenizer.h"

#include <cmath>
#include <fstream>
#include <iterator>

namespace fusec::e2e {
namespace {

std::string readText(const fs::path &path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(Perplexity, SmolLM2OnTinyShakespeare) {
  const fs::path model = smolLM2(), text = sharedData() / "text" / "tinyshakespeare.txt";
  FUSEC_NEEDS(model);
  FUSEC_NEEDS(text);
  const nlohmann::json known = golden("smollm2.json")["perplexity"];
  const auto expected = known["window_nll"].get<std::vector<double>>();
  const size_t length = known["window"];
  auto engine = openModel(model, {.contextTokens = static_cast<int64_t>(length)});
  ASSERT_TRUE(engine) << engine.status().message();
  auto ids = (*engine)->tokenizer().encode(readText(text), {});
  ASSERT_TRUE(ids) << ids.status().message();
  ASSERT_GE(ids->size(), known["tokens"].get<size_t>());
  EXPECT_EQ(std::vector<int>(ids->begin(), ids->begin() + 16), known["first_ids"].get<std::vector<int>>());

  double found = 0, reference = 0;
  for (size_t w = 0; w < expected.size(); ++w) {
    auto logprobs = (*engine)->logprobs(std::span(*ids).subspan(w * length, length));
    ASSERT_TRUE(logprobs) << logprobs.status().message();
    for (double value : *logprobs)
      found -= value;
    reference += expected[w];
    EXPECT_NEAR(found, reference, 1e-5 * reference) << "up to window " << w;
  }
  const double scored = static_cast<double>(expected.size() * (length - 1));
  const double perplexity = std::exp(found / scored), wanted = std::exp(reference / scored);
  RecordProperty("perplexity", std::to_string(perplexity));
  EXPECT_NEAR(perplexity, wanted, 0.002 * wanted);
}

} // namespace
} // namespace fusec::e2e
