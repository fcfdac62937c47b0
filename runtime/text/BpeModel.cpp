//===- BpeModel.cpp - words to token ids -----------------------------------===//
#include "runtime/text/BpeModel.h"

#include "runtime/text/Utf8.h"

namespace fusec::text {

std::optional<BpeMerge> BpeModel::rankedMerge(const BpeSymbol &left, const BpeSymbol &right) const {
  if (left.id < 0 || right.id < 0)
    return std::nullopt;
  auto found = merges.find(uint64_t(uint32_t(left.id)) << 32 | uint32_t(right.id));
  return found == merges.end() ? std::nullopt : std::optional(found->second);
}

std::optional<BpeMerge> BpeModel::scoredMerge(std::string_view word, const BpeSymbol &left,
                                              const BpeSymbol &right) const {
  size_t length = size_t(left.length) + size_t(right.length);
  if (length > longestPiece)
    return std::nullopt;
  auto found = idOf.find(word.substr(size_t(left.begin), length));
  if (found == idOf.end())
    return std::nullopt;
  return BpeMerge{rankOfId[size_t(found->second)], found->second};
}

namespace {

void link(std::vector<BpeSymbol> &symbols) {
  for (size_t i = 0; i < symbols.size(); ++i) {
    symbols[i].previous = int32_t(i) - 1;
    symbols[i].next = i + 1 < symbols.size() ? int32_t(i) + 1 : -1;
  }
}

} // namespace

/// A merge list without an unknown token drops what the vocabulary lacks before
/// merging, so its neighbours may merge; score models keep it as a barrier.
void BpeModel::appendSymbol(size_t begin, size_t length, TokenId id, std::vector<BpeSymbol> &symbols) const {
  if (id != kNoToken || scored || unknownId != kNoToken)
    symbols.push_back({int32_t(begin), int32_t(length), id, -1, -1});
}

void BpeModel::mergeBytes(std::string_view word, std::vector<BpeSymbol> &symbols) const {
  symbols.clear();
  for (size_t i = 0; i < word.size(); ++i)
    appendSymbol(i, 1, byteIds[static_cast<unsigned char>(word[i])], symbols);
  link(symbols);
  mergeSymbols(symbols, [&](const BpeSymbol &a, const BpeSymbol &b) { return rankedMerge(a, b); });
}

/// One symbol per character; with merges, a character outside the vocabulary
/// becomes its byte tokens at once, because merges may continue from those.
bool BpeModel::startCharacters(std::string_view word, std::vector<BpeSymbol> &symbols) const {
  symbols.clear();
  for (size_t at = 0; at < word.size();) {
    size_t length = std::min(utf8Length(word[at]), word.size() - at);
    auto found = idOf.find(word.substr(at, length));
    TokenId id = found == idOf.end() ? kNoToken : found->second;
    bool asBytes = id == kNoToken && !scored && byteFallback;
    for (size_t i = 0; asBytes && i < length; ++i)
      asBytes = byteIds[static_cast<unsigned char>(word[at + i])] != kNoToken;
    if (asBytes)
      for (size_t i = 0; i < length; ++i)
        appendSymbol(at + i, 1, byteIds[static_cast<unsigned char>(word[at + i])], symbols);
    else
      appendSymbol(at, length, id, symbols);
    at += length;
  }
  link(symbols);
  return !symbols.empty();
}

/// A symbol the vocabulary lacks: its byte tokens, else the unknown token,
/// else nothing.
void BpeModel::appendUnmerged(std::string_view text, std::vector<TokenId> &out, bool &lastUnknown) const {
  bool asBytes = byteFallback;
  for (size_t i = 0; asBytes && i < text.size(); ++i)
    asBytes = byteIds[static_cast<unsigned char>(text[i])] != kNoToken;
  if (asBytes) {
    for (char c : text)
      out.push_back(byteIds[static_cast<unsigned char>(c)]);
    lastUnknown = false;
    return;
  }
  if (unknownId != kNoToken && !(lastUnknown && fuseUnknown))
    out.push_back(unknownId);
  lastUnknown = true;
}

void BpeModel::encodeWord(std::string_view word, std::vector<TokenId> &out) const {
  if (word.empty())
    return;
  if (ignoreMerges)
    if (auto whole = idOf.find(word); whole != idOf.end()) {
      out.push_back(whole->second);
      return;
    }
  std::vector<BpeSymbol> symbols;
  symbols.reserve(word.size());
  if (byteLevel) {
    mergeBytes(word, symbols);
  } else if (startCharacters(word, symbols)) {
    if (scored)
      mergeSymbols(symbols, [&](const BpeSymbol &a, const BpeSymbol &b) { return scoredMerge(word, a, b); });
    else
      mergeSymbols(symbols, [&](const BpeSymbol &a, const BpeSymbol &b) { return rankedMerge(a, b); });
  }
  bool lastUnknown = false;
  for (const BpeSymbol &symbol : symbols) {
    if (symbol.length == 0)
      continue;
    if (symbol.id != kNoToken) {
      out.push_back(symbol.id);
      lastUnknown = false;
    } else {
      appendUnmerged(word.substr(size_t(symbol.begin), size_t(symbol.length)), out, lastUnknown);
    }
  }
}

} // namespace fusec::text
