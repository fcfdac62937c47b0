//===- Qwen3Test.cpp - masks over a large byte-level vocabulary ------------------===//
#include "test/unit/runtime/grammar/GrammarTestSupport.h"

#include <zlib.h>

namespace fusec::grammar::test {
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

/// One test: loading the vocabulary takes most of its time.
TEST(Qwen3Masks, agreeWithAcceptAndHoldPartsOfCharacters) {
  std::filesystem::path file = dataDirectory() / "tokenizers/hf/qwen3/tokenizer.json.gz";
  if (!std::filesystem::exists(file))
    GTEST_SKIP() << file << " is not there";
  Result<text::Tokenizer> tokenizer = text::Tokenizer::parse(readGzip(file));
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  VocabularyPtr vocabulary = Vocabulary::fromTokenizer(*tokenizer);

  GrammarPtr emoji = compiled(compileGbnf("root ::= [😀-🙏]+ \".\"", vocabulary));
  GrammarPtr object = compiled(compileJsonObject(vocabulary));
  for (const auto &[grammar, text] :
       {std::pair(emoji, "🙏😀😃."), std::pair(object, R"({"a😀": "🙏é\u00e9", "n": [1.5, true]})")}) {
    Result<std::vector<TokenId>> ids = tokenizer->encode(text, {.addSpecial = false});
    ASSERT_TRUE(ids.ok());
    std::unique_ptr<Constraint> constraint = grammar->start();
    for (size_t i = 0; i < ids->size(); ++i) {
      // Inside a string most ids are accepted, each by a copy: seconds.
      if (i == 2 && (grammar == emoji || std::getenv("FUSEC_FULL")))
        expectAgreement(*constraint, *vocabulary);
      ASSERT_TRUE(constraint->accept((*ids)[i])) << vocabulary->piece((*ids)[i]);
    }
    EXPECT_TRUE(constraint->finished());
  }
  for (TokenId id = 0; id < vocabulary->size(); ++id)
    if (tokenizer->isSpecial(id))
      EXPECT_TRUE(vocabulary->piece(id).empty());
}

} // namespace
} // namespace fusec::grammar::test
