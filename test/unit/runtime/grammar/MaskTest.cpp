//===- MaskTest.cpp - masks over vocabularies ---------------------------------===//
#include "runtime/grammar/GrammarCache.h"
#include "test/unit/runtime/grammar/GrammarTestSupport.h"

#include <chrono>
#include <thread>

namespace fusec::grammar::test {
namespace {

/// Grammars that exercise every kind of frame: strings, keys, counters, ambiguity, nesting.
const std::vector<GrammarText> &grammars() {
  static const std::vector<GrammarText> all = {
      {GrammarKind::JsonObject, ""},
      {GrammarKind::JsonSchema,
       R"({"type": "array", "items": {"type": "string", "maxLength": 6, "minLength": 2}, "maxItems": 3})"},
      {GrammarKind::JsonSchema,
       R"({"properties": {"name": {"type": "string"}, "na": {"type": "integer", "minimum": -3, "maximum": 120},
          "b\u00e9": {"enum": ["x", 1.5, null, [1, {"k": []}]]}}, "required": ["na", "b\u00e9"], "additionalProperties": false, "type": "object"})"},
      {GrammarKind::JsonSchema,
       R"({"anyOf": [{"type": "object", "maxProperties": 2, "patternProperties": {"^a": {"type": "number"}}},
          {"type": "object", "properties": {"foo": {"$ref": "#"}}, "required": ["foo"]}]})"},
      {GrammarKind::JsonSchema, R"({"type": "string", "pattern": "^(ab|[^a-z\"]{2,4})+$", "maxLength": 9})"},
      {GrammarKind::JsonSchema, R"({"type": "number", "minimum": 0.25, "exclusiveMaximum": 12.5, "multipleOf": 0.05})"},
      {GrammarKind::Regex, "([a-z]+@[a-z]{2,300}\\.(com|org)|.{0,20}é)+"},
      {GrammarKind::Gbnf, "root ::= [😀-🙏]+ \".\""},
      {GrammarKind::Gbnf, "root ::= \"[\" (root | \"a\"* \"a\"* | \"ab\"{3,900}) \"]\""},
      {GrammarKind::Choice, R"(["true", "false", "the end", "the"])"},
  };
  return all;
}

class Vocabularies : public testing::TestWithParam<std::string> {
protected:
  void SetUp() override {
    vocabulary = GetParam() == "small" ? smallVocabulary() : storiesVocabulary();
    if (!vocabulary)
      GTEST_SKIP() << "the vocabulary " << GetParam() << " is not there";
  }
  VocabularyPtr vocabulary;
};

TEST_P(Vocabularies, maskAndAcceptAgreeAboutEveryId) {
  std::mt19937 random(7);
  for (const GrammarText &text : grammars()) {
    SCOPED_TRACE(text.text);
    GrammarPtr grammar = compiled(compile(text, vocabulary));
    for (int i = 0; i < 6; ++i)
      randomText(grammar, *vocabulary, random, 12, /*checkAgreement=*/true);
  }
}

TEST_P(Vocabularies, randomTextsMatchTheirGrammarAndAreUtf8) {
  std::mt19937 random(11);
  for (const GrammarText &text : grammars()) {
    SCOPED_TRACE(text.text);
    GrammarPtr grammar = compiled(compile(text, vocabulary));
    for (int i = 0; i < 20; ++i) {
      std::string drawn = randomText(grammar, *vocabulary, random, 25).value_or("no end in sight");
      EXPECT_TRUE(matches(grammar, drawn)) << drawn;
      if (text.kind == GrammarKind::JsonSchema || text.kind == GrammarKind::JsonObject)
        EXPECT_TRUE(isJson(drawn)) << drawn;
    }
  }
}

/// Tokens that hold part of a character: only those that stay in the range.
TEST_P(Vocabularies, rangesHoldAcrossTokensOfOneCharacter) {
  GrammarPtr grammar = compiled(compileGbnf("root ::= [😀-🙏]+ \".\"", vocabulary));
  std::unique_ptr<Constraint> constraint = grammar->start();
  std::vector<uint32_t> mask(vocabulary->maskWords());
  std::string text = "🙏😀.";
  for (char byte : text) {
    constraint->allowed(mask);
    TokenId wanted = greedyTokens(*vocabulary, std::string(1, byte)).at(0);
    EXPECT_TRUE(inMask(mask, wanted));
    for (TokenId id = 0; id < vocabulary->size(); ++id)
      if (std::string_view(vocabulary->piece(id)).starts_with("\xF1") || vocabulary->piece(id) == "a")
        EXPECT_FALSE(inMask(mask, id));
    ASSERT_TRUE(constraint->accept(wanted));
  }
  EXPECT_TRUE(constraint->finished());
}

