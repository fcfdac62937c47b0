//===- SentencePieceImportTest.cpp - tokenizer.model files -----------------===//
#include "models/import/SentencePieceModel.h"
#include "models/import/TokenizerImport.h"
#include "test/unit/runtime/text/GoldenFile.h"

#include <cstring>
#include <random>

namespace fusec::text::test {
namespace {

using Ids = std::vector<TokenId>;

std::span<const std::byte> asBytes(const std::string &text) { return std::as_bytes(std::span(text)); }

/// Protobuf wire format, just enough to write a model.
struct Message {
  std::string bytes;
  Message &number(uint32_t field, uint64_t value) {
    varint(field << 3);
    varint(value);
    return *this;
  }
  Message &real(uint32_t field, float value) {
    varint(field << 3 | 5);
    bytes.append(reinterpret_cast<const char *>(&value), 4);
    return *this;
  }
  Message &text(uint32_t field, std::string_view value) {
    varint(field << 3 | 2);
    varint(value.size());
    bytes += value;
    return *this;
  }
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7)
      bytes += static_cast<char>(value | 0x80);
    bytes += static_cast<char>(value);
  }
};

std::string piece(std::string_view text, float score, int type) {
  return Message().text(1, text).real(2, score).number(3, uint64_t(type)).bytes;
}

Message smallModel(uint64_t modelType = 2, std::string_view charsmap = "") {
  Message model;
  model.text(1, piece("<unk>", 0, 2)).text(1, piece("<s>", 0, 3)).text(1, piece("</s>", 0, 3));
  float score = 0;
  for (const char *text : {"\u2581", "a", "b", "ab",
                           "\u2581"
                           "ab"})
    model.text(1, piece(text, score -= 1, 1));
  model.text(1, piece("[U]", 0, 4));
  model.text(2,
             Message().number(3, modelType).number(40, 0).number(41, 1).number(42, 2).number(43, uint64_t(-1)).bytes);
  model.text(3, Message().text(1, "identity").text(2, charsmap).number(3, 1).number(4, 0).bytes);
  return model;
}

TEST(SentencePieceImport, smallModel) {
  Result<nlohmann::json> document = models::importSentencePiece(asBytes(smallModel().bytes));
  ASSERT_TRUE(document.ok()) << document.status().message();
  Result<Tokenizer> tokenizer = Tokenizer::parse(document->dump());
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  EXPECT_EQ(*tokenizer->encode("abab"), (Ids{1, 7, 6}));
  EXPECT_EQ(*tokenizer->encode("a?"), (Ids{1, 3, 4, 0}));
  EXPECT_EQ(*tokenizer->encode("[U]", {.parseSpecial = true}), (Ids{1, 8}));
  EXPECT_EQ(tokenizer->endIds(), (Ids{2}));
  EXPECT_EQ(tokenizer->decode(Ids{1, 7, 6}), "abab");
}

TEST(SentencePieceImport, otherKindsAreRefused) {
  Result<nlohmann::json> unigram = models::importSentencePiece(asBytes(smallModel(1).bytes));
  ASSERT_FALSE(unigram.ok());
  EXPECT_EQ(unigram.status().code(), ErrorCode::Unsupported);
  EXPECT_NE(unigram.status().message().find("unigram"), std::string::npos);
  EXPECT_EQ(models::importSentencePiece(asBytes(smallModel(2, "xx").bytes)).status().code(), ErrorCode::Unsupported);
  EXPECT_EQ(models::importSentencePiece({}).status().code(), ErrorCode::CorruptData);
}

TEST(SentencePieceImport, damageNeverCrashes) {
  std::mt19937 random(9);
  const std::string original = smallModel().bytes;
  for (int round = 0; round < 10000; ++round) {
    std::string damaged = original;
    if (round % 4 == 3)
      damaged.resize(random() % damaged.size());
    for (unsigned flips = random() % 3; flips > 0 && !damaged.empty(); --flips)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    Result<nlohmann::json> document = models::importSentencePiece(asBytes(damaged));
    EXPECT_TRUE(document.ok() || !document.status().message().empty());
  }
}

struct Sample {
  const char *model;
  const char *version;
  const char *name;
};

class MistralSamples : public testing::TestWithParam<Sample> {};

/// The samples show text with every space as U+2581 and line feeds as byte
/// tokens; each stretch after a marker begins with SentencePiece's own space.
std::string promptOf(std::string text, const std::vector<std::string> &markers) {
  for (size_t at; (at = text.find("\u2581")) != std::string::npos;)
    text.replace(at, 3, " ");
  for (size_t at; (at = text.find("<0x0A>")) != std::string::npos;)
    text.replace(at, 6, "\n");
  for (const std::string &marker : markers)
    for (size_t at = 0; (at = text.find(marker + " ", at)) != std::string::npos; at += marker.size())
      text.erase(at + marker.size(), 1);
  return text;
}

TEST_P(MistralSamples, textGivesThePublishedIds) {
  std::filesystem::path base = dataDirectory() / "tokenizers/mistral";
  FUSEC_SKIP_WITHOUT(base / GetParam().model);
  std::string model = readFile(base / GetParam().model);
  Result<nlohmann::json> document = models::importSentencePiece(asBytes(model));
  ASSERT_TRUE(document.ok()) << document.status().message();
  Result<Tokenizer> tokenizer = Tokenizer::parse(document->dump());
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  std::vector<std::string> markers;
  for (const nlohmann::json &token : (*document)["added_tokens"])
    markers.push_back(token["content"].get<std::string>());
  std::filesystem::path sample = base / "samples" / GetParam().name;
  std::string version = GetParam().version;
  std::string prompt = promptOf(readFile(sample / ("text_" + version + ".txt")), markers);
  Result<nlohmann::json> expected = readJsonFile(sample / ("tokens_" + version + ".json"));
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  Result<Ids> ids = tokenizer->encode(prompt, {.addSpecial = false, .parseSpecial = true});
  ASSERT_TRUE(ids.ok()) << ids.status().message();
  EXPECT_EQ(*ids, (*expected)["tokens"].get<Ids>());
}

constexpr const char *kV1 = "tokenizer.model.v1", *kV3 = "mistral_instruct_tokenizer_240323.model.v3";
INSTANTIATE_TEST_SUITE_P(All, MistralSamples,
                         testing::Values(Sample{kV1, "v1", "no_tools"}, Sample{kV3, "v3", "no_tools"},
                                         Sample{kV3, "v3", "several_calls"}, Sample{kV3, "v3", "parallel_calls"},
                                         Sample{kV3, "v3", "get_weather_full"},
                                         Sample{kV3, "v3", "get_weather_no_history"},
                                         Sample{kV3, "v3", "get_weather_no_system_prompt"}),
                         [](const auto &info) { return std::string(info.param.name) + "_" + info.param.version; });

TEST(SentencePieceImport, unigramTestModelsAreRefused) {
  for (const char *name : {"test_model.model", "test_ja_model.model"}) {
    std::filesystem::path path = dataDirectory() / "tokenizers/sentencepiece" / name;
    FUSEC_SKIP_WITHOUT(path);
    std::string model = readFile(path);
    Result<nlohmann::json> document = models::importSentencePiece(asBytes(model));
    ASSERT_FALSE(document.ok());
    EXPECT_EQ(document.status().code(), ErrorCode::Unsupported);
  }
}

} // namespace
} // namespace fusec::text::test
