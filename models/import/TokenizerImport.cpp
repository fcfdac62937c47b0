//===- TokenizerImport.cpp - HF directories and SentencePiece models -------===//
#include "models/import/TokenizerImport.h"

#include "models/import/Quote.h"
#include "models/import/SentencePieceModel.h"
#include "models/import/TokenizerDocument.h"
#include "runtime/base/Json.h"
#include "runtime/base/MappedFile.h"
#include "runtime/text/Utf8.h"

#include <array>
#include <set>
#include <string>
#include <vector>

namespace fusec::models {

namespace {

using nlohmann::json;

Status checkSupported(const SentencePieceModel &model) {
  constexpr std::array<std::string_view, 5> kKinds{"?", "unigram", "BPE", "word", "char"};
  if (model.modelType != 2) {
    std::string_view kind = model.modelType > 0 && model.modelType < 5 ? kKinds[size_t(model.modelType)] : kKinds[0];
    return unsupported("SentencePiece model: type " + std::string(kind) + " is not supported, expected BPE");
  }
  if (!model.precompiledCharsmap.empty())
    return unsupported("SentencePiece model: normalizer " + quote(model.normalizerName) +
                       " is not supported, expected 'identity'");
  if (model.whitespaceAsSuffix || !model.escapeWhitespace)
    return unsupported("SentencePiece model: white space as suffix or unescaped is not supported");
  return {};
}

Result<std::vector<VocabularyEntry>> vocabularyOf(const SentencePieceModel &model) {
  std::vector<VocabularyEntry> vocabulary;
  vocabulary.reserve(model.pieces.size());
  for (const SentencePieceModel::Piece &piece : model.pieces) {
    std::string where = "SentencePiece model: piece " + std::to_string(vocabulary.size());
    if (!text::isValidUtf8(piece.text))
      return corruptData(where + " is not valid UTF-8");
    if (piece.type < int64_t(TokenType::Normal) || piece.type > int64_t(TokenType::Byte))
      return corruptData(where + ": type " + std::to_string(piece.type) + ", expected 1 to 6");
    if (piece.type == int64_t(TokenType::Unused)) // Merges pass through it but it is cut up again afterwards.
      return unsupported(where + ": unused pieces are not supported");
    vocabulary.push_back({piece.text, piece.score, TokenType(piece.type), false});
  }
  return vocabulary;
}

std::optional<int64_t> idOrNone(int64_t id, size_t size) {
  return id >= 0 && id < int64_t(size) ? std::optional<int64_t>(id) : std::nullopt;
}

/// BOS/EOS as the JSON files beside a tokenizer state them.
struct Companions {
  std::optional<std::string> bos, eos;
  std::optional<bool> addBos, addEos;
  std::string tokenizerClass;
  std::vector<int64_t> ends;
  json addedTokens = json::object(); ///< added_tokens_decoder: id -> token.
};

Result<json> readOptional(const std::filesystem::path &path) {
  std::error_code error;
  return std::filesystem::exists(path, error) ? readJsonFile(path) : Result<json>(json::object());
}

/// "eos_token": "</s>" or {"content": "</s>", ...}.
std::optional<std::string> tokenContent(const json &config, const char *key) {
  const json *token = jsonFind(config, key);
  if (token != nullptr && token->is_object())
    token = jsonFind(*token, "content");
  return token != nullptr && token->is_string() ? std::optional(token->get<std::string>()) : std::nullopt;
}

Result<Companions> readCompanions(const std::filesystem::path &directory) {
  Companions result;
  FUSEC_ASSIGN_OR_RETURN(json config, readOptional(directory / "tokenizer_config.json"));
  FUSEC_ASSIGN_OR_RETURN(json map, readOptional(directory / "special_tokens_map.json"));
  FUSEC_ASSIGN_OR_RETURN(json generation, readOptional(directory / "generation_config.json"));
  result.bos = tokenContent(config, "bos_token");
  result.eos = tokenContent(config, "eos_token");
  if (!result.bos && !config.contains("bos_token"))
    result.bos = tokenContent(map, "bos_token");
  if (!result.eos && !config.contains("eos_token"))
    result.eos = tokenContent(map, "eos_token");
  if (const json *add = jsonFind(config, "add_bos_token"); add != nullptr && add->is_boolean())
    result.addBos = add->get<bool>();
  if (const json *add = jsonFind(config, "add_eos_token"); add != nullptr && add->is_boolean())
    result.addEos = add->get<bool>();
  FUSEC_ASSIGN_OR_RETURN(result.tokenizerClass, jsonStringOr(config, "tokenizer_class", ""));
  if (const json *added = jsonFind(config, "added_tokens_decoder"); added != nullptr && added->is_object())
    result.addedTokens = *added;
  if (const json *eos = jsonFind(generation, "eos_token_id"))
    for (const json &id : eos->is_array() ? *eos : json::array({*eos}))
      if (id.is_number_unsigned() && id.get<uint64_t>() < (uint64_t(1) << 31))
        result.ends.push_back(id.get<int64_t>());
  return result;
}

/// Appends tokens that only tokenizer_config.json lists.
Status mergeAddedTokens(json &document, const Companions &companions) {
  json &list = document["added_tokens"];
  if (list.is_null())
    list = json::array();
  if (!list.is_array())
    return invalidArgument("added_tokens: expected an array, found " + std::string(jsonTypeName(list)));
  std::set<int64_t> known;
  for (const json &token : list)
    if (Result<int64_t> id = jsonInt(token, "id"))
      known.insert(*id);
  for (const auto &[key, token] : companions.addedTokens.items()) {
    bool numeric = !key.empty() && key.size() < 9 && key.find_first_not_of("0123456789") == std::string::npos;
    if (!numeric || !token.is_object())
      return corruptData("added_tokens_decoder: " + quote(key) + ": expected an id and a token");
    int64_t id = std::stoll(key);
    if (known.contains(id))
      continue;
    json row = token;
    row["id"] = id;
    list.push_back(std::move(row));
  }
  return {};
}

std::optional<int64_t> findId(const json &document, const std::optional<std::string> &content) {
  if (!content)
    return std::nullopt;
  for (const json &token : document["added_tokens"])
    if (Result<std::string> spelling = jsonString(token, "content"); spelling && *spelling == *content)
      if (Result<int64_t> id = jsonInt(token, "id"))
        return *id;
  const json *model = jsonFind(document, "model");
  const json *vocabulary = model != nullptr ? jsonFind(*model, "vocab") : nullptr;
  const json *id = vocabulary != nullptr ? jsonFind(*vocabulary, *content) : nullptr;
  return id != nullptr && id->is_number_unsigned() ? std::optional(id->get<int64_t>()) : std::nullopt;
}

/// Llama-like tokenizer classes build their post-processor from the config
/// instead of taking the one in tokenizer.json.
void overridePostProcessor(json &document, const Companions &companions, const SpecialIds &ids) {
  bool llamaLike = false;
  for (std::string_view prefix : {"Llama", "CodeLlama", "Gemma"})
    llamaLike |= companions.tokenizerClass.starts_with(prefix);
  if (!llamaLike || (!companions.addBos && !companions.addEos))
    return;
  NamedToken bos, eos;
  if (companions.addBos.value_or(true) && ids.bos)
    bos.emplace(*companions.bos, *ids.bos);
  if (companions.addEos.value_or(false) && ids.eos)
    eos.emplace(*companions.eos, *ids.eos);
  document["post_processor"] = templatePostProcessor(bos, eos);
}

Result<json> importHfJson(const std::filesystem::path &directory, const Companions &companions) {
  FUSEC_ASSIGN_OR_RETURN(json document, readJsonFile(directory / "tokenizer.json"));
  if (!document.is_object())
    return invalidArgument("tokenizer.json: expected an object, found " + std::string(jsonTypeName(document)));
  FUSEC_RETURN_IF_ERROR(mergeAddedTokens(document, companions));
  SpecialIds ids;
  ids.bos = findId(document, companions.bos);
  ids.eos = findId(document, companions.eos);
  ids.ends = companions.ends;
  overridePostProcessor(document, companions, ids);
  setExtension(document, ids);
  document.erase("truncation"); // Serving never cuts or pads.
  document.erase("padding");
  return document;
}

Result<json> sentencePieceJson(std::span<const std::byte> bytes, const Companions &companions) {
  FUSEC_ASSIGN_OR_RETURN(SentencePieceModel model, SentencePieceModel::parse(bytes));
  FUSEC_RETURN_IF_ERROR(checkSupported(model));
  FUSEC_ASSIGN_OR_RETURN(std::vector<VocabularyEntry> vocabulary, vocabularyOf(model));
  SentencePieceOptions options{model.addDummyPrefix, model.removeExtraWhitespace, model.byteFallback,
                               idOrNone(model.unknownId, vocabulary.size())};
  SpecialIds ids;
  ids.bos = idOrNone(model.bosId, vocabulary.size());
  ids.eos = idOrNone(model.eosId, vocabulary.size());
  ids.addBos = companions.addBos.value_or(true);
  ids.addEos = companions.addEos.value_or(false);
  ids.ends = companions.ends;
  json document = sentencePieceDocument(vocabulary, options);
  FUSEC_RETURN_IF_ERROR(mergeAddedTokens(document, companions));
  FUSEC_RETURN_IF_ERROR(setPostProcessor(document, ids, vocabulary));
  setExtension(document, ids);
  return document;
}

} // namespace

Result<json> importSentencePiece(std::span<const std::byte> model) {
  FUSEC_ASSIGN_OR_RETURN(json document, sentencePieceJson(model, {}));
  return checkedDocument(std::move(document));
}

Result<json> importTokenizer(const std::filesystem::path &directory) {
  FUSEC_ASSIGN_OR_RETURN(Companions companions, readCompanions(directory));
  std::error_code error;
  if (std::filesystem::exists(directory / "tokenizer.json", error)) {
    FUSEC_ASSIGN_OR_RETURN(json document, importHfJson(directory, companions));
    return checkedDocument(std::move(document));
  }
  if (!std::filesystem::exists(directory / "tokenizer.model", error))
    return notFound(directory.string() + ": neither tokenizer.json nor tokenizer.model");
  FUSEC_ASSIGN_OR_RETURN(MappedFile file, MappedFile::open(directory / "tokenizer.model"));
  FUSEC_ASSIGN_OR_RETURN(json document, sentencePieceJson(file.bytes(), companions));
  return checkedDocument(std::move(document));
}

} // namespace fusec::models
