//===- RegexTest.cpp -------------------------------------------------------===//
#include "runtime/text/Regex.h"

#include <gtest/gtest.h>

namespace fusec::text {
namespace {

std::vector<std::string> matches(std::string_view pattern, const std::string &text) {
  Result<Regex> regex = Regex::compile(pattern);
  EXPECT_TRUE(regex.ok()) << regex.status().message();
  std::vector<TextRange> ranges;
  RegexScanner scanner(*regex);
  Status status = scanner.findAll(text, ranges);
  EXPECT_TRUE(status.ok()) << status.message();
  std::vector<std::string> out;
  for (const TextRange &range : ranges)
    out.push_back(text.substr(range.begin, range.end - range.begin));
  return out;
}

using Strings = std::vector<std::string>;

TEST(Regex, whiteSpaceIsUnicodes) {
  EXPECT_EQ(matches(R"(\s+)", "a\xC2\x85"
                              "b\xE1\xA0\x8E"
                              "c\xE3\x80\x80"),
            (Strings{"\xC2\x85", "\xE3\x80\x80"})); // U+180E is none
  EXPECT_EQ(matches(R"([^\s]+)", "ab \xC2\xA0"
                                 "c"),
            (Strings{"ab", "c"}));
  EXPECT_EQ(matches(R"(\w+)", "e\xCC\x81 a_b-1"), (Strings{"e\xCC\x81", "a_b", "1"}));
}

TEST(Regex, caretAndDollarMeanLines) { EXPECT_EQ(matches(R"(^a|b$)", "ab\nab"), (Strings{"a", "b", "a", "b"})); }

TEST(Regex, bracketsKeepTheirMeaning) {
  EXPECT_EQ(matches(R"([]a]+)", "]a]b"), (Strings{"]a]"}));
  EXPECT_EQ(matches(R"([^]a]+)", "]xb"), (Strings{"xb"}));
  EXPECT_EQ(matches(R"([[:alpha:]]+)", "ab1"), (Strings{"ab"}));
  EXPECT_EQ(matches(R"([\[\]]+)", "a[]"), (Strings{"[]"}));
}

TEST(Regex, emptyMatchesAreSkipped) { EXPECT_EQ(matches("a*", "baab"), (Strings{"aa"})); }

TEST(Regex, literalsAreTakenLiterally) {
  Result<Regex> regex = Regex::literal(std::string("a.*\0\xE2\x96\x81", 7));
  ASSERT_TRUE(regex.ok()) << regex.status().message();
  std::vector<TextRange> ranges;
  RegexScanner scanner(*regex);
  ASSERT_TRUE(scanner.findAll(std::string("xa.*\0\xE2\x96\x81", 8), ranges).ok());
  EXPECT_EQ(ranges, (std::vector<TextRange>{{1, 8}}));
}

TEST(Regex, refusesWhatItCannotCarryOver) {
  EXPECT_EQ(Regex::compile("[a-z&&[^b]]").status().code(), ErrorCode::Unsupported);
  EXPECT_EQ(Regex::compile("[a[b]]").status().code(), ErrorCode::Unsupported);
  EXPECT_EQ(Regex::compile("(").status().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(Regex::compile("\\C").status().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(Regex::compile(std::string(1 << 17, 'a')).status().code(), ErrorCode::InvalidArgument);
}

TEST(Regex, catastrophicBacktrackingEndsInAnError) {
  Result<Regex> regex = Regex::compile("(x+x+)+[yz]");
  ASSERT_TRUE(regex.ok());
  std::vector<TextRange> ranges;
  RegexScanner scanner(*regex);
  Status status = scanner.findAll(std::string(60, 'x'), ranges);
  EXPECT_EQ(status.code(), ErrorCode::ResourceExhausted);
  EXPECT_NE(status.message().find("match limit"), std::string::npos) << status.message();
}

} // namespace
} // namespace fusec::text
