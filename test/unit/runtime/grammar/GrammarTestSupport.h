//===- GrammarTestSupport.h - vocabularies and walks for grammar tests -----===//
#pragma once

#include "runtime/grammar/Compile.h"
#include "runtime/grammar/Matcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <random>
#include <sstream>

namespace fusec::grammar::test {

inline std::filesystem::path dataDirectory() { return std::filesystem::path(FUSEC_SOURCE_DIR) / "../shared/data"; }

inline std::string readFile(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

/// All bytes, and tokens that cross the borders of JSON's parts and of characters. Id 0 ends.
inline VocabularyPtr smallVocabulary() {
  static const VocabularyPtr vocabulary = [] {
    std::vector<std::string> pieces{"</s>"};
    for (int byte = 0; byte < 256; ++byte)
      pieces.emplace_back(1, static_cast<char>(byte));
    for (const char *piece :
         {"{\"",      "\":", "\": ",  "\",",      "\", \"",   "\"}",          "}}",     "]}",   "],",   "[[",
          "[]",       "{}",  "  ",    "\n  ",     "true",     "false",        "null",   "al",   "se",   "12",
          "123",      "00",  "0.",    ".5",       "e+",       "\\u",          "\\\"",   "\\n",  "u00",  "name",
          "\"name\"", "a\"", "\":\"", "\xF0\x9F", "\x98\x80", "\xF0\x9F\x98", "\x80\"", "\xC3", "\xA9", "the ",
          "ab",       "abc", "foo",   "bar",      "\"foo\":", "\"bar\": ",    "-1",     ", ",   ",\"",  "1.0",
          "1}",       "2]",  " \"",   "abab",     "\x80."})
      pieces.emplace_back(piece);
    pieces.emplace_back(); // A hole.
    return Vocabulary::fromPieces(pieces, {0});
  }();
  return vocabulary;
}

/// The stories vocabulary (512 pieces with byte tokens), or null without its file.
inline VocabularyPtr storiesVocabulary() {
  static const VocabularyPtr vocabulary = []() -> VocabularyPtr {
    std::string bytes = readFile(dataDirectory() / "models/stories260K/tok512.bin");
    std::vector<std::string> pieces;
    for (size_t at = 4; at + 8 <= bytes.size();) {
      uint32_t length = 0;
      std::memcpy(&length, bytes.data() + at + 4, 4);
      std::string piece = bytes.substr(at + 8, length);
      if (piece.size() == 6 && piece.starts_with("<0x"))
        piece = std::string(1, static_cast<char>(std::stoi(piece.substr(3, 2), nullptr, 16)));
      pieces.push_back(pieces.size() < 3 ? "" : piece);
      at += 8 + length;
    }
    return pieces.empty() ? nullptr : Vocabulary::fromPieces(pieces, {1, 2});
  }();
  return vocabulary;
}

/// `text` as tokens, the longest that fits first.
inline std::vector<TokenId> greedyTokens(const Vocabulary &vocabulary, std::string_view text) {
  static const Vocabulary *indexed = nullptr; // The index of the last vocabulary.
  static std::map<std::string_view, TokenId> ids;
  if (indexed != &vocabulary) {
    ids.clear();
    for (TokenId id = 0; id < vocabulary.size(); ++id)
      ids.emplace(vocabulary.piece(id), id);
    indexed = &vocabulary;
  }
  std::vector<TokenId> tokens;
  for (size_t at = 0; at < text.size();) {
    size_t length = std::min<size_t>(vocabulary.longest(), text.size() - at);
    while (length > 0 && !ids.contains(text.substr(at, length)))
      --length;
    if (length == 0)
      return {};
    tokens.push_back(ids[text.substr(at, length)]);
    at += length;
  }
  return tokens;
}

inline bool inMask(std::span<const uint32_t> mask, TokenId id) {
  return (mask[static_cast<size_t>(id) / 32] >> (static_cast<uint32_t>(id) % 32) & 1) != 0;
}

/// The whole text is generable: its bytes are accepted, and it may end there.
inline bool matches(const GrammarPtr &grammar, std::string_view text) {
  std::unique_ptr<Constraint> constraint = grammar->start();
  return static_cast<Matcher &>(*constraint).acceptBytes(text) && constraint->mayEnd();
}

/// Mask and accept agree about every id of the vocabulary.
inline void expectAgreement(Constraint &constraint, const Vocabulary &vocabulary) {
  std::vector<uint32_t> mask(vocabulary.maskWords());
  constraint.allowed(mask);
  std::unique_ptr<Constraint> trial = constraint.clone();
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    bool accepted = trial->accept(id);
    ASSERT_EQ(accepted, inMask(mask, id)) << "token " << id << " '" << vocabulary.piece(id) << "'";
    if (accepted)
      trial = constraint.clone();
  }
}

/// A text drawn token by token from the masks, ended as soon as it may after
/// `wanted` tokens. Adds a failure at a dead end; nullopt where chance doesn't
/// find the end (a certain key is still required).
inline std::optional<std::string> randomText(const GrammarPtr &grammar, const Vocabulary &vocabulary,
                                             std::mt19937 &random, size_t wanted, bool checkAgreement = false) {
  std::unique_ptr<Constraint> constraint = grammar->start();
  std::vector<uint32_t> mask(vocabulary.maskWords());
  std::string text;
  for (size_t drawn = 0; drawn < 2000; ++drawn) {
    if (constraint->finished() || (constraint->mayEnd() && drawn >= wanted))
      return text;
    if (checkAgreement)
      expectAgreement(*constraint, vocabulary);
    constraint->allowed(mask);
    std::vector<TokenId> choices;
    for (TokenId id = 0; id < vocabulary.size(); ++id)
      if (inMask(mask, id) && !vocabulary.isEnd(id))
        choices.push_back(id);
    if (choices.empty()) {
      EXPECT_TRUE(constraint->mayEnd()) << constraint->status().message() << " after " << text;
      return text;
    }
    // Late in the text, tokens that close things come first.
    std::vector<TokenId> closing;
    for (TokenId id : choices)
      if (drawn > wanted && vocabulary.piece(id).size() == 1 &&
          std::string_view("}]\".").find(vocabulary.piece(id)) != std::string_view::npos)
        closing.push_back(id);
    const std::vector<TokenId> &from = closing.empty() ? choices : closing;
    TokenId id = from[random() % from.size()];
    EXPECT_TRUE(constraint->accept(id));
    text += vocabulary.piece(id);
  }
  return std::nullopt;
}

/// Well-formed JSON, whatever the size of its numbers (the library refuses 1e999).
inline bool isJson(const std::string &text) {
  struct Handler : nlohmann::json::json_sax_t {
    bool null() override { return true; }
    bool boolean(bool) override { return true; }
    bool number_integer(number_integer_t) override { return true; }
    bool number_unsigned(number_unsigned_t) override { return true; }
    bool number_float(number_float_t, const string_t &) override { return true; }
    bool string(string_t &) override { return true; }
    bool binary(binary_t &) override { return true; }
    bool start_object(std::size_t) override { return true; }
    bool key(string_t &) override { return true; }
    bool end_object() override { return true; }
    bool start_array(std::size_t) override { return true; }
    bool end_array() override { return true; }
    bool parse_error(std::size_t, const std::string &, const nlohmann::detail::exception &error) override {
      tooLarge = error.id == 406;
      return false;
    }
    bool tooLarge = false;
  } handler;
  return nlohmann::json::sax_parse(text, &handler) || handler.tooLarge;
}

inline GrammarPtr compiled(Result<GrammarPtr> grammar) {
  EXPECT_TRUE(grammar.ok()) << grammar.status().message();
  return grammar.ok() ? *grammar : nullptr;
}

} // namespace fusec::grammar::test
