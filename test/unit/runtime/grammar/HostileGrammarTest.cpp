//===- HostileGrammarTest.cpp - grammars from strangers -------------------------===//
//
// Each input ends with a grammar or one clear error, within seconds.
//
//===----------------------------------------------------------------------===//
#include "test/unit/runtime/grammar/GrammarTestSupport.h"

#include <chrono>

namespace fusec::grammar::test {
namespace {

std::string repeated(std::string_view text, size_t times) {
  std::string all;
  for (size_t i = 0; i < times; ++i)
    all += text;
  return all;
}

/// Compiles, and walks a little when it does.
Status attempt(const GrammarText &text) {
  auto begin = std::chrono::steady_clock::now();
  Limits limits;
  limits.seconds = 0.3;
  Result<GrammarPtr> grammar = compile(text, smallVocabulary(), limits);
  if (grammar) {
    std::unique_ptr<Constraint> constraint = (*grammar)->start();
    std::vector<uint32_t> mask(smallVocabulary()->maskWords());
    for (int step = 0; step < 30; ++step) {
      constraint->allowed(mask);
      for (TokenId id = 1; id < smallVocabulary()->size(); ++id)
        if (inMask(mask, id)) {
          EXPECT_TRUE(constraint->accept(id));
          break;
        }
    }
  }
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(took.count(), 4) << text.text.substr(0, 80);
  return grammar ? Status() : grammar.status();
}

/// Either outcome is fine, in time.
void endsSoon(const GrammarText &text) { (void)attempt(text); }

TEST(HostileRegex, deepNesting) {
  EXPECT_THAT(attempt({GrammarKind::Regex, repeated("(", 100'000)}).message(), testing::HasSubstr("nest deeper"));
  EXPECT_THAT(attempt({GrammarKind::Regex, "a" + repeated("{0,2}", 100'000)}).message(),
              testing::HasSubstr("nests deeper"));
  EXPECT_FALSE(attempt({GrammarKind::Regex, "a" + repeated("*", 100'000)}).ok());
}

TEST(HostileRegex, exponentialExpressionsAreLinear) {
  for (const char *pattern : {"(a*)*b", "(a|a)*b", "(a|aa)+b", "(x+x+)+y", "(.*a){20}", "([ab]*a[ab]{200})*c"})
    EXPECT_TRUE(attempt({GrammarKind::Regex, pattern}).ok()) << pattern;
  GrammarPtr grammar = compiled(compileRegex("(a|a|aa|aaa)*(a*)*b", smallVocabulary()));
  EXPECT_FALSE(matches(grammar, std::string(20000, 'a') + "c"));
}

TEST(HostileRegex, giantRepetitions) {
  EXPECT_TRUE(attempt({GrammarKind::Regex, "a{1000000000}"}).ok());
  EXPECT_TRUE(attempt({GrammarKind::Regex, "((((a{1000}){1000}){1000}){1000}){1000}"}).ok());
  endsSoon({GrammarKind::Regex, "(((a{0,100}){0,100}){0,100}){0,100}"});
  endsSoon({GrammarKind::Regex, repeated("(", 90) + "a" + repeated("+)+", 90)});
  endsSoon({GrammarKind::Regex, repeated("(\\p{L}|[^\\w\\s]){0,200}", 200)});
  endsSoon({GrammarKind::Regex, "(a|b|ab){0,1000000}(ab|ba){0,1000000}c"});
}

TEST(HostileGbnf, textsThatNestOrExplode) {
  EXPECT_THAT(attempt({GrammarKind::Gbnf, "root ::= " + repeated("(", 100'000)}).message(),
              testing::HasSubstr("nest deeper"));
  std::string chain = "root ::= r0\n";
  for (int i = 0; i < 20000; ++i)
    chain += "r" + std::to_string(i) + " ::= r" + std::to_string(i + 1) + " \"x\"?\n";
  endsSoon({GrammarKind::Gbnf, chain + "r20000 ::= \"y\"\n"});
  std::string doubling = "root ::= d0\n";
  for (int i = 0; i < 60; ++i)
    doubling += "d" + std::to_string(i) + " ::= d" + std::to_string(i + 1) + " d" + std::to_string(i + 1) + "\n";
  endsSoon({GrammarKind::Gbnf, doubling + "d60 ::= \"a\"?\n"});
  endsSoon({GrammarKind::Gbnf, "root ::= (\"a\" | \"b\" root | root2)*\nroot2 ::= \"a\" root | \"b\""});
  endsSoon({GrammarKind::Gbnf, "root ::= " + repeated("\"a\"? ", 100'000)});
}

TEST(HostileGbnf, ambiguityEndsWithAReason) {
  // Palindromes: a parse for each guess of the middle.
  Limits limits;
  limits.parallelStacks = 50;
  GrammarPtr grammar =
      compiled(compileGbnf("root ::= \"a\" root \"a\" | \"b\" root \"b\" | \"\"", smallVocabulary(), limits));
  std::unique_ptr<Constraint> constraint = grammar->start();
  std::vector<uint32_t> mask(smallVocabulary()->maskWords());
  int steps = 0;
  for (; steps < 500 && constraint->status().ok(); ++steps) {
    constraint->allowed(mask);
    for (TokenId id : {TokenId(1 + 'a'), TokenId(1 + 'b')})
      ASSERT_EQ(constraint->clone()->accept(id), inMask(mask, id));
    if (constraint->status().ok())
      constraint->accept(1 + 'a');
  }
  EXPECT_THAT(constraint->status().message(), testing::HasSubstr("too ambiguous"));
}

TEST(HostileGbnf, deepTextsEndWithAReason) {
  GrammarPtr grammar = compiled(compileGbnf("root ::= \"[\" root \"]\" | \"x\"", smallVocabulary()));
  std::unique_ptr<Constraint> constraint = grammar->start();
  for (int i = 0; i < 2000 && constraint->status().ok(); ++i)
    constraint->accept(1 + '[');
  EXPECT_THAT(constraint->status().message(), testing::HasSubstr("nests deeper than 500"));
  EXPECT_FALSE(constraint->accept(1 + '['));
}

TEST(HostileSchema, textsThatNestOrExplode) {
  EXPECT_FALSE(attempt({GrammarKind::JsonSchema, repeated("[", 100'000)}).ok());
  EXPECT_FALSE(attempt({GrammarKind::JsonSchema, repeated(R"({"items":)", 100'000)}).ok());
  EXPECT_THAT(attempt({GrammarKind::JsonSchema, repeated(R"({"allOf":[)", 300) + "{}" + repeated("]}", 300)}).message(),
              testing::HasSubstr("nest deeper"));
  endsSoon({GrammarKind::JsonSchema, repeated(R"({"items":)", 400) + "{}" + repeated("}", 400)});
  std::string doubling = "{\"$defs\":{";
  for (int i = 0; i < 30; ++i)
    doubling += "\"d" + std::to_string(i) + "\":{\"anyOf\":[{\"$ref\":\"#/$defs/d" + std::to_string(i + 1) +
                "\"},{\"$ref\":\"#/$defs/d" + std::to_string(i + 1) + "\"}]},";
  EXPECT_THAT(
      attempt({GrammarKind::JsonSchema, doubling + R"("d30":{"type":"string"}},"$ref":"#/$defs/d0"})"}).message(),
      testing::HasSubstr("more than 512 alternatives"));
  EXPECT_THAT(attempt({GrammarKind::JsonSchema, R"({"$ref":"#"})"}).message(), testing::HasSubstr("form a loop"));
  EXPECT_THAT(
      attempt({GrammarKind::JsonSchema, R"({"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]})"})
          .message(),
      testing::HasSubstr("no JSON value satisfies it"));
}

TEST(HostileSchema, patternsAndLengths) {
  EXPECT_FALSE(attempt({GrammarKind::JsonSchema, R"({"type":"string","pattern":"[ab]*a[ab]{40}$"})"}).ok());
  endsSoon({GrammarKind::JsonSchema, R"({"type":"string","pattern":"((a{0,90}){0,90}){0,90}"})"});
  EXPECT_TRUE(attempt({GrammarKind::JsonSchema, R"({"type":"string","minLength":900000000})"}).ok());
  EXPECT_TRUE(attempt({GrammarKind::JsonSchema, R"({"type":"array","minItems":900000000})"}).ok());
  endsSoon({GrammarKind::JsonSchema, R"({"type":"string","pattern":"^(ab)*$","minLength":900000000})"});
  endsSoon({GrammarKind::JsonSchema, R"({"minimum":1e308,"maximum":1e-308})"});
  EXPECT_TRUE(attempt({GrammarKind::JsonSchema, R"({"minimum":-1e300})"}).ok());
  std::string patterns = R"({"type":"object","patternProperties":{)";
  for (int i = 0; i < 40; ++i)
    patterns += (i ? ",\"" : "\"") + std::string("a.{") + std::to_string(i) + "}b\":{}";
  endsSoon({GrammarKind::JsonSchema, patterns + "}}"});
}

TEST(HostileSchema, manyProperties) {
  std::string schema = R"({"type":"object","additionalProperties":false,"properties":{)";
  for (int i = 0; i < 500; ++i)
    schema += (i ? ",\"" : "\"") + std::string("property") + std::to_string(i) + "\":{\"type\":\"integer\"}";
  Result<GrammarPtr> grammar = compileJsonSchema(schema + "}}", smallVocabulary());
  EXPECT_TRUE(grammar.ok()) << grammar.status().message();
}

TEST(HostileText, sizesAreLimited) {
  EXPECT_THAT(attempt({GrammarKind::Regex, std::string(2 << 20, 'a')}).message(),
              testing::HasSubstr("at most 1048576"));
  endsSoon({GrammarKind::Regex, std::string(1 << 20, 'a')});
  endsSoon({GrammarKind::Choice, "[\"" + std::string(1 << 19, 'a') + "\"]"});
}

} // namespace
} // namespace fusec::grammar::test
