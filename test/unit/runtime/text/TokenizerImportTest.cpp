//===- TokenizerImportTest.cpp - GGUF metadata and HF directories ----------===//
#include "models/import/TokenizerImport.h"
#include "test/unit/models/GgufImage.h"
#include "test/unit/models/TempDirectory.h"
#include "test/unit/runtime/text/GoldenFile.h"
#include "test/unit/runtime/text/SmallTokenizer.h"

#include <cstdlib>
#include <random>

namespace fusec::text::test {
namespace {

using Ids = std::vector<TokenId>;
using models::Gguf;
using models::GgufImage;
using models::GgufType;

template <typename T> std::string arrayOf(GgufType type, const std::vector<T> &values) {
  models::ByteWriter writer;
  writer.put(uint32_t(type)).put(uint64_t(values.size()));
  for (T value : values)
    writer.put(value);
  return writer.bytes;
}

/// 256 byte tokens, " a", "<|end|>" (control).
GgufImage byteLevelImage(std::string_view pre) {
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte)
    tokens.push_back(bytesToAlphabet(std::string(1, char(byte))));
  tokens.push_back(bytesToAlphabet(" a"));
  tokens.push_back("<|end|>");
  std::vector<int32_t> types(tokens.size(), 1);
  types.back() = 3;
  GgufImage image;
  image.text("general.architecture", "llama").text("tokenizer.ggml.model", "gpt2");
  if (!pre.empty())
    image.text("tokenizer.ggml.pre", pre);
  image.strings("tokenizer.ggml.tokens", tokens)
      .entry("tokenizer.ggml.token_type", GgufType::Array, arrayOf(GgufType::Int32, types))
      .strings("tokenizer.ggml.merges", {bytesToAlphabet(" ") + " a"})
      .u32("tokenizer.ggml.eos_token_id", 257);
  return image;
}

Result<nlohmann::json> import(const GgufImage &image) {
  std::string bytes = image.build();
  Result<Gguf> file = Gguf::parse(models::asBytes(bytes));
  return file ? models::importTokenizer(*file) : Result<nlohmann::json>(file.status());
}

TEST(TokenizerImport, everyPreTokenizerInTheTableLoads) {
  int rows = 0;
  for (const char *pre : {
#define FUSEC_PRE_NAME(name, family) name,
#include "models/import/PreTokenizers.def"
       }) {
    SCOPED_TRACE(pre);
    Result<nlohmann::json> document = import(byteLevelImage(pre));
    ASSERT_TRUE(document.ok()) << document.status().message();
    Tokenizer tokenizer = load(*document);
    Result<Ids> ids = tokenizer.encode("a a1<|end|>", {.addSpecial = false, .parseSpecial = true});
    ASSERT_TRUE(ids.ok()) << ids.status().message();
    EXPECT_EQ(*ids, (Ids{'a', 256, '1', 257}));
    EXPECT_EQ(tokenizer.endIds(), (Ids{257}));
    ++rows;
  }
  EXPECT_GE(rows, 20);
}

TEST(TokenizerImport, unknownPreTokenizerIsRefused) {
  Result<nlohmann::json> document = import(byteLevelImage("klingon-bpe"));
  ASSERT_FALSE(document.ok());
  EXPECT_EQ(document.status().code(), ErrorCode::Unsupported);
  EXPECT_NE(document.status().message().find("'klingon-bpe'"), std::string::npos) << document.status().message();
  EXPECT_TRUE(import(byteLevelImage("")).ok()) << "no name means the default expressions";
}

TEST(TokenizerImport, ggufContradictionsAreRefused) {
  EXPECT_EQ(import(GgufImage().text("tokenizer.ggml.model", "t5")).status().code(), ErrorCode::Unsupported);
  EXPECT_EQ(import(GgufImage()).status().code(), ErrorCode::NotFound);
  auto expectCorrupt = [](const GgufImage &image, const char *says) {
    Result<nlohmann::json> document = import(image);
    ASSERT_FALSE(document.ok());
    EXPECT_EQ(document.status().code(), ErrorCode::CorruptData);
    EXPECT_NE(document.status().message().find(says), std::string::npos) << document.status().message();
  };
  auto llama = [] {
    return GgufImage().text("tokenizer.ggml.model", "llama").strings("tokenizer.ggml.tokens", {"<unk>", "a"});
  };
  expectCorrupt(llama(), "scores");
  auto scored = [&](std::vector<float> scores) {
    return llama().entry("tokenizer.ggml.scores", GgufType::Array, arrayOf(GgufType::Float32, scores));
  };
  expectCorrupt(scored({1}), "2 tokens, 1 scores");
  expectCorrupt(
      scored({1, 2}).entry("tokenizer.ggml.token_type", GgufType::Array, arrayOf<int32_t>(GgufType::Int32, {1, 9})),
      "9 is not a token type");
  expectCorrupt(scored({1, 2}).u32("tokenizer.ggml.bos_token_id", 2), "outside the vocabulary");
  expectCorrupt(GgufImage()
                    .text("tokenizer.ggml.model", "gpt2")
                    .text("tokenizer.ggml.pre", "gpt-2")
                    .strings("tokenizer.ggml.tokens", {"\xFF"})
                    .strings("tokenizer.ggml.merges", {}),
                "not valid UTF-8");
}

TEST(TokenizerImport, damagedGgufNeverCrashes) {
  std::mt19937 random(4);
  const std::string original = byteLevelImage("qwen2").build();
  for (int round = 0; round < 2000; ++round) {
    std::string damaged = original;
    for (unsigned flips = 1 + random() % 3; flips > 0; --flips)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    if (Result<Gguf> file = Gguf::parse(models::asBytes(damaged)))
      (void)models::importTokenizer(*file).ok();
  }
}

TEST(TokenizerImport, stories260KTokenizesItsStory) {
  std::filesystem::path directory = dataDirectory() / "models/stories260K";
  FUSEC_SKIP_WITHOUT(directory / "stories260K-f32.gguf");
  Result<Gguf> file = Gguf::open(directory / "stories260K-f32.gguf");
  ASSERT_TRUE(file.ok()) << file.status().message();
  Result<nlohmann::json> document = models::importTokenizer(*file);
  ASSERT_TRUE(document.ok()) << document.status().message();
  Tokenizer tokenizer = load(*document);
  Result<nlohmann::json> expected = readJsonFile(directory / "expected_greedy.json");
  ASSERT_TRUE(expected.ok());
  auto ids = (*expected)["ids"].get<Ids>();
  auto text = (*expected)["text"].get<std::string>();
  EXPECT_EQ(tokenizer.size(), 512);
  EXPECT_EQ(tokenizer.decode(ids), text);
  EXPECT_EQ(stream(tokenizer, ids), text);
  EXPECT_EQ(tokenizer.bosId(), 1);
  EXPECT_EQ(tokenizer.endIds(), (Ids{2}));
  Result<Ids> again = tokenizer.encode("Once upon a time");
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, (Ids{1, 403, 407, 261, 378}));
}

