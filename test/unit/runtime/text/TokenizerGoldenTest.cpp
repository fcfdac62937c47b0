//===- TokenizerGoldenTest.cpp - against the Hugging Face implementation ---===//
//
// test/golden/tokenizer/make_goldens.py made the expectations.
//
//===----------------------------------------------------------------------===//
#include "test/unit/runtime/text/GoldenFile.h"

namespace fusec::text::test {
namespace {

TEST(TokenizerGolden, everyConfigurationAgrees) {
  Result<nlohmann::json> goldens = readJsonFile(goldenDirectory() / "behaviours.json");
  ASSERT_TRUE(goldens.ok()) << goldens.status().message();
  ASSERT_GE(goldens->size(), 25u);
  for (const nlohmann::json &golden : *goldens) {
    SCOPED_TRACE(golden["name"].get<std::string>());
    Result<Tokenizer> tokenizer = Tokenizer::parse(golden["tokenizer"].dump());
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
    checkCases(*tokenizer, golden["cases"]);
  }
}

/// The two committed-vocabulary-free goldens that need only tokenizer.json.
TEST(TokenizerGolden, phi3Mini) {
  std::filesystem::path file = dataDirectory() / "tokenizers/hf/phi-3-mini/tokenizer.json";
  FUSEC_SKIP_WITHOUT(file);
  Result<Tokenizer> tokenizer = Tokenizer::load(file);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  Result<nlohmann::json> golden = readJsonFile(goldenDirectory() / "phi-3-mini.json");
  ASSERT_TRUE(golden.ok()) << golden.status().message();
  checkCases(*tokenizer, (*golden)["cases"]);
}

TEST(TokenizerGolden, robertaAddsItsMarkers) {
  std::filesystem::path file = dataDirectory() / "tokenizers/hf/roberta-base/tokenizer.json";
  FUSEC_SKIP_WITHOUT(file);
  Result<Tokenizer> tokenizer = Tokenizer::load(file);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  Result<std::vector<TokenId>> ids = tokenizer->encode("Hello world");
  ASSERT_TRUE(ids.ok());
  EXPECT_EQ(*ids, (std::vector<TokenId>{0, 31414, 232, 2}));
  EXPECT_EQ(tokenizer->decode(*ids), "Hello world");
}

} // namespace
} // namespace fusec::text::test
