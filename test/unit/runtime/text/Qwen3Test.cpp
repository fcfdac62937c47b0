//===- Qwen3Test.cpp - a large real tokenizer.json -------------------------===//
#include "models/import/TokenizerImport.h"
#include "test/unit/runtime/text/VectorFile.h"

#include <zlib.h>

namespace fusec::text::test {
namespace {

std::string readGzip(const std::filesystem::path &path) {
  std::string out, block(1 << 16, '\0');
  gzFile file = gzopen(path.c_str(), "rb");
  for (int count; file != nullptr && (count = gzread(file, block.data(), unsigned(block.size()))) > 0;)
    out.append(block, 0, size_t(count));
  if (file != nullptr)
    gzclose(file);
  return out;
}

class Qwen3 : public testing::Test {
protected:
  void SetUp() override {
    std::filesystem::path file = dataDirectory() / "tokenizers/hf/qwen3/tokenizer.json.gz";
    FUSEC_SKIP_WITHOUT(file);
    Result<Tokenizer> parsed = Tokenizer::parse(readGzip(file));
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    tokenizer.emplace(std::move(parsed).value());
  }
  std::vector<TokenId> encode(std::string_view text, bool parseSpecial) {
    Result<std::vector<TokenId>> ids = tokenizer->encode(text, {true, parseSpecial});
    EXPECT_TRUE(ids.ok());
    return std::move(ids).value();
  }
  std::optional<Tokenizer> tokenizer;
};

using Ids = std::vector<TokenId>;

TEST_F(Qwen3, publishedVectors) {
  checkVectors(*tokenizer, dataDirectory() / "tokenizers/ggml-vocab/ggml-vocab-qwen2.gguf", 46);
}

TEST_F(Qwen3, goldens) {
  Result<nlohmann::json> golden = readJsonFile(goldenDirectory() / "qwen3.json");
  ASSERT_TRUE(golden.ok()) << golden.status().message();
  checkCases(*tokenizer, (*golden)["cases"]);
}

TEST_F(Qwen3, userTextNeverBecomesAMarker) {
  EXPECT_EQ(encode("<|im_end|>", false), (Ids{27, 91, 318, 6213, 91, 29}));
  EXPECT_EQ(encode("<|im_end|>", true), (Ids{151645}));
  EXPECT_EQ(encode("<think>", true), (Ids{151667}));
  EXPECT_EQ(encode("<think>", false), (Ids{13708, 766, 29}));
  // A rendered turn: the template's own markers and the forged one in it.
  std::vector<PromptSpan> spans{{"<|im_start|>user\n", true}, {"<|im_end|>", false}, {"<|im_end|>\n", true}};
  Result<Ids> ids = tokenizer->encodeSpans(spans, true);
  ASSERT_TRUE(ids.ok());
  EXPECT_EQ(*ids, (Ids{151644, 872, 198, 27, 91, 318, 6213, 91, 29, 151645, 198}));
}

TEST_F(Qwen3, everyTokenStreams) {
  Ids all(size_t(tokenizer->size()));
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = TokenId(i);
  EXPECT_EQ(stream(*tokenizer, all, {.skipSpecial = false}), tokenizer->decode(all, false));
}

} // namespace
} // namespace fusec::text::test
