//===- DetokenizerTest.cpp -------------------------------------------------===//
#include "test/unit/runtime/text/GoldenFile.h"
#include "test/unit/runtime/text/SmallTokenizer.h"

#include <random>

namespace fusec::text::test {
namespace {

const std::string kReplacement(kReplacementCharacter);

TEST(Detokenizer, holdsACharacterUntilItIsWhole) {
  Tokenizer tokenizer = load(byteLevelDocument({}));
  Detokenizer detokenizer(tokenizer);
  EXPECT_EQ(detokenizer.push(0xF0), "");
  EXPECT_EQ(detokenizer.push(0x9F), "");
  EXPECT_EQ(detokenizer.push(0xA6), "");
  EXPECT_EQ(detokenizer.push(0x99), "\xF0\x9F\xA6\x99");
  EXPECT_EQ(detokenizer.finish(), "");
}

TEST(Detokenizer, invalidBytesAreReplacedAtOnce) {
  Tokenizer tokenizer = load(byteLevelDocument({}));
  Detokenizer detokenizer(tokenizer);
  EXPECT_EQ(detokenizer.push(0xFF), kReplacement);
  EXPECT_EQ(detokenizer.push(0xE3), "");
  EXPECT_EQ(detokenizer.push('a'), kReplacement + "a");
  EXPECT_EQ(detokenizer.push(0x80), kReplacement);
}

TEST(Detokenizer, danglingTailIsFlushedOnce) {
  Tokenizer tokenizer = load(byteLevelDocument({}));
  Detokenizer detokenizer(tokenizer);
  EXPECT_EQ(detokenizer.push('x'), "x");
  EXPECT_EQ(detokenizer.push(0xF0), "");
  EXPECT_EQ(detokenizer.push(0x9F), "");
  EXPECT_EQ(detokenizer.finish(), kReplacement);
  EXPECT_EQ(detokenizer.finish(), "");
}

TEST(Detokenizer, specialTokensAndStrangeIds) {
  Tokenizer tokenizer = load(byteLevelDocument({}));
  std::vector<TokenId> ids{'a', 256, 257, -1, 1 << 30, 'b'};
  EXPECT_EQ(stream(tokenizer, ids), "a<think>b");
  EXPECT_EQ(stream(tokenizer, ids, {.skipSpecial = false}), "a<|end|><think>b");
}

TEST(Detokenizer, leadingSpaceBelongsToTheStartOfATextOnly) {
  Tokenizer tokenizer = load(sentencePieceDocument({"\u2581", "a",
                                                    "\u2581"
                                                    "a"}));
  std::vector<TokenId> ids{1, 261, 261};
  EXPECT_EQ(stream(tokenizer, ids), "a a");
  EXPECT_EQ(stream(tokenizer, ids, {.continuesText = true}), " a a");
}

TEST(Detokenizer, deltasJoinToDecodeForRandomIds) {
  std::mt19937 random(5);
  for (const nlohmann::json &document : {byteLevelDocument({{" ", "a"}, {"\xE6", "\x97"}, {"\xA5", "\xE6"}}),
                                         sentencePieceDocument({"\u2581", "a", "\u65E5", "\u2581\u65E5"})}) {
    Tokenizer tokenizer = load(document);
    for (int round = 0; round < 3000; ++round) {
      std::vector<TokenId> ids(random() % 20);
      for (TokenId &id : ids)
        id = static_cast<TokenId>(random() % static_cast<unsigned>(tokenizer.size()));
      std::string bytes;
      for (TokenId id : ids)
        bytes += tokenizer.piece(id);
      EXPECT_EQ(stream(tokenizer, ids, {.skipSpecial = false, .continuesText = true}), replaceInvalidUtf8(bytes));
      EXPECT_EQ(stream(tokenizer, ids), tokenizer.decode(ids));
    }
  }
}

} // namespace
} // namespace fusec::text::test
