//===- Tokenizer.cpp - text to token ids and back --------------------------===//
#include "runtime/text/Tokenizer.h"

#include "runtime/text/Detokenizer.h"
#include "runtime/text/TokenizerTables.h"
#include "runtime/text/Utf8.h"

#include <algorithm>

namespace fusec::text {

namespace {

/// Byte offsets inside a word are 32 bits wide; far above any prompt.
constexpr size_t kMaxTextBytes = size_t(256) << 20;

/// Calls `stretch(begin, end)` and `token(id)` in text order.
template <typename Stretch, typename Token>
Status walkHits(size_t length, const std::vector<AddedTokenHit> &hits, Stretch stretch, Token token) {
  size_t at = 0;
  for (const AddedTokenHit &hit : hits) {
    if (at < hit.range.begin)
      FUSEC_RETURN_IF_ERROR(stretch(at, hit.range.begin));
    token(hit.id);
    at = hit.range.end;
  }
  if (at < length)
    FUSEC_RETURN_IF_ERROR(stretch(at, length));
  return {};
}

} // namespace

Status Tokenizer::Tables::encodePlain(std::string text, bool atTextStart, std::vector<TokenId> &out) const {
  FUSEC_ASSIGN_OR_RETURN(PreTokenized words, preTokenizer.run(std::move(text), atTextStart));
  for (const TextRange &piece : words.pieces)
    model.encodeWord(std::string_view(words.text).substr(piece.begin, piece.end - piece.begin), out);
  return {};
}

Status Tokenizer::Tables::encodeStretch(std::string_view text, bool atTextStart, bool allowMarkers,
                                        std::vector<TokenId> &out) const {
  FUSEC_ASSIGN_OR_RETURN(std::string normalized, normalizer.apply(text));
  if (normalizedMatcher.empty())
    return encodePlain(std::move(normalized), atTextStart, out);
  TextRange everything{0, allowMarkers ? normalized.size() : 0};
  std::vector<AddedTokenHit> hits = normalizedMatcher.find(normalized, {&everything, 1});
  return walkHits(
      normalized.size(), hits,
      [&](size_t begin, size_t end) {
        return encodePlain(normalized.substr(begin, end - begin), atTextStart && begin == 0, out);
      },
      [&](TokenId id) { out.push_back(id); });
}

Result<std::vector<TokenId>> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
  PromptSpan span{text, options.parseSpecial};
  return encodeSpans({&span, 1}, options.addSpecial);
}

Result<std::vector<TokenId>> Tokenizer::encodeSpans(std::span<const PromptSpan> spans, bool addSpecial) const {
  std::string text;
  std::vector<TextRange> allowed;
  for (const PromptSpan &span : spans) {
    size_t begin = text.size();
    if (span.text.size() > kMaxTextBytes - std::min(kMaxTextBytes, begin))
      return invalidArgument("text to tokenize: longer than " + std::to_string(kMaxTextBytes) + " bytes");
    text += replaceInvalidUtf8(span.text);
    if (!span.parseSpecial || text.size() == begin)
      continue;
    if (!allowed.empty() && allowed.back().end == begin)
      allowed.back().end = text.size();
    else
      allowed.push_back({begin, text.size()});
  }
  bool allowAll = !allowed.empty() && allowed.front() == TextRange{0, text.size()};
  // Where markers are allowed only here and there, all are looked for in the
  // text as given: positions are lost in normalization.
  bool mixed = !allowed.empty() && !allowAll;
  const AddedTokenMatcher &matcher = mixed ? tables->allMatcher : tables->rawMatcher;

  std::vector<TokenId> ids;
  ids.reserve(text.size() / 3 + 8);
  if (addSpecial)
    ids = tables->postProcessor.before;
  FUSEC_RETURN_IF_ERROR(walkHits(
      text.size(), matcher.find(text, allowed),
      [&](size_t begin, size_t end) {
        return tables->encodeStretch(std::string_view(text).substr(begin, end - begin), begin == 0, allowAll, ids);
      },
      [&](TokenId id) { ids.push_back(id); }));
  if (addSpecial)
    ids.insert(ids.end(), tables->postProcessor.after.begin(), tables->postProcessor.after.end());
  return ids;
}

std::string_view Tokenizer::piece(TokenId id) const {
  return id < 0 || id >= size() ? std::string_view() : std::string_view(tables->pieces[size_t(id)]);
}

std::string Tokenizer::decode(std::span<const TokenId> ids, bool skipSpecial) const {
  return decode(ids, DecodeOptions{.skipSpecial = skipSpecial});
}

std::string Tokenizer::decode(std::span<const TokenId> ids, DecodeOptions options) const {
  Detokenizer detokenizer(*this, options);
  std::string text;
  for (TokenId id : ids)
    text += detokenizer.push(id);
  return text += detokenizer.finish();
}

int64_t Tokenizer::size() const { return static_cast<int64_t>(tables->pieces.size()); }

std::optional<TokenId> Tokenizer::tokenToId(std::string_view content) const {
  auto found = tables->idOfSpelling.find(content);
  return found == tables->idOfSpelling.end() ? std::nullopt : std::optional(found->second);
}

bool Tokenizer::isSpecial(TokenId id) const {
  return id >= 0 && id < size() && (tables->flags[size_t(id)] & Tables::kSpecial) != 0;
}

bool Tokenizer::isAdded(TokenId id) const {
  return id >= 0 && id < size() && (tables->flags[size_t(id)] & Tables::kAdded) != 0;
}

std::optional<TokenId> Tokenizer::bosId() const { return tables->bos; }
std::optional<TokenId> Tokenizer::eosId() const { return tables->eos; }
const std::vector<TokenId> &Tokenizer::endIds() const { return tables->ends; }
int Tokenizer::leadingSpacesStripped() const { return tables->spacesStripped; }

} // namespace fusec::text
