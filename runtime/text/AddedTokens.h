//===- AddedTokens.h - finding control and added tokens in text ------------===//
//
// `added_tokens` of tokenizer.json: tokens that are cut out of the text before
// anything else, longest match first at each position, with the options
// lstrip, rstrip (white space beside them belongs to them), single_word and
// normalized (looked for after normalization).
//
// Threading: immutable after construction.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/text/TokenId.h"
#include "runtime/text/Utf8.h"

#include <nlohmann/json.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace fusec::text {

struct AddedToken {
  TokenId id = 0;
  std::string content;
  bool special = false, lstrip = false, rstrip = false, singleWord = false, normalized = false;

  /// Spells a marker (as opposed to a run of white space or a lone character),
  /// so a user could type it to forge one.
  bool isMarker() const;
};

/// The `added_tokens` array; empty when absent.
Result<std::vector<AddedToken>> parseAddedTokens(const nlohmann::json *list);

struct AddedTokenHit {
  TextRange range; ///< Includes white space taken by lstrip/rstrip.
  TokenId id;
};

class AddedTokenMatcher {
public:
  /// `pattern` is what to look for: the content, normalized where asked.
  void add(const AddedToken &token, std::string_view pattern);
  bool empty() const { return entries.empty(); }

  /// Hits in `text`, ascending. Markers are found only inside `allowed`
  /// (ascending, disjoint ranges); other added tokens everywhere.
  std::vector<AddedTokenHit> find(std::string_view text, std::span<const TextRange> allowed) const;

private:
  struct Entry {
    TokenId id;
    bool lstrip, rstrip, singleWord, marker;
  };
  struct Candidate {
    size_t end = 0;
    int32_t entry = -1;
  };
  Candidate longestAt(std::string_view text, size_t at, size_t markerLimit) const;
  static bool standsAlone(std::string_view text, size_t begin, size_t end);

  std::vector<Entry> entries;
  std::unordered_map<uint64_t, int32_t> edges; ///< node << 8 | byte -> node.
  std::vector<int32_t> entryAt{-1};            ///< By node; -1 when none ends there.
  std::array<bool, 256> starts{};              ///< Bytes some pattern begins with.
};

} // namespace fusec::text
