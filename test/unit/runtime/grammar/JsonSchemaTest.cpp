//===- JsonSchemaTest.cpp - what the suite doesn't say ---------------------------===//
#include "test/unit/runtime/grammar/GrammarTestSupport.h"

namespace fusec::grammar::test {
namespace {

struct SchemaCase {
  std::string schema;
  std::vector<std::string> valid, invalid;
};

void PrintTo(const SchemaCase &c, std::ostream *out) { *out << c.schema; }

class JsonSchema : public testing::TestWithParam<SchemaCase> {};

TEST_P(JsonSchema, isExact) {
  GrammarPtr grammar = compiled(compileJsonSchema(GetParam().schema, smallVocabulary()));
  ASSERT_TRUE(grammar);
  for (const std::string &text : GetParam().valid)
    EXPECT_TRUE(matches(grammar, text)) << text;
  for (const std::string &text : GetParam().invalid)
    EXPECT_FALSE(matches(grammar, text)) << text;
}

INSTANTIATE_TEST_SUITE_P(
    Properties, JsonSchema,
    testing::Values(
        // Any order, each once, additional ones by default.
        SchemaCase{R"({"type":"object","properties":{"a":{"type":"integer"},"ab":{"type":"null"}},"required":["ab"]})",
                   {R"({"ab":null})", R"({"a":1,"ab":null})", R"({"ab": null, "a": 1})",
                    R"({"x":[],"ab":null,"abc":{}})", R"({"\u0061b":null})", R"({"ab":null,"x":1,"x":2})"},
                   {"{}", R"({"a":1})", R"({"a":1,"a":2,"ab":null})", R"({"ab":1})", R"({"a":"x","ab":null})",
                    R"({"\u0061":"x","ab":null})", R"({"ab":null,})", R"({"ab":null} )"}},
        SchemaCase{R"({"type":"object","properties":{"é":true,"ê":true},"additionalProperties":false})",
                   {"{}", R"({"é":1})", R"({"ê":1,"\u00e9":2})"},
                   {R"({"é":1,"\u00E9":2})", R"({"e":1})"}},
        SchemaCase{R"({"type":"object","maxProperties":2,"required":["a"],"additionalProperties":{"type":"null"}})",
                   {R"({"a":null})", R"({"b":null,"a":null})"},
                   {"{}", R"({"b":null,"c":null})", R"({"b":null,"c":null,"a":null})"}},
        SchemaCase{
            R"({"type":"object","patternProperties":{"^x":{"type":"integer"},"y$":{"minimum":5}},"additionalProperties":false})",
            {"{}", R"({"x":1})", R"({"xy":5})", R"({"by":"s"})"},
            {R"({"xy":4})", R"({"x":"s"})", R"({"a":1})", R"({"by":4})"}},
        SchemaCase{R"({"type":"object","propertyNames":{"pattern":"^[a-c]+$","maxLength":2}})",
                   {"{}", R"({"ab":1})"},
                   {R"({"abc":1})", R"({"d":1})", R"({"":1})"}},
        SchemaCase{R"({"type":"object","properties":{"":{"const":1}}})", {R"({"":1})", R"({"a":2})"}, {R"({"":2})"}},
        // A property whose value can't exist is never begun.
        SchemaCase{
            R"({"type":"object","properties":{"ab":false,"ac":{"allOf":[{"type":"null"},{"type":"string"}]}},"additionalProperties":false})",
            {"{}"},
            {R"({"ab":1})"}}));

INSTANTIATE_TEST_SUITE_P(
    Numbers, JsonSchema,
    testing::Values(
        SchemaCase{R"({"type":"integer"})",
                   {"0", "-0", "12", "1.0", "1e3", "2E+2", "-7"},
                   {"1.5", "01", "1e-3", "+1", "1.", ".5", "1.00"}},
        SchemaCase{
            R"({"type":"number"})", {"0", "1.50", "-2e-7", "1E10"}, {"01", "1.", "--1", "1e", "Infinity", "NaN"}},
        SchemaCase{R"({"type":"integer","minimum":-12,"maximum":105})",
                   {"-12", "-1", "0", "99", "105", "105.0", "-0"},
                   {"-13", "106", "1000", "-100", "105.5", "1e1"}},
        SchemaCase{R"({"type":"integer","exclusiveMinimum":0,"exclusiveMaximum":1e1})", {"1", "9"}, {"0", "10", "-1"}},
        SchemaCase{R"({"minimum":0.05,"exclusiveMaximum":1.2})",
                   {"0.05", "0.050", "1.1999", "1", "0.1", "true", "\"x\""},
                   {"0.0499", "1.2", "1.20", "0", "-1", "2"}},
        SchemaCase{R"({"type":"number","maximum":-0.5})", {"-0.5", "-1", "-100.25"}, {"0", "-0.4", "1", "-0"}},
        SchemaCase{R"({"type":"number","multipleOf":0.25,"minimum":1})",
                   {"1", "1.25", "1.500", "12.75"},
                   {"1.1", "1.255", "0.75"}},
        SchemaCase{R"({"type":"integer","multipleOf":7})", {"0", "7", "-14", "7.0", "700"}, {"1", "8", "-1"}},
        SchemaCase{R"({"const":1.5})", {"1.5", "1.50"}, {"1.51", "1", "15"}},
        SchemaCase{R"({"enum":[1,"1",true]})", {"1", "1.0", "\"1\"", "true", "\"\\u0031\""}, {"1.1", "11", "false"}},
        SchemaCase{R"({"type":"integer","minimum":12345678901234567})",
                   {"12345678901234567", "99999999999999999999"},
                   {"12345678901234566"}},
        SchemaCase{R"({"not":{"type":"integer"}})", {"1.5", "null", "[]"}, {"1", "1.0"}}));

INSTANTIATE_TEST_SUITE_P(
    Strings, JsonSchema,
    testing::Values(
        SchemaCase{R"({"type":"string"})",
                   {R"("")", R"("é😀\n\"\\\/\u0000\ud83d\ude00")", "\"\x7F\""},
                   {"\"\n\"", "\"\x01\"", R"("\x")", R"("\ud83d")", R"("\ud83dx")", R"("\ude00")", "\"\xC3\"",
                    "\"\xED\xA0\x80\"", "\"a"}},
        SchemaCase{R"({"type":"string","minLength":2,"maxLength":3})",
                   {R"("ab")", R"("😀\ud83d\ude00é")", R"("\"\\\n")"},
                   {R"("a")", R"("abcd")", R"("😀")", R"("")"}},
        SchemaCase{R"({"type":"string","pattern":"^[a-é]+$","maxLength":3})",
                   {R"("a")", R"("\u0061é")", R"("abc")"},
                   {R"("")", R"("abcd")", R"("A")", R"("a\n")"}},
        SchemaCase{R"x({"type":"string","pattern":"^(abc)*$","minLength":1,"maxLength":7})x",
                   {R"("abc")", R"("abcabc")"},
                   {R"("")", R"("abcabcabc")", R"("ab")"}},
        SchemaCase{R"({"type":"string","pattern":"a$|^b"})", {R"("xa")", R"("bx")", R"("a")"}, {R"("xb")", R"("ax")"}},
        SchemaCase{R"({"allOf":[{"type":"string","pattern":"a"},{"pattern":"b"},{"maxLength":2}]})",
                   {R"("ab")", R"("ba")"},
                   {R"("a")", R"("abc")", "1"}},
        SchemaCase{
            R"({"type":"string","not":{"enum":["a","b"]}})", {R"("c")", R"("ab")", R"("")"}, {R"("a")", R"("\u0062")"}},
        SchemaCase{R"({"type":"string","format":"date","description":"x","default":1,"title":"t","examples":[]})",
                   {R"("no date")"},
                   {"1"}}));

INSTANTIATE_TEST_SUITE_P(
    Combined, JsonSchema,
    testing::Values(
        SchemaCase{"{}", {"1", "[[]]", "{\"a\":{}}", " null", "\n\t[ 1 , 2 ]"}, {"", "[1,]", "{a:1}", "nul", "[1 2]"}},
        SchemaCase{R"({"oneOf":[{"type":"object","required":["a"]},{"type":"object","required":["b"]}]})",
                   {R"({"a":1})", R"({"b":1,"c":2})"},
                   {"{}", R"({"a":1,"b":2})", R"({"b":1,"x":0,"a":2})"}},
        SchemaCase{R"({"type":"object","properties":{"kind":{"enum":["x","y"]}},"required":["kind"],
                      "if":{"properties":{"kind":{"const":"x"}}},"then":{"required":["v"]},"else":{"properties":{"v":false}}})",
                   {R"({"kind":"x","v":1})", R"({"v":1,"kind":"x"})", R"({"kind":"y"})"},
                   {R"({"kind":"x"})", R"({"kind":"y","v":1})"}},
        SchemaCase{
            R"({"$ref":"#/$defs/list","$defs":{"list":{"anyOf":[{"type":"null"},{"type":"array","prefixItems":[{"type":"integer"},
                      {"$ref":"#/$defs/list"}],"minItems":2,"items":false}]}}})",
            {"null", "[1,null]", "[1,[2,null]]"},
            {"[1]", "[1,2]", "[1,null,3]"}},
        SchemaCase{R"({"type":"array","items":{"type":"integer"},"minItems":2,"maxItems":1000000})",
                   {"[1,2]", "[1, 2 ,3]"},
                   {"[1]", "[]"}},
        SchemaCase{R"({"items":[{"const":1}],"additionalItems":{"const":2}})",
                   {"[]", "[1]", "[1,2,2]", "{}"},
                   {"[2]", "[1,1]"}},
        SchemaCase{R"({"type":"array","uniqueItems":true,"maxItems":1})", {"[]", "[1]"}, {"[1,1]"}},
        SchemaCase{R"({"dependentRequired":{"a":["b"]},"type":"object"})",
                   {"{}", R"({"b":1})", R"({"b":1,"a":2})"},
                   {R"({"a":1})"}},
        SchemaCase{R"({"anyOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},
                      {"type":"object","properties":{"a":{"type":"number"}},"required":["a"]}]})",
                   {R"({"x":1,"a":"s"})", R"({"a":1})"},
                   {R"({"a":null})", "{}"}}));

