//===- BpeModel.h - words to token ids -------------------------------------===//
//
// The `model` object of tokenizer.json. Three flavours share one merge loop:
//   - BPE over bytes (vocabulary spelled in the byte-level alphabet), merges
//     ranked by their place in the list;
//   - BPE over characters with byte_fallback (converted SentencePiece models);
//   - SentencePieceBPE: no merge list, a pair may merge when its text is in
//     the vocabulary, best score first.
//
// Threading: immutable after parse.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/text/BpeMerge.h"

#include <nlohmann/json.hpp>

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace fusec::text {

struct StringHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};
using TokenMap = std::unordered_map<std::string, TokenId, StringHash, std::equal_to<>>;

class BpeModel {
public:
  /// `byteLevel`: the vocabulary is spelled in the byte-level alphabet.
  /// `reserved`: ids the model must never produce from plain text (added
  /// tokens that spell markers).
  static Result<BpeModel> parse(const nlohmann::json &spec, bool byteLevel, const std::vector<TokenId> &reserved);

  /// Appends the tokens of one word.
  void encodeWord(std::string_view word, std::vector<TokenId> &out) const;

  /// Spelling in the file by id, "" for holes.
  const std::vector<std::string> &spellings() const { return spellingOf; }

private:
  Status parseOptions(const nlohmann::json &spec);
  Status parseVocabulary(const nlohmann::json &vocabulary);
  Status parsePieces(const nlohmann::json &pieces);
  Status parseMerges(const nlohmann::json &merges);
  Status addMerge(std::string_view left, std::string_view right, int32_t rank);
  Status define(std::string spelling, int64_t id, size_t count);
  void indexSpecialSymbols(std::optional<TokenId> unknown);
  bool isReserved(TokenId id) const { return size_t(id) < reservedIds.size() && reservedIds[size_t(id)]; }

  void appendSymbol(size_t begin, size_t length, TokenId id, std::vector<BpeSymbol> &symbols) const;
  void mergeBytes(std::string_view word, std::vector<BpeSymbol> &symbols) const;
  bool startCharacters(std::string_view word, std::vector<BpeSymbol> &symbols) const;
  void appendUnmerged(std::string_view text, std::vector<TokenId> &out, bool &lastUnknown) const;
  std::optional<BpeMerge> rankedMerge(const BpeSymbol &left, const BpeSymbol &right) const;
  std::optional<BpeMerge> scoredMerge(std::string_view word, const BpeSymbol &left, const BpeSymbol &right) const;

  bool byteLevel = false;
  bool scored = false; ///< SentencePieceBPE.
  bool ignoreMerges = false, byteFallback = false, fuseUnknown = false;
  TokenId unknownId = kNoToken;
  std::string unknownSpelling;
  std::vector<std::string> spellingOf;
  std::vector<bool> reservedIds;
  std::unordered_set<std::string, StringHash, std::equal_to<>> reservedSpellings;
  TokenMap idOf;                                 ///< By text: raw bytes when byteLevel.
  std::vector<int32_t> rankOfId;                 ///< SentencePieceBPE: 0 = best score.
  size_t longestPiece = 0;                       ///< Bytes.
  std::unordered_map<uint64_t, BpeMerge> merges; ///< Key: left id << 32 | right id.
  std::array<TokenId, 256> byteIds{};            ///< Token of a single byte: itself or "<0xXX>".
};

} // namespace fusec::text
