//===- BpeModelParse.cpp - `model` of tokenizer.json -----------------------===//
#include "runtime/text/BpeModel.h"

#include "runtime/base/Json.h"
#include "runtime/text/ByteLevel.h"
#include "runtime/text/Decoder.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fusec::text {

namespace {

/// Ids may have holes, but a stray large one must not make us allocate for it.
int64_t idLimit(size_t count) { return int64_t(count) * 2 + 65536; }

std::string inQuotes(std::string_view text) { return "'" + std::string(text.substr(0, 64)) + "'"; }

} // namespace

Result<BpeModel> BpeModel::parse(const nlohmann::json &spec, bool byteLevel, const std::vector<TokenId> &reserved) {
  BpeModel model;
  model.byteLevel = byteLevel;
  for (TokenId id : reserved) {
    if (size_t(id) >= model.reservedIds.size())
      model.reservedIds.resize(size_t(id) + 1);
    model.reservedIds[size_t(id)] = true;
  }
  FUSEC_RETURN_IF_ERROR(model.parseOptions(spec));
  std::optional<TokenId> unknown;
  if (model.scored) {
    FUSEC_ASSIGN_OR_RETURN(const nlohmann::json *pieces, jsonArray(spec, "vocab"));
    FUSEC_RETURN_IF_ERROR(model.parsePieces(*pieces));
    FUSEC_ASSIGN_OR_RETURN(int64_t id, jsonIntOr(spec, "unk_id", -1));
    if (id >= int64_t(model.spellingOf.size()))
      return corruptData("model: unk_id " + std::to_string(id) + " is outside the vocabulary of " +
                         std::to_string(model.spellingOf.size()));
    if (id >= 0)
      unknown = TokenId(id);
  } else {
    FUSEC_ASSIGN_OR_RETURN(const nlohmann::json *vocabulary, jsonObject(spec, "vocab"));
    FUSEC_RETURN_IF_ERROR(model.parseVocabulary(*vocabulary));
  }
  model.indexSpecialSymbols(unknown);
  if (!model.scored) {
    FUSEC_ASSIGN_OR_RETURN(const nlohmann::json *merges, jsonArray(spec, "merges"));
    FUSEC_RETURN_IF_ERROR(model.parseMerges(*merges));
  }
  return model;
}

Status BpeModel::parseOptions(const nlohmann::json &spec) {
  // Old files leave the type out; a vocabulary with merges can only be BPE.
  FUSEC_ASSIGN_OR_RETURN(std::string type, jsonStringOr(spec, "type", spec.contains("merges") ? "BPE" : "unnamed"));
  if (type != "BPE" && type != "SentencePieceBPE")
    return unsupported("model: type '" + type + "' is not supported, expected BPE or SentencePieceBPE");
  scored = type == "SentencePieceBPE";
  FUSEC_ASSIGN_OR_RETURN(double dropout, jsonFloatOr(spec, "dropout", 0));
  if (dropout != 0)
    return unsupported("model: dropout is not supported");
  for (const char *key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    FUSEC_ASSIGN_OR_RETURN(std::string affix, jsonStringOr(spec, key, ""));
    if (!affix.empty())
      return unsupported(std::string("model: ") + key + " " + inQuotes(affix) + " is not supported");
  }
  FUSEC_ASSIGN_OR_RETURN(ignoreMerges, jsonBoolOr(spec, "ignore_merges", false));
  FUSEC_ASSIGN_OR_RETURN(byteFallback, jsonBoolOr(spec, "byte_fallback", false));
  FUSEC_ASSIGN_OR_RETURN(fuseUnknown, jsonBoolOr(spec, "fuse_unk", scored));
  FUSEC_ASSIGN_OR_RETURN(unknownSpelling, jsonStringOr(spec, "unk_token", ""));
  if (scored && byteLevel)
    return unsupported("model: SentencePieceBPE with a ByteLevel pre-tokenizer");
  return {};
}

Status BpeModel::define(std::string spelling, int64_t id, size_t count) {
  if (id < 0 || id >= idLimit(count))
    return corruptData("model: token " + inQuotes(spelling) + " has id " + std::to_string(id) + ", expected 0 to " +
                       std::to_string(idLimit(count) - 1) + " in a vocabulary of " + std::to_string(count));
  if (size_t(id) >= spellingOf.size())
    spellingOf.resize(size_t(id) + 1);
  if (!spellingOf[size_t(id)].empty())
    return corruptData("model: id " + std::to_string(id) + " belongs to " + inQuotes(spellingOf[size_t(id)]) +
                       " and to " + inQuotes(spelling));
  if (isReserved(TokenId(id)))
    reservedSpellings.insert(spelling);
  spellingOf[size_t(id)] = std::move(spelling);
  return {};
}