INSTANTIATE_TEST_SUITE_P(All, Vocabularies, testing::Values("small", "stories"),
                         [](const auto &info) { return info.param; });

TEST(Constraint, endTokensOnlyWhereTheTextMayEnd) {
  GrammarPtr grammar = compiled(compileRegex("a+", smallVocabulary()));
  std::unique_ptr<Constraint> constraint = grammar->start();
  EXPECT_FALSE(constraint->accept(0));
  EXPECT_TRUE(constraint->accept(1 + 'a'));
  EXPECT_TRUE(constraint->mayEnd());
  EXPECT_FALSE(constraint->finished()); // More may follow.
  std::unique_ptr<Constraint> copy = constraint->clone();
  EXPECT_TRUE(copy->accept(0));
  EXPECT_TRUE(copy->finished());
  EXPECT_FALSE(copy->accept(1 + 'a'));
  EXPECT_TRUE(constraint->accept(1 + 'a')); // The copy was independent.
}

TEST(Constraint, longerMasksAreCleared) {
  GrammarPtr grammar = compiled(compileRegex("a", smallVocabulary()));
  std::vector<uint32_t> mask(smallVocabulary()->maskWords() + 5, ~0u);
  grammar->start()->allowed(mask);
  EXPECT_EQ(std::accumulate(mask.begin(), mask.end(), 0, [](int n, uint32_t w) { return n + std::popcount(w); }), 1);
}

TEST(Constraint, deadEndsHaveAReason) {
  VocabularyPtr letters = Vocabulary::fromPieces({"a", "b", ""}, {2});
  GrammarPtr grammar = compiled(compileRegex("ax|b", letters));
  std::unique_ptr<Constraint> constraint = grammar->start();
  ASSERT_TRUE(constraint->accept(0));
  std::vector<uint32_t> mask(1);
  constraint->allowed(mask);
  EXPECT_EQ(mask[0], 0u);
  EXPECT_THAT(constraint->status().message(), testing::HasSubstr("dead end"));
}

TEST(Constraint, threadsShareAGrammar) {
  GrammarPtr grammar = compiled(compileJsonObject(smallVocabulary()));
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed)
    threads.emplace_back([&, seed] {
      std::mt19937 random(seed);
      for (int i = 0; i < 20; ++i)
        EXPECT_TRUE(isJson(randomText(grammar, *smallVocabulary(), random, 20).value_or("")));
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(MaskCache, forgetsWithinItsBound) {
  Limits limits;
  limits.cacheBytes = 1 << 16;
  GrammarPtr grammar = compiled(compileJsonObject(smallVocabulary(), limits));
  std::mt19937 random(3);
  for (int i = 0; i < 30; ++i)
    EXPECT_TRUE(isJson(randomText(grammar, *smallVocabulary(), random, 30).value_or("")));
}

TEST(GrammarCache, keepsRecentGrammarsWithinItsBound) {
  GrammarCache cache(4 << 20);
  GrammarText digits{GrammarKind::Regex, "[0-9]+"};
  Result<GrammarPtr> first = cache.get(digits, smallVocabulary());
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(*cache.get(digits, smallVocabulary()), *first);
  EXPECT_NE(*cache.get({GrammarKind::Gbnf, "root ::= [0-9]+"}, smallVocabulary()), *first);
  EXPECT_FALSE(cache.get({GrammarKind::Regex, "("}, smallVocabulary()).ok());
  EXPECT_EQ(cache.stats().grammars, 2u);
  EXPECT_EQ(cache.stats().hits, 1u);
  for (int i = 0; i < 400; ++i)
    ASSERT_TRUE(cache.get({GrammarKind::Regex, "[a-z]{" + std::to_string(i) + "}"}, smallVocabulary()).ok());
  EXPECT_LE(cache.stats().bytes, size_t{4} << 20);
  EXPECT_LE(cache.stats().grammars, 256u);
}

} // namespace
} // namespace fusec::grammar::test
