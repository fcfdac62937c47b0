//===- Utf8Test.cpp --------------------------------------------------------===//
#include "runtime/text/Utf8.h"
#include "runtime/text/ByteLevel.h"

#include <gtest/gtest.h>

#include <random>

namespace fusec::text {
namespace {

TEST(Utf8, everyCodePointRoundTrips) {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF)
      continue;
    std::string text;
    appendUtf8(text, c);
    CodePoint decoded = decodeUtf8(text, 0);
    ASSERT_TRUE(decoded.valid) << std::hex << uint32_t(c);
    ASSERT_EQ(decoded.value, c);
    ASSERT_EQ(decoded.length, text.size());
    ASSERT_EQ(utf8Length(text[0]), text.size());
  }
}

TEST(Utf8, illFormedSequencesFollowTheStandard) {
  // Table 3-8 and friends of the Unicode standard: one U+FFFD per maximal part.
  const std::string r(kReplacementCharacter);
  EXPECT_EQ(replaceInvalidUtf8("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82"
                               "A"),
            r + r + r + r + r + r + r + r + "A");
  EXPECT_EQ(replaceInvalidUtf8("\xED\xA0\x80\xED\xBF\xBF\xED\xAF"
                               "A"),
            r + r + r + r + r + r + r + r + "A");
  EXPECT_EQ(replaceInvalidUtf8("\xF4\x91\x92\x93\xFF"
                               "A\x80\xBF"
                               "B"),
            r + r + r + r + r + "A" + r + r + "B");
  EXPECT_EQ(replaceInvalidUtf8("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF"
                               "A"),
            r + r + r + r + "A");
}

TEST(Utf8, onlyAProperPrefixIsTruncated) {
  EXPECT_TRUE(decodeUtf8("\xF0\x9F\xA6", 0).truncated);
  EXPECT_TRUE(decodeUtf8("\xC3", 0).truncated);
  EXPECT_FALSE(decodeUtf8("\xE0\x80", 0).truncated);
  EXPECT_FALSE(decodeUtf8("\xFF", 0).truncated);
  EXPECT_FALSE(decodeUtf8("\x80", 0).truncated);
}

TEST(Utf8, replacementMakesAnyBytesValid) {
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes(random() % 24, '\0');
    for (char &byte : bytes)
      byte = static_cast<char>(random());
    EXPECT_TRUE(isValidUtf8(replaceInvalidUtf8(bytes)));
  }
}

TEST(ByteLevel, alphabetIsABijection) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte)
    all += static_cast<char>(byte);
  std::string spelled = bytesToAlphabet(all);
  EXPECT_TRUE(isValidUtf8(spelled));
  EXPECT_EQ(alphabetToBytes(spelled), all);
  EXPECT_EQ(bytesToAlphabet(" \n"), "\xC4\xA0\xC4\x8A"); // U+0120 U+010A
  EXPECT_FALSE(alphabetToBytes(" ").has_value());
}

} // namespace
} // namespace fusec::text
