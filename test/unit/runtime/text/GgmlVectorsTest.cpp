//===- GgmlVectorsTest.cpp - published vectors for GGUF vocabularies -------===//
//
// shared/data/tokenizers/ggml-vocab: <vocab>.gguf.inp holds cases that end with
// the line "__ggml_vocab_test__", line k of <vocab>.gguf.out the ids of case k
// without BOS. Vocabularies missing there are looked for in the directory
// FUSEC_GGML_VOCABS (models/ of llama.cpp, also inside llama-cpp-python's
// source archive).
//
//===----------------------------------------------------------------------===//
#include "models/import/TokenizerImport.h"
#include "test/unit/runtime/text/VectorFile.h"

#include <cstdlib>

namespace fusec::text::test {
namespace {

struct Vocabulary {
  const char *vocabulary;
  size_t cases = 46;
};

class GgmlVectors : public testing::TestWithParam<Vocabulary> {};

std::filesystem::path findVocabulary(const std::string &name) {
  std::filesystem::path shared = dataDirectory() / "tokenizers/ggml-vocab" / name;
  const char *more = std::getenv("FUSEC_GGML_VOCABS");
  return std::filesystem::exists(shared) || more == nullptr ? shared : std::filesystem::path(more) / name;
}

TEST_P(GgmlVectors, idsAndStreamedTextAgree) {
  std::string name = std::string("ggml-vocab-") + GetParam().vocabulary + ".gguf";
  std::filesystem::path vocabulary = findVocabulary(name);
  FUSEC_SKIP_WITHOUT(vocabulary);
  Result<models::Gguf> file = models::Gguf::open(vocabulary);
  ASSERT_TRUE(file.ok()) << file.status().message();
  Result<nlohmann::json> document = models::importTokenizer(*file);
  ASSERT_TRUE(document.ok()) << document.status().message();
  Result<Tokenizer> tokenizer = Tokenizer::parse(document->dump());
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  checkVectors(*tokenizer, dataDirectory() / "tokenizers/ggml-vocab" / name, GetParam().cases);
}

INSTANTIATE_TEST_SUITE_P(Vocabularies, GgmlVectors,
                         testing::Values(Vocabulary{"gpt-2"}, Vocabulary{"mpt"}, Vocabulary{"falcon"},
                                         Vocabulary{"phi-3"}, Vocabulary{"qwen2"}, Vocabulary{"qwen35", 50},
                                         Vocabulary{"llama-bpe"}, Vocabulary{"llama-spm"}, Vocabulary{"command-r"},
                                         Vocabulary{"deepseek-llm"}, Vocabulary{"deepseek-coder"},
                                         Vocabulary{"starcoder"}, Vocabulary{"refact"}),
                         [](const auto &info) {
                           std::string name = info.param.vocabulary;
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
