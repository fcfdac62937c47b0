//===- GgmlVectorsTest.cpp - published vectors for GGUF vocabularies -------===//
//
// shared/data/tokenizers/ggml-vocab: <vocab>.gguf.inp holds cases that end with
// the line "__ggml_vocab_test__", line k of <vocab>.gguf.out the ids of case k
// without BOS.
//
//===----------------------------------------------------------------------===//
#include "models/import/TokenizerImport.h"
#include "test/unit/runtime/text/VectorFile.h"

namespace fusec::text::test {
namespace {

class GgmlVectors : public testing::TestWithParam<const char *> {};

TEST_P(GgmlVectors, idsAndStreamedTextAgree) {
  std::filesystem::path base = dataDirectory() / "tokenizers/ggml-vocab" / (std::string("ggml-vocab-") + GetParam() + ".gguf");
  FUSEC_SKIP_WITHOUT(base);
  Result<models::Gguf> file = models::Gguf::open(base);
  ASSERT_TRUE(file.ok()) << file.status().message();
  Result<nlohmann::json> document = models::importTokenizer(*file);
  ASSERT_TRUE(document.ok()) << document.status().message();
  Result<Tokenizer> tokenizer = Tokenizer::parse(document->dump());
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  checkVectors(*tokenizer, base, 46);
}

INSTANTIATE_TEST_SUITE_P(Vocabularies, GgmlVectors, testing::Values("gpt-2", "mpt", "falcon", "phi-3"),
                         [](const auto &info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(GgmlVocabulary, wordPieceIsRefused) {
  std::filesystem::path path = dataDirectory() / "tokenizers/ggml-vocab/ggml-vocab-bert-bge.gguf";
  FUSEC_SKIP_WITHOUT(path);
  Result<models::Gguf> file = models::Gguf::open(path);
  ASSERT_TRUE(file.ok()) << file.status().message();
  Result<nlohmann::json> document = models::importTokenizer(*file);
  ASSERT_FALSE(document.ok());
  EXPECT_EQ(document.status().code(), ErrorCode::Unsupported);
  EXPECT_NE(document.status().message().find("'bert'"), std::string::npos) << document.status().message();
}

} // namespace
} // namespace fusec::text::test
