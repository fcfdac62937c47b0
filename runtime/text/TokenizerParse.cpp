//===- TokenizerParse.cpp - reading tokenizer.json -------------------------===//
#include "runtime/text/Tokenizer.h"

#include "runtime/base/Json.h"
#include "runtime/text/Decoder.h"
#include "runtime/text/TokenizerTables.h"

#include <algorithm>

namespace fusec::text {

/// Builds the tables of one document, stage by stage.
class TokenizerParser {
public:
  explicit TokenizerParser(const nlohmann::json &document) : document(document) {}

  Result<Tokenizer> run() {
    FUSEC_RETURN_IF_ERROR(parseStages());
    FUSEC_RETURN_IF_ERROR(buildPieces());
    FUSEC_RETURN_IF_ERROR(buildMatchers());
    FUSEC_RETURN_IF_ERROR(parseExtension());
    FUSEC_RETURN_IF_ERROR(checkIds(tables->postProcessor.before, "post_processor"));
    FUSEC_RETURN_IF_ERROR(checkIds(tables->postProcessor.after, "post_processor"));
    return Tokenizer(std::shared_ptr<const Tokenizer::Tables>(std::move(tables)));
  }

private:
  Status parseStages() {
    FUSEC_ASSIGN_OR_RETURN(tables->normalizer, Normalizer::parse(jsonFind(document, "normalizer")));
    FUSEC_ASSIGN_OR_RETURN(tables->preTokenizer, PreTokenizer::parse(jsonFind(document, "pre_tokenizer")));
    FUSEC_ASSIGN_OR_RETURN(tables->postProcessor, PostProcessor::parse(jsonFind(document, "post_processor")));
    FUSEC_ASSIGN_OR_RETURN(added, parseAddedTokens(jsonFind(document, "added_tokens")));
    FUSEC_ASSIGN_OR_RETURN(const nlohmann::json *model, jsonObject(document, "model"));
    size_t entries = added.size();
    if (const nlohmann::json *vocabulary = jsonFind(*model, "vocab"))
      entries += vocabulary->size();
    std::vector<TokenId> reserved;
    for (const AddedToken &token : added) {
      // A stray large id must not make us allocate for it.
      if (token.id >= int64_t(entries) * 2 + 65536)
        return corruptData("added_tokens: id " + std::to_string(token.id) + " is far outside a vocabulary of " +
                           std::to_string(entries));
      if (token.isMarker())
        reserved.push_back(token.id);
    }
    FUSEC_ASSIGN_OR_RETURN(tables->model, BpeModel::parse(*model, tables->preTokenizer.isByteLevel(), reserved));
    return {};
  }

  Status buildPieces() {
    FUSEC_ASSIGN_OR_RETURN(Decoder decoder,
                           Decoder::parse(jsonFind(document, "decoder"), tables->preTokenizer.isByteLevel()));
    tables->spacesStripped = decoder.leadingSpacesStripped();
    const std::vector<std::string> &spellings = tables->model.spellings();
    tables->pieces.reserve(spellings.size() + added.size());
    for (size_t id = 0; id < spellings.size(); ++id) {
      tables->pieces.push_back(decoder.bytesOf(spellings[id]));
      if (!spellings[id].empty())
        tables->idOfSpelling.emplace(spellings[id], TokenId(id));
    }
    tables->flags.resize(tables->pieces.size());
    for (const AddedToken &token : added) {
      auto id = static_cast<size_t>(token.id);
      if (id >= tables->pieces.size()) {
        tables->pieces.resize(id + 1);
        tables->flags.resize(id + 1);
      }
      // An added token reads as its content, whatever the decoder does to others.
      tables->pieces[id] = token.content;
      tables->flags[id] =
          static_cast<uint8_t>(Tokenizer::Tables::kAdded | (token.special ? Tokenizer::Tables::kSpecial : 0));
      tables->idOfSpelling.insert_or_assign(token.content, token.id);
    }
    return {};
  }

  Status buildMatchers() {
    for (const AddedToken &token : added) {
      tables->allMatcher.add(token, token.content);
      if (!token.normalized) {
        tables->rawMatcher.add(token, token.content);
        continue;
      }
      FUSEC_ASSIGN_OR_RETURN(std::string pattern, tables->normalizer.apply(token.content));
      tables->normalizedMatcher.add(token, pattern);
    }
    return {};
  }

  Status parseExtension() {
    const nlohmann::json *extension = jsonFind(document, "fusec");
    if (extension == nullptr)
      return {};
    FUSEC_ASSIGN_OR_RETURN(tables->bos, optionalId(*extension, "bos_id"));
    FUSEC_ASSIGN_OR_RETURN(tables->eos, optionalId(*extension, "eos_id"));
    if (tables->eos)
      tables->ends.push_back(*tables->eos);
    if (jsonFind(*extension, "end_ids") != nullptr) {
      FUSEC_ASSIGN_OR_RETURN(const nlohmann::json *list, jsonArray(*extension, "end_ids"));
      for (const nlohmann::json &value : *list) {
        FUSEC_ASSIGN_OR_RETURN(TokenId id, checkedId(value, "end_ids"));
        tables->ends.push_back(id);
      }
    }
    std::sort(tables->ends.begin(), tables->ends.end());
    tables->ends.erase(std::unique(tables->ends.begin(), tables->ends.end()), tables->ends.end());
    return {};
  }

  Result<std::optional<TokenId>> optionalId(const nlohmann::json &extension, const char *key) {
    const nlohmann::json *value = jsonFind(extension, key);
    if (value == nullptr)
      return std::optional<TokenId>();
    FUSEC_ASSIGN_OR_RETURN(TokenId id, checkedId(*value, key));
    return std::optional<TokenId>(id);
  }

  Result<TokenId> checkedId(const nlohmann::json &value, const char *key) {
    if (!value.is_number_unsigned() || value.get<uint64_t>() >= tables->pieces.size())
      return corruptData(std::string("fusec.") + key + ": expected a token id below " +
                         std::to_string(tables->pieces.size()));
    return static_cast<TokenId>(value.get<uint64_t>());
  }

  Status checkIds(const std::vector<TokenId> &ids, const char *what) {
    for (TokenId id : ids)
      if (size_t(id) >= tables->pieces.size())
        return corruptData(std::string(what) + ": token id " + std::to_string(id) + " is outside the vocabulary of " +
                           std::to_string(tables->pieces.size()));
    return {};
  }

  const nlohmann::json &document;
  std::shared_ptr<Tokenizer::Tables> tables = std::make_shared<Tokenizer::Tables>();
  std::vector<AddedToken> added;
};

Result<Tokenizer> Tokenizer::parse(std::string_view json) {
  FUSEC_ASSIGN_OR_RETURN(nlohmann::json document, parseJson(json, "tokenizer"));
  Result<Tokenizer> tokenizer = TokenizerParser(document).run();
  return tokenizer ? std::move(tokenizer) : Result<Tokenizer>(tokenizer.status().withContext("tokenizer"));
}

Result<Tokenizer> Tokenizer::load(const std::filesystem::path &tokenizerJson) {
  FUSEC_ASSIGN_OR_RETURN(nlohmann::json document, readJsonFile(tokenizerJson));
  Result<Tokenizer> tokenizer = TokenizerParser(document).run();
  return tokenizer ? std::move(tokenizer) : Result<Tokenizer>(tokenizer.status().withContext(tokenizerJson.string()));
}

} // namespace fusec::text
