//===- GbnfTest.cpp - GBNF grammars as constraints ----------------------------===//
#include "test/unit/runtime/grammar/GrammarTestSupport.h"

namespace fusec::grammar::test {
namespace {

struct GbnfCase {
  std::string grammar;
  std::vector<std::string> matching, other;
};

void PrintTo(const GbnfCase &c, std::ostream *out) { *out << c.grammar; }

class GbnfGrammars : public testing::TestWithParam<GbnfCase> {};

TEST_P(GbnfGrammars, matchTheWholeText) {
  GrammarPtr grammar = compiled(compileGbnf(GetParam().grammar, smallVocabulary()));
  ASSERT_TRUE(grammar);
  for (const std::string &text : GetParam().matching)
    EXPECT_TRUE(matches(grammar, text)) << text;
  for (const std::string &text : GetParam().other)
    EXPECT_FALSE(matches(grammar, text)) << text;
}

constexpr const char *kArithmetic = R"grammar(
# Right-recursive arithmetic.
root  ::= expr "=" ws term "\n"
expr  ::= term ([-+*/] ws term)*
term  ::= ident | num | "(" ws expr ")" ws
ident ::= [a-z] [a-z0-9_]* ws
num   ::= [0-9]+ ws
ws    ::= [ \t\n]*
)grammar";

INSTANTIATE_TEST_SUITE_P(
    Syntax, GbnfGrammars,
    testing::Values(
        GbnfCase{R"(root ::= "a" "b" | "c")", {"ab", "c"}, {"a", "abc"}},
        GbnfCase{"root ::= one |\n  two\none ::= \"1\" # a comment\n\ntwo ::= (\"2\"\n  \"3\")+",
                 {"1", "23", "2323"},
                 {"2"}},
        GbnfCase{"root ::= [a-c]{2,3} x?\nx ::= \"x\"", {"ab", "abcx"}, {"a", "abcd"}},
        GbnfCase{R"(root ::= "\x41\u00e9\U0001F600\"\\\n[\]")", {"Aé😀\"\\\n[]"}, {"A"}},
        GbnfCase{R"(root ::= [^"\\\]]+ .)", {"abc", "é😀"}, {"a", "\"\""}},
        GbnfCase{"root ::= [😀-🙏]+ \".\"", {"😀.", "🙏😃."}, {".", "🚀.", "😀"}},
        GbnfCase{kArithmetic, {"x=1\n", "(1 + x_1) * 2= 4\n", "((a))=b\n"}, {"=1\n", "(a=b\n", "x=1"}},
        GbnfCase{R"(root ::= "[" root "]" | "")", {"", "[]", "[[[]]]"}, {"[", "[]]"}},
        GbnfCase{R"(root ::= a{1000}
a ::= "a")",
                 {std::string(1000, 'a')},
                 {std::string(999, 'a'), std::string(1001, 'a')}},
        GbnfCase{R"(root ::= ("ab" | "a" | "b"){1000,1000000})", {std::string(1500, 'a')}, {std::string(999, 'a')}},
        GbnfCase{R"(root ::= ("a"*)* ("b"?)+)", {"", "aab", "bbb"}, {"ba"}},
        GbnfCase{R"(root ::= "a" empty "b"
empty ::= )",
                 {"ab"},
                 {"a"}},
        // Ambiguous: every split is followed at once.
        GbnfCase{R"(root ::= a a a "."
a ::= "x"*)",
                 {".", "xxxxxx."},
                 {"x"}}));

struct RefusedGbnf {
  std::string grammar, message;
};

void PrintTo(const RefusedGbnf &c, std::ostream *out) { *out << c.grammar; }

class RefusedGbnfs : public testing::TestWithParam<RefusedGbnf> {};

TEST_P(RefusedGbnfs, nameTheReasonAndThePlace) {
  Result<GrammarPtr> grammar = compileGbnf(GetParam().grammar, smallVocabulary());
  ASSERT_FALSE(grammar.ok());
  EXPECT_THAT(grammar.status().message(), testing::HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Syntax, RefusedGbnfs,
    testing::Values(RefusedGbnf{"", "no rule 'root'"}, RefusedGbnf{"a ::= \"x\"", "no rule 'root'"},
                    RefusedGbnf{"root ::= \"a\"\nroot ::= \"b\"", "line 2:1: rule 'root' is defined twice"},
                    RefusedGbnf{"root ::= \"a\"\n | other", "line 2:2: expected the name"},
                    RefusedGbnf{"root ::= x y", "line 1:10: rule 'x' is not defined"},
                    RefusedGbnf{"root ::= \"abc", "line 1:10: the literal has no closing"},
                    RefusedGbnf{"root ::= [abc", "no closing ']'"}, RefusedGbnf{"root ::= (\"a\"", "missing ')'"},
                    RefusedGbnf{"root ::= \"a\")", "unexpected ')'"}, RefusedGbnf{"root = \"a\"", "expected '::='"},
                    RefusedGbnf{"root ::= \"a\"{2,1}", "out of order"},
                    RefusedGbnf{"root ::= \"\\q\"", "unknown escape"},
                    RefusedGbnf{"root ::= <think>", "matching tokens"},
                    RefusedGbnf{"root ::= root \"a\" | \"b\"", "rule 'root' is left-recursive"},
                    RefusedGbnf{"root ::= e a \"x\" | \"y\"\na ::= root\ne ::= \"\"", "is left-recursive"},
                    RefusedGbnf{"root ::= root", "no text can satisfy it"},
                    RefusedGbnf{"root ::= \"a\" root", "no text can satisfy it"},
                    RefusedGbnf{"root ::= (\"a\"?){5000}", "of something that may be empty"}));

TEST(Gbnf, ruleThatCannotEndIsNotOffered) {
  GrammarPtr grammar =
      compiled(compileGbnf("root ::= \"a\" endless | \"b\"\nendless ::= \"x\" endless", smallVocabulary()));
  std::unique_ptr<Constraint> constraint = grammar->start();
  EXPECT_FALSE(constraint->accept(1 + 'a'));
  EXPECT_TRUE(constraint->accept(1 + 'b'));
  EXPECT_TRUE(constraint->finished());
}

} // namespace
} // namespace fusec::grammar::test