Status BpeModel::parseVocabulary(const nlohmann::json &vocabulary) {
  idOf.reserve(vocabulary.size());
  for (const auto &[spelling, id] : vocabulary.items()) {
    if (!id.is_number_integer())
      return corruptData("model: token " + inQuotes(spelling) + ": expected an integer id, found " +
                         std::string(jsonTypeName(id)));
    int64_t value = id.is_number_unsigned() && id.get<uint64_t>() > uint64_t(std::numeric_limits<int32_t>::max())
                        ? std::numeric_limits<int32_t>::max()
                        : id.get<int64_t>();
    FUSEC_RETURN_IF_ERROR(define(spelling, value, vocabulary.size()));
    std::optional<std::string> text = byteLevel ? alphabetToBytes(spelling) : spelling;
    // Spellings outside the alphabet exist (control tokens) but no text reaches them.
    if (text && !text->empty() && !isReserved(TokenId(value)))
      idOf.emplace(std::move(*text), TokenId(value));
  }
  return {};
}

Status BpeModel::parsePieces(const nlohmann::json &pieces) {
  std::vector<std::pair<float, TokenId>> byScore;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const nlohmann::json &row = pieces[i];
    if (!row.is_array() || row.size() != 2 || !row[0].is_string() || !(row[1].is_number() || row[1].is_null()))
      return corruptData("model: vocab[" + std::to_string(i) + "]: expected [string, number or null]");
    const std::string &spelling = row[0].get_ref<const std::string &>();
    FUSEC_RETURN_IF_ERROR(define(spelling, int64_t(i), pieces.size()));
    if (row[1].is_null() || spelling.empty() || isReserved(TokenId(i)))
      continue; // Never produced by merging: control tokens, bytes, unused rows.
    auto score = row[1].get<float>();
    if (!std::isfinite(score))
      return corruptData("model: vocab[" + std::to_string(i) + "]: score is not finite");
    if (idOf.emplace(spelling, TokenId(i)).second)
      byScore.emplace_back(score, TokenId(i));
    longestPiece = std::max(longestPiece, spelling.size());
  }
  std::sort(byScore.begin(), byScore.end(), [](const auto &a, const auto &b) { return a.first > b.first; });
  rankOfId.assign(pieces.size(), std::numeric_limits<int32_t>::max());
  int32_t rank = 0;
  for (size_t i = 0; i < byScore.size(); ++i) {
    if (i > 0 && byScore[i].first != byScore[i - 1].first)
      ++rank; // Equal scores share a rank, so that the leftmost pair wins.
    rankOfId[size_t(byScore[i].second)] = rank;
  }
  return {};
}

void BpeModel::indexSpecialSymbols(std::optional<TokenId> unknown) {
  byteIds.fill(kNoToken);
  for (size_t id = 0; !byteLevel && id < spellingOf.size(); ++id)
    if (std::optional<unsigned char> byte = parseByteToken(spellingOf[id]))
      byteIds[*byte] = TokenId(id);
  for (int byte = 0; byteLevel && byte < 256; ++byte)
    if (auto found = idOf.find(std::string(1, char(byte))); found != idOf.end())
      byteIds[size_t(byte)] = found->second;
  for (size_t id = 0; !unknownSpelling.empty() && id < spellingOf.size(); ++id)
    if (spellingOf[id] == unknownSpelling)
      unknown = TokenId(id);
  unknownId = unknown.value_or(kNoToken);
}

Status BpeModel::parseMerges(const nlohmann::json &list) {
  merges.reserve(list.size());
  int32_t rank = 0;
  for (const nlohmann::json &merge : list) {
    std::string where = "model: merges[" + std::to_string(rank) + "]";
    if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      FUSEC_RETURN_IF_ERROR(
          addMerge(merge[0].get_ref<const std::string &>(), merge[1].get_ref<const std::string &>(), rank)
              .withContext(where));
    } else if (merge.is_string()) {
      std::string_view pair = merge.get_ref<const std::string &>();
      size_t space = pair.find(' ');
      if (space == std::string_view::npos || space == 0 || space + 1 == pair.size())
        return corruptData(where + ": expected 'left right', found " + inQuotes(pair));
      FUSEC_RETURN_IF_ERROR(addMerge(pair.substr(0, space), pair.substr(space + 1), rank).withContext(where));
    } else {
      return corruptData(where + ": expected two strings, found " + std::string(jsonTypeName(merge)));
    }
    ++rank;
  }
  return {};
}

Status BpeModel::addMerge(std::string_view left, std::string_view right, int32_t rank) {
  std::string a(left), b(right);
  if (byteLevel) {
    std::optional<std::string> rawLeft = alphabetToBytes(left), rawRight = alphabetToBytes(right);
    if (!rawLeft || !rawRight)
      return corruptData(inQuotes(!rawLeft ? left : right) + " is not spelled in the byte-level alphabet");
    a = std::move(*rawLeft);
    b = std::move(*rawRight);
  }
  auto leftId = idOf.find(a), rightId = idOf.find(b), product = idOf.find(a + b);
  if (leftId != idOf.end() && rightId != idOf.end() && product != idOf.end()) {
    merges[uint64_t(uint32_t(leftId->second)) << 32 | uint32_t(rightId->second)] = {rank, product->second};
    return {};
  }
  // A merge into or from a reserved marker is dropped, so that plain text never
  // becomes a control token; any other gap is a broken file.
  if (reservedSpellings.contains(std::string(left) + std::string(right)) || reservedSpellings.contains(left) ||
      reservedSpellings.contains(right))
    return {};
  return corruptData("merge " + inQuotes(left) + " + " + inQuotes(right) +
                     " uses a token that is not in the vocabulary");
}

} // namespace fusec::text