struct RefusedSchema {
  std::string schema, message;
};

void PrintTo(const RefusedSchema &c, std::ostream *out) { *out << c.schema; }

class RefusedSchemas : public testing::TestWithParam<RefusedSchema> {};

TEST_P(RefusedSchemas, nameTheReasonAndThePath) {
  Result<GrammarPtr> grammar = compileJsonSchema(GetParam().schema, smallVocabulary());
  ASSERT_FALSE(grammar.ok());
  EXPECT_THAT(grammar.status().message(), testing::HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Schemas, RefusedSchemas,
    testing::Values(
        RefusedSchema{R"({"properties":{"a":{"uniqueItems":true}}})",
                      "schema #/properties/a/uniqueItems: this keyword is not supported"},
        RefusedSchema{R"({"items":{"contains":{}}})", "schema #/items/contains: this keyword is not supported"},
        RefusedSchema{R"({"unevaluatedProperties":false})", "#/unevaluatedProperties"},
        RefusedSchema{R"({"$ref":"https://example.com/schema"})",
                      "#/$ref: 'https://example.com/schema' is not in this schema"},
        RefusedSchema{R"({"$ref":"#/$defs/none"})", "leads nowhere"},
        RefusedSchema{R"({"type":"strin"})", "schema #/type: 'strin' is no type"},
        RefusedSchema{R"({"required":"a"})", "schema #/required: expected an array of strings"},
        RefusedSchema{R"({"minLength":-1})", "schema #/minLength: expected a non-negative integer"},
        RefusedSchema{R"x({"pattern":"(?=a)"})x", "schema #/pattern: regex column 2: lookahead"},
        RefusedSchema{R"({"properties":{"a":1}})", "schema #/properties/a: expected a schema"},
        RefusedSchema{R"({"multipleOf":0})", "#/multipleOf: expected a number above 0"},
        RefusedSchema{R"({"multipleOf":0.123456789})", "multipleOf 0.123456789 is not supported"},
        RefusedSchema{R"({"not":{"items":{"type":"string"}}})",
                      "schema #/not: the values that do not satisfy a schema with items"},
        RefusedSchema{R"({"oneOf":[{"patternProperties":{"a":{"type":"null"}}},{"type":"object","required":["b"]}]})",
                      "schema #/oneOf: the values"},
        RefusedSchema{R"({"minProperties":3})", "minProperties above 1"},
        RefusedSchema{R"({"minimum":0.1234567890123456789012})", "has more digits than fusec keeps"},
        RefusedSchema{R"({"type":"integer","minimum":0.1,"maximum":0.9})", "no JSON value satisfies it"},
        RefusedSchema{R"({"$schema":"http://example.com/mine"})",
                      "the dialect \"http://example.com/mine\" is not supported"},
        RefusedSchema{R"({"a":1,"a":2})", "schema"}, RefusedSchema{"[]", "expected an object or a boolean"},
        RefusedSchema{"{", "schema"}, RefusedSchema{"false", "no JSON value satisfies it"}));

TEST(JsonObject, isAnyObject) {
  GrammarPtr grammar = compiled(compileJsonObject(smallVocabulary()));
  EXPECT_TRUE(matches(grammar, R"({"a": [1, {"b": null}], "c": "d"})"));
  EXPECT_FALSE(matches(grammar, "[1]"));
  EXPECT_FALSE(matches(grammar, R"({"a": 1} )"));                   // Complete: nothing follows.
  EXPECT_FALSE(matches(grammar, "{" + std::string(41, ' ') + "}")); // Bounded whitespace.
}

} // namespace
} // namespace fusec::grammar::test
