//===- GgufTokenizer.cpp - `tokenizer.ggml.*` to tokenizer.json ------------===//
#include "models/import/TokenizerImport.h"

#include "models/import/Quote.h"
#include "models/import/TokenizerDocument.h"
#include "runtime/text/Utf8.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

namespace fusec::models {

namespace {

using nlohmann::json;

struct PreTokenizerFamily {
  bool ignoreMerges, addBos, nfc;
  std::vector<std::string_view> expressions;
};

enum class Family {
#define FUSEC_PRE_FAMILY(family, ...) family,
#include "models/import/PreTokenizers.def"
};

PreTokenizerFamily describe(Family family) {
  switch (family) {
#define FUSEC_PRE_FAMILY(family, ignoreMerges, addBos, nfc, ...)                                                       \
  case Family::family:                                                                                                 \
    return {ignoreMerges, addBos, nfc, {__VA_ARGS__}};
#include "models/import/PreTokenizers.def"
  }
  return {};
}

struct PreTokenizerName {
  std::string_view name;
  Family family;
};
constexpr PreTokenizerName kPreTokenizerNames[] = {
#define FUSEC_PRE_NAME(name, family) {name, Family::family},
#include "models/import/PreTokenizers.def"
};

Result<PreTokenizerFamily> findFamily(const Gguf &file) {
  if (!file.has("tokenizer.ggml.pre"))
    return describe(Family::Default);
  FUSEC_ASSIGN_OR_RETURN(std::string_view pre, file.getString("tokenizer.ggml.pre"));
  for (const PreTokenizerName &row : kPreTokenizerNames)
    if (row.name == pre)
      return describe(row.family);
  return unsupported("tokenizer.ggml.pre: " + quote(pre) + " is not a pre-tokenizer fusec knows");
}

Result<TokenType> checkedType(int64_t value, size_t index) {
  if (value < int64_t(TokenType::Normal) || value > int64_t(TokenType::Byte))
    return corruptData("tokenizer.ggml.token_type[" + std::to_string(index) + "]: " + std::to_string(value) +
                       " is not a token type, expected 1 to 6");
  return TokenType(value);
}

/// Reads tokens, scores and types; the three arrays must agree in length.
Result<std::vector<VocabularyEntry>> readVocabulary(const Gguf &file) {
  FUSEC_ASSIGN_OR_RETURN(auto tokens, file.getStrings("tokenizer.ggml.tokens"));
  std::vector<float> scores;
  std::vector<int64_t> types;
  if (file.has("tokenizer.ggml.scores")) {
    FUSEC_ASSIGN_OR_RETURN(scores, file.getFloats("tokenizer.ggml.scores"));
  }
  if (file.has("tokenizer.ggml.token_type")) {
    FUSEC_ASSIGN_OR_RETURN(types, file.getInts("tokenizer.ggml.token_type"));
  }
  if ((!scores.empty() && scores.size() != tokens.size()) || (!types.empty() && types.size() != tokens.size()))
    return corruptData("tokenizer.ggml: " + std::to_string(tokens.size()) + " tokens, " +
                       std::to_string(scores.size()) + " scores, " + std::to_string(types.size()) +
                       " types; expected as many of each");
  std::vector<VocabularyEntry> vocabulary(tokens.size());
  for (size_t id = 0; id < tokens.size(); ++id) {
    if (!text::isValidUtf8(tokens[id]))
      return corruptData("tokenizer.ggml.tokens[" + std::to_string(id) + "]: " + quote(tokens[id]) +
                         " is not valid UTF-8");
    vocabulary[id].text = tokens[id];
    vocabulary[id].score = scores.empty() ? 0 : scores[id];
    if (!types.empty()) {
      FUSEC_ASSIGN_OR_RETURN(vocabulary[id].type, checkedType(types[id], id));
    }
    // Some converters leave end-of-turn markers untyped or user-defined.
    if (isEndOfTurnName(tokens[id]))
      vocabulary[id].type = TokenType::Control;
  }
  return vocabulary;
}

Result<std::optional<int64_t>> optionalInt(const Gguf &file, std::string_view key) {
  if (!file.has(key))
    return std::optional<int64_t>();
  FUSEC_ASSIGN_OR_RETURN(int64_t value, file.getInt(key));
  return std::optional<int64_t>(value);
}

Result<bool> boolOr(const Gguf &file, std::string_view key, bool fallback) {
  return file.has(key) ? file.getBool(key) : Result<bool>(fallback);
}

Result<SpecialIds> readSpecialIds(const Gguf &file, int64_t vocabularySize, bool addBosDefault) {
  SpecialIds ids;
  auto inRange = [&](const std::optional<int64_t> &id) { return id && *id >= 0 && *id < vocabularySize; };
  FUSEC_ASSIGN_OR_RETURN(ids.bos, optionalInt(file, "tokenizer.ggml.bos_token_id"));
  FUSEC_ASSIGN_OR_RETURN(ids.eos, optionalInt(file, "tokenizer.ggml.eos_token_id"));
  for (std::string_view key : {"tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"}) {
    FUSEC_ASSIGN_OR_RETURN(std::optional<int64_t> id, optionalInt(file, key));
    if (inRange(id))
      ids.ends.push_back(*id);
  }
  for (const auto *id : {&ids.bos, &ids.eos})
    if (*id && !inRange(*id))
      return corruptData("tokenizer.ggml: special token id " + std::to_string(**id) + " is outside the vocabulary of " +
                         std::to_string(vocabularySize));
  FUSEC_ASSIGN_OR_RETURN(ids.addBos, boolOr(file, "tokenizer.ggml.add_bos_token", addBosDefault));
  FUSEC_ASSIGN_OR_RETURN(ids.addEos, boolOr(file, "tokenizer.ggml.add_eos_token", false));
  return ids;
}

/// Phi-3's chat markers swallow the white space after them. GGUF has no field
/// for that, so the model's name decides.
void applyPhi3Stripping(const Gguf &file, std::vector<VocabularyEntry> &vocabulary) {
  Result<std::string_view> name = file.getString("general.name");
  if (!name)
    return;
  std::string lower(*name);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  if (lower.find("phi-3") == std::string::npos && lower.find("phi3") == std::string::npos)
    return;
  for (VocabularyEntry &entry : vocabulary)
    entry.rstrip =
        isAddedType(entry.type) && entry.text != "<unk>" && entry.text != "<s>" && entry.text != "<|endoftext|>";
}

Result<json> sentencePieceFromGguf(const Gguf &file, std::vector<VocabularyEntry> vocabulary) {
  if (!file.has("tokenizer.ggml.scores"))
    return corruptData("tokenizer.ggml.scores: missing, expected a score for each token");
  SentencePieceOptions options;
  FUSEC_ASSIGN_OR_RETURN(options.addDummyPrefix, boolOr(file, "tokenizer.ggml.add_space_prefix", true));
  FUSEC_ASSIGN_OR_RETURN(options.unknownId, optionalInt(file, "tokenizer.ggml.unknown_token_id"));
  applyPhi3Stripping(file, vocabulary);
  FUSEC_ASSIGN_OR_RETURN(SpecialIds ids, readSpecialIds(file, int64_t(vocabulary.size()), true));
  json document = sentencePieceDocument(vocabulary, options);
  FUSEC_RETURN_IF_ERROR(setPostProcessor(document, ids, vocabulary));
  setExtension(document, ids);
  return document;
}

json preTokenizerJson(const PreTokenizerFamily &family) {
  json steps = json::array();
  for (std::string_view expression : family.expressions)
    steps.push_back(
        {{"type", "Split"}, {"pattern", {{"Regex", expression}}}, {"behavior", "Isolated"}, {"invert", false}});
  steps.push_back({{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", false}, {"use_regex", false}});
  return {{"type", "Sequence"}, {"pretokenizers", steps}};
}

/// "left right"; a piece may itself begin with a space in odd vocabularies,
/// hence the search from the second byte.
Result<json> mergesJson(const Gguf &file) {
  FUSEC_ASSIGN_OR_RETURN(auto merges, file.getStrings("tokenizer.ggml.merges"));
  json list = json::array();
  for (size_t i = 0; i < merges.size(); ++i) {
    size_t space = merges[i].find(' ', 1);
    if (space == std::string_view::npos || space + 1 >= merges[i].size() || !text::isValidUtf8(merges[i]))
      return corruptData("tokenizer.ggml.merges[" + std::to_string(i) + "]: expected 'left right', found " +
                         quote(merges[i]));
    list.push_back({merges[i].substr(0, space), merges[i].substr(space + 1)});
  }
  return list;
}

Result<json> byteLevelFromGguf(const Gguf &file, const std::vector<VocabularyEntry> &vocabulary) {
  FUSEC_ASSIGN_OR_RETURN(PreTokenizerFamily family, findFamily(file));
  FUSEC_ASSIGN_OR_RETURN(json merges, mergesJson(file));
  json tokens = json::object();
  for (size_t id = 0; id < vocabulary.size(); ++id)
    if (!isAddedType(vocabulary[id].type)) // Of equal spellings the first is the one merges use.
      tokens.emplace(std::string(vocabulary[id].text), id);
  json model = {{"type", "BPE"},
                {"byte_fallback", false},
                {"ignore_merges", family.ignoreMerges},
                {"vocab", std::move(tokens)},
                {"merges", std::move(merges)}};
  json byteLevel = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", false}, {"use_regex", false}};
  json document = {{"version", "1.0"},
                   {"added_tokens", addedTokensJson(vocabulary)},
                   {"normalizer", family.nfc ? json{{"type", "NFC"}} : json(nullptr)},
                   {"pre_tokenizer", preTokenizerJson(family)},
                   {"post_processor", byteLevel},
                   {"decoder", byteLevel},
                   {"model", std::move(model)}};
  FUSEC_ASSIGN_OR_RETURN(SpecialIds ids, readSpecialIds(file, int64_t(vocabulary.size()), family.addBos));
  FUSEC_RETURN_IF_ERROR(setPostProcessor(document, ids, vocabulary));
  setExtension(document, ids);
  return document;
}

} // namespace

Result<json> importTokenizer(const Gguf &file) {
  FUSEC_ASSIGN_OR_RETURN(std::string_view model, file.getString("tokenizer.ggml.model"));
  if (model != "gpt2" && model != "llama")
    return unsupported("tokenizer.ggml.model: " + quote(model) +
                       " is not supported, expected 'gpt2' (byte-level BPE) or "
                       "'llama' (SentencePiece BPE)");
  FUSEC_ASSIGN_OR_RETURN(std::vector<VocabularyEntry> vocabulary, readVocabulary(file));
  Result<json> document =
      model == "llama" ? sentencePieceFromGguf(file, std::move(vocabulary)) : byteLevelFromGguf(file, vocabulary);
  if (!document)
    return document.status();
  return checkedDocument(std::move(document).value());
}

} // namespace fusec::models
