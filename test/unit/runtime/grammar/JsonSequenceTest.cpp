//===- JsonSequenceTest.cpp - several JSON values with texts between --------===//
#include "test/unit/runtime/grammar/GrammarTestSupport.h"

using namespace fusec::grammar;
using namespace fusec::grammar::test;

namespace {

GrammarPtr compiled(const std::string &text) {
  auto grammar = compile({GrammarKind::JsonSequence, text}, smallVocabulary());
  EXPECT_TRUE(grammar.ok()) << grammar.status().message();
  return grammar ? *grammar : nullptr;
}

TEST(JsonSequence, ValuesWithTheirEndsAndWhatLeadsToTheNext) {
  const GrammarPtr grammar = compiled(R"({"schema":{"enum":[1,2]},"end":"</c>","next":"\n<c>"})");
  for (const char *good : {"1", " 2", "1</c>", "1</c>\n<c>2", "1</c>\n<c> 2</c>\n<c>1</c>"})
    EXPECT_TRUE(matches(grammar, good)) << good;
  for (const char *bad : {"", "3", "12", "1</c", "1\n<c>2", "1</c>\n<c>", "1</c>x", "</c>1"})
    EXPECT_FALSE(matches(grammar, bad)) << bad;
}

TEST(JsonSequence, OneValueWithoutANext) {
  const GrammarPtr grammar = compiled(R"({"schema":{"enum":[1,2]},"end":"","next":""})");
  EXPECT_TRUE(matches(grammar, "1"));
  EXPECT_FALSE(matches(grammar, "1; 2"));
  EXPECT_TRUE(matches(compiled(R"({"schema":{"enum":[1,2]},"end":"","next":"; "})"), "1; 2; 1"));
}

TEST(JsonSequence, EveryDrawnTextMatches) {
  const GrammarPtr grammar = compiled(R"({"schema":{"type":"boolean"},"end":"!","next":", "})");
  std::mt19937 random(3);
  for (size_t wanted : {1u, 5u, 30u}) {
    const auto text = randomText(grammar, *smallVocabulary(), random, wanted, /*checkAgreement=*/true);
    ASSERT_TRUE(text.has_value());
    EXPECT_TRUE(matches(grammar, *text)) << *text;
  }
}

/// The references of a function's schema begin at its own root, wherever it is put.
TEST(JsonSequence, AnIdMakesASchemaADocumentOfItsOwn) {
  const GrammarPtr grammar = compiled(R"({"end":"","next":"","schema":{"anyOf":[
    {"allOf":[{"$id":"urn:fusec:function:a","$ref":"#/$defs/x","$defs":{"x":{"const":1}}}]},
    {"allOf":[{"$id":"urn:fusec:function:b","$ref":"#/$defs/x","$defs":{"x":{"const":[2]}}}]}]}})");
  EXPECT_TRUE(matches(grammar, "1") && matches(grammar, "[2]"));
  EXPECT_FALSE(matches(grammar, "2"));
}

TEST(JsonSequence, RefusesOtherTexts) {
  for (const std::string &text : {std::string(), std::string("{\"schema\":") + std::string(500'000, '[')}) {
    const auto grammar = compile({GrammarKind::JsonSequence, text}, smallVocabulary());
    ASSERT_FALSE(grammar.ok());
    EXPECT_THAT(grammar.status().message(), testing::HasSubstr("sequence"));
  }
  for (const char *text : {"[]", R"({"schema":{}})", R"({"schema":{},"end":1,"next":""})"}) {
    const auto grammar = compile({GrammarKind::JsonSequence, text}, smallVocabulary());
    ASSERT_FALSE(grammar.ok()) << text;
    EXPECT_THAT(grammar.status().message(), testing::HasSubstr("sequence: expected"));
  }
  const auto never = compile({GrammarKind::JsonSequence, R"({"schema":false,"end":"","next":""})"}, smallVocabulary());
  ASSERT_FALSE(never.ok());
  EXPECT_THAT(never.status().message(), testing::HasSubstr("no JSON value"));
}

} // namespace