TEST(TokenizerImport, smolLm2Goldens) {
  const char *path = std::getenv("FUSEC_SMOLLM2");
  if (path == nullptr || !std::filesystem::exists(path))
    GTEST_SKIP() << "needs FUSEC_SMOLLM2, the path of a SmolLM2 GGUF";
  Result<Gguf> file = Gguf::open(path);
  ASSERT_TRUE(file.ok()) << file.status().message();
  Result<nlohmann::json> document = models::importTokenizer(*file);
  ASSERT_TRUE(document.ok()) << document.status().message();
  Tokenizer tokenizer = load(*document);
  EXPECT_EQ(tokenizer.size(), 49152);
  EXPECT_EQ(tokenizer.endIds(), (Ids{0, 2}));
  Result<nlohmann::json> golden = readJsonFile(goldenDirectory() / "smollm2.json");
  ASSERT_TRUE(golden.ok()) << golden.status().message();
  checkCases(tokenizer, (*golden)["cases"]);
}

TEST(TokenizerImport, phi3DirectoryEndsItsTurns) {
  std::filesystem::path directory = dataDirectory() / "tokenizers/hf/phi-3-mini";
  FUSEC_SKIP_WITHOUT(directory);
  Result<nlohmann::json> document = models::importTokenizer(directory);
  ASSERT_TRUE(document.ok()) << document.status().message();
  Tokenizer tokenizer = load(*document);
  EXPECT_EQ(tokenizer.bosId(), 1);
  EXPECT_EQ(tokenizer.eosId(), 32000);
  EXPECT_EQ(tokenizer.endIds(), (Ids{32000, 32007}));
  EXPECT_EQ(*tokenizer.encode("Hello"), (Ids{15043})) << "add_bos_token is false";
}

TEST(TokenizerImport, unigramDirectoryIsRefused) {
  std::filesystem::path directory = dataDirectory() / "tokenizers/hf/t5-small";
  FUSEC_SKIP_WITHOUT(directory);
  EXPECT_EQ(models::importTokenizer(directory).status().code(), ErrorCode::Unsupported);
}

TEST(TokenizerImport, companionFilesRefineADirectory) {
  TempDirectory directory;
  directory.write("tokenizer.json", byteLevelDocument({{" ", "a"}}).dump());
  directory.write(
      "tokenizer_config.json",
      R"({"tokenizer_class":"LlamaTokenizerFast","add_bos_token":true,"bos_token":{"content":"<|bos|>"},"eos_token":"<|end|>",
                      "added_tokens_decoder":{"259":{"content":"<|bos|>","special":true}}})");
  directory.write("generation_config.json", R"({"eos_token_id":[257,258]})");
  Result<nlohmann::json> document = models::importTokenizer(directory.path());
  ASSERT_TRUE(document.ok()) << document.status().message();
  Tokenizer tokenizer = load(*document);
  EXPECT_EQ(tokenizer.bosId(), 259);
  EXPECT_EQ(tokenizer.eosId(), 257);
  EXPECT_EQ(tokenizer.endIds(), (Ids{257, 258}));
  EXPECT_EQ(*tokenizer.encode(" a"), (Ids{259, 256}));
}

TEST(TokenizerImport, emptyDirectoryIsRefused) {
  TempDirectory directory;
  Result<nlohmann::json> document = models::importTokenizer(directory.path());
  ASSERT_FALSE(document.ok());
  EXPECT_EQ(document.status().code(), ErrorCode::NotFound);
}

} // namespace
} // namespace fusec::text::test
