//===- AddedTokens.cpp - finding control and added tokens in text ----------===//
#include "runtime/text/AddedTokens.h"

#include "runtime/base/Json.h"

#include <algorithm>
#include <limits>

namespace fusec::text {

bool AddedToken::isMarker() const {
  size_t characters = 0;
  bool visible = false;
  for (size_t at = 0; at < content.size(); ++characters) {
    CodePoint c = decodeUtf8(content, at);
    visible |= !isWhitespace(c.value);
    at += c.length;
  }
  return visible && (characters > 1 || special);
}

Result<std::vector<AddedToken>> parseAddedTokens(const nlohmann::json *list) {
  std::vector<AddedToken> tokens;
  if (list == nullptr)
    return tokens;
  if (!list->is_array())
    return invalidArgument("added_tokens: expected an array, found " + std::string(jsonTypeName(*list)));
  for (const nlohmann::json &item : *list) {
    std::string where = "added_tokens[" + std::to_string(tokens.size()) + "]";
    AddedToken token;
    Result<int64_t> id = jsonInt(item, "id");
    if (!id)
      return id.status().withContext(where);
    if (*id < 0 || *id > std::numeric_limits<TokenId>::max())
      return corruptData(where + ": id " + std::to_string(*id) + " is out of range");
    token.id = static_cast<TokenId>(*id);
    FUSEC_ASSIGN_OR_RETURN(token.content, jsonString(item, "content"));
    FUSEC_ASSIGN_OR_RETURN(token.special, jsonBoolOr(item, "special", false));
    FUSEC_ASSIGN_OR_RETURN(token.lstrip, jsonBoolOr(item, "lstrip", false));
    FUSEC_ASSIGN_OR_RETURN(token.rstrip, jsonBoolOr(item, "rstrip", false));
    FUSEC_ASSIGN_OR_RETURN(token.singleWord, jsonBoolOr(item, "single_word", false));
    FUSEC_ASSIGN_OR_RETURN(token.normalized, jsonBoolOr(item, "normalized", !token.special));
    tokens.push_back(std::move(token));
  }
  return tokens;
}

void AddedTokenMatcher::add(const AddedToken &token, std::string_view pattern) {
  if (pattern.empty())
    return;
  int32_t node = 0;
  for (char c : pattern) {
    uint64_t key = uint64_t(uint32_t(node)) << 8 | static_cast<unsigned char>(c);
    auto [edge, inserted] = edges.try_emplace(key, int32_t(entryAt.size()));
    if (inserted)
      entryAt.push_back(-1);
    node = edge->second;
  }
  starts[static_cast<unsigned char>(pattern[0])] = true;
  if (entryAt[size_t(node)] >= 0)
    return; // Two tokens of one spelling: the first listed wins.
  entryAt[size_t(node)] = int32_t(entries.size());
  entries.push_back({token.id, token.lstrip, token.rstrip, token.singleWord, token.isMarker()});
}

/// Longest pattern beginning at `at`; markers must end by `markerLimit`.
AddedTokenMatcher::Candidate AddedTokenMatcher::longestAt(std::string_view text, size_t at, size_t markerLimit) const {
  Candidate best;
  int32_t node = 0;
  for (size_t i = at; i < text.size(); ++i) {
    auto edge = edges.find(uint64_t(uint32_t(node)) << 8 | static_cast<unsigned char>(text[i]));
    if (edge == edges.end())
      break;
    node = edge->second;
    int32_t entry = entryAt[size_t(node)];
    if (entry >= 0 && (!entries[size_t(entry)].marker || i + 1 <= markerLimit))
      best = {i + 1, entry};
  }
  return best;
}

namespace {

/// Start of the character that ends at byte `end` (> 0).
size_t characterBefore(std::string_view text, size_t end) {
  size_t begin = end - 1;
  while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80)
    --begin;
  return begin;
}

size_t skipSpacesBack(std::string_view text, size_t at, size_t floor) {
  while (at > floor) {
    size_t before = characterBefore(text, at);
    if (before < floor || !isWhitespace(decodeUtf8(text, before).value))
      break;
    at = before;
  }
  return at;
}

size_t skipSpaces(std::string_view text, size_t at) {
  while (at < text.size()) {
    CodePoint c = decodeUtf8(text, at);
    if (!isWhitespace(c.value))
      break;
    at += c.length;
  }
  return at;
}

} // namespace

bool AddedTokenMatcher::standsAlone(std::string_view text, size_t begin, size_t end) {
  bool wordBefore = begin > 0 && isWordCharacter(decodeUtf8(text, characterBefore(text, begin)).value);
  bool wordAfter = end < text.size() && isWordCharacter(decodeUtf8(text, end).value);
  return !wordBefore && !wordAfter;
}

std::vector<AddedTokenHit> AddedTokenMatcher::find(std::string_view text, std::span<const TextRange> allowed) const {
  std::vector<AddedTokenHit> hits;
  size_t done = 0, zone = 0;
  for (size_t at = 0; at < text.size();) {
    if (!starts[static_cast<unsigned char>(text[at])]) {
      ++at;
      continue;
    }
    while (zone < allowed.size() && allowed[zone].end <= at)
      ++zone;
    bool inZone = zone < allowed.size() && allowed[zone].begin <= at;
    Candidate match = longestAt(text, at, inZone ? allowed[zone].end : at);
    if (match.entry < 0) {
      ++at;
      continue;
    }
    const Entry &entry = entries[size_t(match.entry)];
    if (!entry.singleWord || standsAlone(text, at, match.end)) {
      TextRange range{entry.lstrip ? skipSpacesBack(text, at, done) : at,
                      entry.rstrip ? skipSpaces(text, match.end) : match.end};
      hits.push_back({range, entry.id});
      done = match.end = range.end;
    }
    at = match.end;
  }
  return hits;
}

} // namespace fusec::text
