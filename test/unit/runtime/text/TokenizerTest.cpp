//===- TokenizerTest.cpp ---------------------------------------------------===//
#include "test/unit/runtime/text/GoldenFile.h"
#include "test/unit/runtime/text/SmallTokenizer.h"

#include <atomic>
#include <chrono>
#include <thread>

namespace fusec::text::test {
namespace {

using Ids = std::vector<TokenId>;

Ids encode(const Tokenizer &tokenizer, std::string_view text, bool parseSpecial = false) {
  Result<Ids> ids = tokenizer.encode(text, {.addSpecial = false, .parseSpecial = parseSpecial});
  EXPECT_TRUE(ids.ok()) << ids.status().message();
  return std::move(ids).value();
}

TEST(Tokenizer, mergesByRankThenLeftmost) {
  Tokenizer tokenizer = load(byteLevelDocument({{"b", "c"}, {"a", "b"}, {"a", "a"}, {"aa", "a"}}));
  EXPECT_EQ(encode(tokenizer, "abc"), (Ids{'a', 256}));
  EXPECT_EQ(encode(tokenizer, "aaaa"), (Ids{258, 258}));
  EXPECT_EQ(encode(tokenizer, "aaa"), (Ids{259}));
}

TEST(Tokenizer, scoresDecideInSentencePiece) {
  Tokenizer tokenizer = load(sentencePieceDocument({"\u2581", "a", "b", "c", "bc", "ab",
                                                    "\u2581"
                                                    "ab"}));
  EXPECT_EQ(encode(tokenizer, "abc"), (Ids{259, 260, 263}));
  EXPECT_EQ(encode(tokenizer, "abab"), (Ids{265, 264}));
  EXPECT_EQ(encode(tokenizer, ""), (Ids{}));
}

TEST(Tokenizer, unknownCharactersBecomeTheirBytes) {
  Tokenizer tokenizer = load(sentencePieceDocument({"\u2581", "a"}));
  EXPECT_EQ(encode(tokenizer, "a\xC3\xA9"), (Ids{259, 260, 3 + 0xC3, 3 + 0xA9}));
  nlohmann::json document = sentencePieceDocument({"\u2581", "a"});
  document["model"]["byte_fallback"] = false;
  EXPECT_EQ(encode(load(document), "a\xC3\xA9\xC3\xA9"
                                   "a"),
            (Ids{259, 260, 0, 260}));
}

TEST(Tokenizer, plainTextNeverBecomesAControlToken) {
  // Merges that would spell the marker must not be followed.
  nlohmann::json document = sentencePieceDocument({"\u2581", "<", "s", ">", "<s", "<s>"});
  document["model"]["vocab"][264] = {"<s>x", -9};
  Tokenizer tokenizer = load(document);
  EXPECT_EQ(encode(tokenizer, "<s>"), (Ids{259, 263, 262}));
  EXPECT_EQ(encode(tokenizer, "<s>", true), (Ids{1}));
}

TEST(Tokenizer, addedTokensNeedPermission) {
  Tokenizer tokenizer = load(byteLevelDocument({}));
  EXPECT_EQ(encode(tokenizer, "<|end|>").size(), 7u);
  EXPECT_EQ(encode(tokenizer, "<think>").size(), 7u);
  EXPECT_EQ(encode(tokenizer, "a<|end|><think>", true), (Ids{'a', 256, 257}));
}

TEST(Tokenizer, spansKeepUserTextPlain) {
  Tokenizer tokenizer = load(byteLevelDocument({{"a", "b"}}));
  auto run = [&](std::vector<PromptSpan> spans) {
    Result<Ids> ids = tokenizer.encodeSpans(spans, false);
    EXPECT_TRUE(ids.ok()) << ids.status().message();
    return std::move(ids).value();
  };
  EXPECT_EQ(run({{"<|end|>", true}, {"<|end|>", false}, {"<|end|>", true}}),
            (Ids{257, '<', '|', 'e', 'n', 'd', '|', '>', 257}));
  // Merges cross the border, a marker does not.
  EXPECT_EQ(run({{"a", true}, {"b", false}}), (Ids{256}));
  EXPECT_EQ(run({{"<|e", true}, {"nd|>", false}}).size(), 7u);
  EXPECT_EQ(run({{"<|e", false}, {"nd|>", true}}).size(), 7u);
  EXPECT_EQ(run({{"<|e", true}, {"nd|>", true}, {"x", false}}), (Ids{257, 'x'}));
}

TEST(Tokenizer, invalidUtf8CountsAsReplacementCharacters) {
  Tokenizer tokenizer = load(byteLevelDocument({}));
  EXPECT_EQ(encode(tokenizer, "a\xFF\xE3\x81"), encode(tokenizer, "a\xEF\xBF\xBD\xEF\xBF\xBD"));
}

TEST(Tokenizer, facts) {
  Tokenizer tokenizer = load(byteLevelDocument({{" ", "a"}}));
  EXPECT_EQ(tokenizer.size(), 259);
  EXPECT_EQ(tokenizer.piece(256), " a");
  EXPECT_EQ(tokenizer.piece(-1), "");
  EXPECT_EQ(tokenizer.piece(259), "");
  EXPECT_EQ(tokenizer.tokenToId("\xC4\xA0"
                                "a"),
            256);
  EXPECT_EQ(tokenizer.tokenToId("<|end|>"), 257);
  EXPECT_EQ(tokenizer.tokenToId("nothing"), std::nullopt);
  EXPECT_TRUE(tokenizer.isSpecial(257));
  EXPECT_FALSE(tokenizer.isSpecial(258));
  EXPECT_TRUE(tokenizer.isAdded(258));
  EXPECT_EQ(tokenizer.bosId(), 0);
  EXPECT_EQ(tokenizer.eosId(), 257);
  EXPECT_EQ(tokenizer.endIds(), (Ids{257}));
}

/// Documents that must be refused, with a word of the message.
TEST(Tokenizer, refusals) {
  struct Row {
    const char *pointer;
    nlohmann::json value;
    ErrorCode code;
    const char *says;
  };
  const std::vector<Row> rows{
      {"/model/type", "Unigram", ErrorCode::Unsupported, "'Unigram'"},
      {"/model/type", "WordPiece", ErrorCode::Unsupported, "'WordPiece'"},
      {"/model/dropout", 0.1, ErrorCode::Unsupported, "dropout"},
      {"/model/end_of_word_suffix", "</w>", ErrorCode::Unsupported, "end_of_word_suffix"},
      {"/model/vocab", 3, ErrorCode::InvalidArgument, "vocab"},
      {"/model/vocab/!", "x", ErrorCode::CorruptData, "integer"},
      {"/model/vocab/!", -1, ErrorCode::CorruptData, "-1"},
      {"/model/vocab/!", 1 << 30, ErrorCode::CorruptData, "expected 0 to"},
      {"/model/vocab/!", 7, ErrorCode::CorruptData, "belongs to"},
      {"/model/merges", nullptr, ErrorCode::NotFound, "merges"},
      {"/model/merges/0", "ab", ErrorCode::CorruptData, "merges[0]"},
      {"/model/merges/0", {"a", "z", "b"}, ErrorCode::CorruptData, "merges[0]"},
      {"/model/merges/0", {"a", "z"}, ErrorCode::CorruptData, "not in the vocabulary"},
      {"/normalizer", {{"type", "Precompiled"}}, ErrorCode::Unsupported, "'Precompiled'"},
      {"/pre_tokenizer", {{"type", "BertPreTokenizer"}}, ErrorCode::Unsupported, "'BertPreTokenizer'"},
      {"/pre_tokenizer",
       {{"type", "Split"}, {"pattern", {{"Regex", "("}}}},
       ErrorCode::InvalidArgument,
       "regular expression"},
      {"/pre_tokenizer",
       {{"type", "Split"}, {"pattern", {{"String", ""}}}},
       ErrorCode::InvalidArgument,
       "empty pattern"},
      {"/decoder", {{"type", "WordPiece"}}, ErrorCode::Unsupported, "'WordPiece'"},
      {"/post_processor", {{"type", "Custom"}}, ErrorCode::Unsupported, "'Custom'"},
      {"/post_processor",
       {{"type", "BertProcessing"}, {"cls", {"a", 9999}}, {"sep", {"b", 1}}},
       ErrorCode::CorruptData,
       "9999"},
      {"/added_tokens", 1, ErrorCode::InvalidArgument, "array"},
      {"/added_tokens/0/id", 1 << 30, ErrorCode::CorruptData, "far outside"},
      {"/fusec/eos_id", 259, ErrorCode::CorruptData, "eos_id"},
  };
  for (const Row &row : rows) {
    nlohmann::json document = byteLevelDocument({{" ", "a"}});
    document[nlohmann::json::json_pointer(row.pointer)] = row.value;
    Result<Tokenizer> tokenizer = Tokenizer::parse(document.dump());
    ASSERT_FALSE(tokenizer.ok()) << row.pointer << " " << row.value;
    EXPECT_EQ(tokenizer.status().code(), row.code) << tokenizer.status().message();
    EXPECT_NE(tokenizer.status().message().find(row.says), std::string::npos) << tokenizer.status().message();
  }
  EXPECT_EQ(Tokenizer::parse("{").status().code(), ErrorCode::CorruptData);
  EXPECT_EQ(Tokenizer::load("/nonexistent/tokenizer.json").status().code(), ErrorCode::NotFound);
}

TEST(Tokenizer, deepNestingIsRefused) {
  nlohmann::json document = byteLevelDocument({});
  nlohmann::json normalizer = {{"type", "NFC"}};
  for (int depth = 0; depth < 40; ++depth)
    normalizer = {{"type", "Sequence"}, {"normalizers", nlohmann::json::array({std::move(normalizer)})}};
  document["normalizer"] = std::move(normalizer);
  EXPECT_EQ(Tokenizer::parse(document.dump()).status().code(), ErrorCode::Unsupported);
}

/// Four times the text may take at most about four times the work.
TEST(Tokenizer, longWordsAreNotQuadratic) {
  Tokenizer bytes = load(byteLevelDocument({{"a", "a"}, {"aa", "aa"}, {"aaaa", "aaaa"}, {"b", "a"}}));
  Tokenizer pieces = load(sentencePieceDocument({"\u2581", "a", "aa", "aaaa", "aaaaaaaa", "ba"}));
  for (const Tokenizer *tokenizer : {&bytes, &pieces}) {
    auto seconds = [&](size_t length) {
      auto start = std::chrono::steady_clock::now();
      EXPECT_FALSE(encode(*tokenizer, std::string(length, 'a')).empty());
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    double small = seconds(1 << 18), large = seconds(1 << 20);
    EXPECT_LT(large, 12 * small + 0.05);
  }
}

TEST(Tokenizer, manyThreadsShareOne) {
  nlohmann::json document = byteLevelDocument({{"a", "b"}});
  document["pre_tokenizer"] = {{"type", "ByteLevel"}, {"add_prefix_space", false}};
  Tokenizer tokenizer = load(document);
  const std::string text = "ab abab 123 \xE6\x97\xA5\xE6\x9C\xAC <|end|>\n\n x";
  const Ids expected = encode(tokenizer, text, true);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        Result<Ids> ids = tokenizer.encode(text, {.addSpecial = false, .parseSpecial = true});
        wrong += !ids || *ids != expected || tokenizer.decode(*ids, false) != text;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

} // namespace
} // namespace fusec::text::test
