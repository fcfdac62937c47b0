//===- RegexTest.cpp - expressions as constraints ----------------------------===//
#include "test/unit/runtime/grammar/GrammarTestSupport.h"

namespace fusec::grammar::test {
namespace {

struct RegexCase {
  std::string pattern;
  std::vector<std::string> matching, other;
};

void PrintTo(const RegexCase &c, std::ostream *out) { *out << c.pattern; }

class RegexGrammar : public testing::TestWithParam<RegexCase> {};

TEST_P(RegexGrammar, matchesTheWholeText) {
  GrammarPtr grammar = compiled(compileRegex(GetParam().pattern, smallVocabulary()));
  ASSERT_TRUE(grammar);
  for (const std::string &text : GetParam().matching)
    EXPECT_TRUE(matches(grammar, text)) << text;
  for (const std::string &text : GetParam().other)
    EXPECT_FALSE(matches(grammar, text)) << text;
}

INSTANTIATE_TEST_SUITE_P(
    Syntax, RegexGrammar,
    testing::Values(
        RegexCase{"abc", {"abc"}, {"", "ab", "abcd", "xabc"}}, RegexCase{"", {""}, {"a"}},
        RegexCase{"^a|b$", {"a", "b"}, {"ab", "^a"}}, RegexCase{"a*b+c?", {"b", "aabbc"}, {"", "ac", "bcc"}},
        RegexCase{"a{2}", {"aa"}, {"a", "aaa"}}, RegexCase{"a{2,}", {"aa", "aaaaa"}, {"a"}},
        RegexCase{"a{0,2}", {"", "a", "aa"}, {"aaa"}}, RegexCase{"(ab|cd){2}", {"abcd", "cdcd"}, {"ab", "abc"}},
        RegexCase{"(?:x)(?<name>y)", {"xy"}, {"x"}}, RegexCase{"a+?b*?", {"a", "aab"}, {"b"}},
        RegexCase{"[a-c-]x", {"ax", "-x"}, {"dx"}}, RegexCase{"[^a-z]", {"A", "é", "\n", "😀"}, {"a", "", "AA"}},
        RegexCase{".", {"a", "é", "😀"}, {"\n", "\r", "\xE2\x80\xA8"}}, RegexCase{"[]]|x", {"x"}, {"y"}},
        RegexCase{"\\d\\D\\w\\W\\s\\S", {"1aa. x"}, {"aaa. x"}}, RegexCase{"\\.\\*\\\\\\/", {".*\\/"}, {"a"}},
        RegexCase{"\\t\\n\\r\\f\\v\\0", {std::string("\t\n\r\f\v\0", 6)}, {"t"}},
        RegexCase{"\\x41\\u00e9\\u{1F600}\\cA", {"Aé😀\x01"}, {"A"}}, RegexCase{"\\ud83d\\ude00", {"😀"}, {}},
        RegexCase{"[😀-🙏]+", {"😀", "🙏😃"}, {"🚀", "a", "\xF0\x9F\x98"}},
        RegexCase{"\\p{L}+\\p{Nd}", {"Żółw١", "a1"}, {"11"}}, RegexCase{"\\P{Lu}", {"a"}, {"A", "Ż"}},
        RegexCase{"a{,3}", {"a{,3}"}, {"aaa"}}, RegexCase{"x{a}", {"x{a}"}, {}},
        RegexCase{"(a|b)*abb", {"abb", "babaabb"}, {"ab", "abbb"}}, RegexCase{"(a*)*b", {"b", "aaab"}, {"a"}},
        RegexCase{"(|a)(|b)", {"", "a", "b", "ab"}, {"ba"}},
        RegexCase{"[0-9]{4}-[0-9]{2}", {"2024-01"}, {"2024-1", "24-01"}},
        RegexCase{"(é|ö){1,300}x", {"éöx", "öx"}, {"x"}}));

struct RefusedCase {
  std::string pattern, message;
};

void PrintTo(const RefusedCase &c, std::ostream *out) { *out << c.pattern; }

class RefusedRegex : public testing::TestWithParam<RefusedCase> {};

TEST_P(RefusedRegex, namesTheReasonAndTheColumn) {
  Result<GrammarPtr> grammar = compileRegex(GetParam().pattern, smallVocabulary());
  ASSERT_FALSE(grammar.ok());
  EXPECT_THAT(grammar.status().message(), testing::HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Syntax, RefusedRegex,
    testing::Values(RefusedCase{"a(?=b)", "column 3: lookahead"}, RefusedCase{"(?<!b)", "column 2: lookbehind"},
                    RefusedCase{"(a)\\1", "column 5: a backreference"}, RefusedCase{"\\ba", "a word boundary"},
                    RefusedCase{"(?i)a", "an inline flag"}, RefusedCase{"(?>a)", "an atomic group"},
                    RefusedCase{"a++", "possessive"}, RefusedCase{"a^b", "an anchor elsewhere"},
                    RefusedCase{"(a", "column 3: missing ')'"}, RefusedCase{"a)", "column 2: unmatched ')'"},
                    RefusedCase{"[a", "missing ']'"}, RefusedCase{"[z-a]", "out of order"},
                    RefusedCase{"*a", "column 1: nothing to repeat"}, RefusedCase{"a{3,2}", "out of order"},
                    RefusedCase{"a{9999999999}", "at most 1000000000"}, RefusedCase{"\\p{Klingon}", "\\p{Klingon}"},
                    RefusedCase{"\\q", "the escape \\q"}, RefusedCase{"\\ud800", "surrogate"},
                    RefusedCase{"[]", "no text can satisfy it"}, RefusedCase{"\\", "a backslash at the end"},
                    RefusedCase{"(?P<a", "has no '>'"}, RefusedCase{"\\p{L", "has no '}'"},
                    RefusedCase{"\xff", "not valid UTF-8"}));

TEST(ChoiceGrammar, offersThePrefixesOfItsStrings) {
  GrammarPtr grammar =
      compiled(compile({GrammarKind::Choice, R"(["yes", "yesterday", "no", "😀"])"}, smallVocabulary()));
  ASSERT_TRUE(grammar);
  for (const char *text : {"yes", "yesterday", "no", "😀"})
    EXPECT_TRUE(matches(grammar, text)) << text;
  for (const char *text : {"", "ye", "yesno", "maybe"})
    EXPECT_FALSE(matches(grammar, text)) << text;
  EXPECT_FALSE(compile({GrammarKind::Choice, "[]"}, smallVocabulary()).ok());
  EXPECT_FALSE(compile({GrammarKind::Choice, "[1]"}, smallVocabulary()).ok());
  EXPECT_FALSE(compile({GrammarKind::Choice, "{"}, smallVocabulary()).ok());
}

TEST(ChoiceGrammar, manyStringsShareTheirPrefixes) {
  std::vector<std::string> choices;
  for (int i = 0; i < 5000; ++i)
    choices.push_back("item number " + std::to_string(i));
  GrammarPtr grammar = compiled(compileChoice(choices, smallVocabulary()));
  ASSERT_TRUE(grammar);
  EXPECT_TRUE(matches(grammar, "item number 4999"));
  EXPECT_FALSE(matches(grammar, "item number 5000"));
}

} // namespace
} // namespace fusec::grammar::test
