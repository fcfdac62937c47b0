//===- MaskBench.cpp - the cost of token masks ---------------------------------===//
//
//   FUSEC_BENCH_TOKENIZER=.../tokenizer.json FusecGrammarTest --gtest_filter='MaskBench.*'
//
// Prints, per grammar: compile time, masks during a random text the first time
// (cold) and for the same text again (warm).
//
//===----------------------------------------------------------------------===//
#include "test/unit/runtime/grammar/GrammarTestSupport.h"

#include <chrono>
#include <ctime>

namespace fusec::grammar::test {
namespace {

/// This thread's CPU time: the machine may be shared.
struct Clock {
  using duration = std::chrono::nanoseconds;
  using time_point = std::chrono::time_point<Clock, duration>;
  static time_point now() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time_point(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
  }
};

double microseconds(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

struct Times {
  std::vector<double> values;
  std::string text() {
    std::sort(values.begin(), values.end());
    std::ostringstream out;
    out << "median " << values[values.size() / 2] << " p99 " << values[values.size() * 99 / 100] << " max "
        << values.back() << " us";
    return out.str();
  }
};

/// Feeds `tokens`, timing each mask.
Times feed(const GrammarPtr &grammar, const Vocabulary &vocabulary, const std::vector<TokenId> &tokens) {
  std::unique_ptr<Constraint> constraint = grammar->start();
  std::vector<uint32_t> mask(vocabulary.maskWords());
  Times times;
  for (TokenId id : tokens) {
    Clock::time_point begin = Clock::now();
    constraint->allowed(mask);
    times.values.push_back(microseconds(begin));
    EXPECT_TRUE(constraint->accept(id));
  }
  return times;
}

TEST(MaskBench, documents) {
  const char *path = std::getenv("FUSEC_BENCH_TOKENIZER");
  if (!path)
    GTEST_SKIP() << "set FUSEC_BENCH_TOKENIZER to a tokenizer.json";
  Result<text::Tokenizer> tokenizer = text::Tokenizer::load(path);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  Clock::time_point begin = Clock::now();
  VocabularyPtr vocabulary = Vocabulary::fromTokenizer(*tokenizer);
  std::cout << vocabulary->size() << " tokens, trie of " << vocabulary->nodeCount() << " nodes in "
            << microseconds(begin) / 1000 << " ms\n";
  std::string person =
      R"({"name": "Ada Lovelace", "age": 36, "address": {"street": "12 Main Street, second floor", "city": "London"},)"
      R"( "tags": ["mathematics", "poetry", "computing engines"], "note": "She wrote the first program; \"notes\" on the engine."})";
  struct Case {
    GrammarText grammar;
    std::string text;
  };
  const Case cases[] = {
      {{GrammarKind::JsonObject, ""}, person},
      {{GrammarKind::JsonSchema,
        R"({"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "address": {"type": "object", "properties": {"street": {"type": "string", "maxLength": 100}, "city": {"enum": ["London", "Paris", "Rome"]}}, "required": ["city"], "additionalProperties": false},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 5}, "note": {"type": ["string", "null"]}}, "required": ["name", "age"], "additionalProperties": false})"},
       person},
      {{GrammarKind::Regex, "[A-Za-z ,.]{1,500}"},
       "The quick brown fox jumps over the lazy dog, and then it sleeps for a while."},
      {{GrammarKind::Gbnf, "root ::= line+\nline ::= \"- \" [^\\n]+ \"\\n\""},
       "- first point of the list\n- second point, longer\n"},
  };
  for (const Case &c : cases) {
    begin = Clock::now();
    GrammarPtr grammar = compiled(compile(c.grammar, vocabulary));
    double compileTime = microseconds(begin) / 1000;
    std::vector<TokenId> tokens = greedyTokens(*vocabulary, c.text);
    std::cout << c.grammar.text.substr(0, 40) << "\n  compile " << compileTime << " ms, " << tokens.size()
              << " tokens\n";
    std::cout << "  cold: " << feed(grammar, *vocabulary, tokens).text() << '\n';
    feed(grammar, *vocabulary, tokens);
    std::cout << "  warm: " << feed(grammar, *vocabulary, tokens).text() << "\n  " << grammar->bytes() / 1024
              << " KiB\n";
  }
}

} // namespace
} // namespace fusec::grammar::test
