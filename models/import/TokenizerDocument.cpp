//===- TokenizerDocument.cpp - writing fusec's tokenizer.json --------------===//
#include "models/import/TokenizerDocument.h"

#include "runtime/base/Json.h"
#include "runtime/text/Tokenizer.h"

#include <algorithm>
#include <array>
#include <set>

namespace fusec::models {

namespace {

using nlohmann::json;

constexpr std::string_view kMetaspace = "\xE2\x96\x81"; // U+2581

constexpr std::array<std::string_view, 9> kEndOfTurnNames{"<|im_end|>",      "<|eot_id|>",    "<|eom_id|>",
                                                          "<|end|>",         "<end_of_turn>", "<|endoftext|>",
                                                          "<|end_of_text|>", "<|return|>",    "<|END_OF_TURN_TOKEN|>"};

json replaceStep(std::string_view from, std::string_view to) {
  return {{"type", "Replace"}, {"pattern", {{"String", from}}}, {"content", to}};
}

json normalizerJson(const SentencePieceOptions &options) {
  json steps = json::array();
  if (options.removeExtraWhitespace) {
    steps.push_back({{"type", "Strip"}, {"strip_left", true}, {"strip_right", true}});
    steps.push_back({{"type", "Replace"}, {"pattern", {{"Regex", " {2,}"}}}, {"content", " "}});
  }
  if (options.addDummyPrefix)
    steps.push_back({{"type", "Prepend"}, {"prepend", kMetaspace}});
  steps.push_back(replaceStep(" ", kMetaspace));
  return {{"type", "Sequence"}, {"normalizers", steps}};
}

json decoderJson(const SentencePieceOptions &options) {
  json steps = {replaceStep(kMetaspace, " "), {{"type", "ByteFallback"}}, {{"type", "Fuse"}}};
  if (options.addDummyPrefix)
    steps.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  return {{"type", "Sequence"}, {"decoders", steps}};
}

} // namespace

bool isAddedType(TokenType type) {
  return type == TokenType::Control || type == TokenType::UserDefined || type == TokenType::Unknown;
}

bool isEndOfTurnName(std::string_view name) {
  return std::find(kEndOfTurnNames.begin(), kEndOfTurnNames.end(), name) != kEndOfTurnNames.end();
}

json addedTokensJson(const std::vector<VocabularyEntry> &vocabulary) {
  json list = json::array();
  for (size_t id = 0; id < vocabulary.size(); ++id) {
    const VocabularyEntry &entry = vocabulary[id];
    if (!isAddedType(entry.type) || entry.text.empty())
      continue;
    list.push_back({{"id", id},
                    {"content", entry.text},
                    {"single_word", false},
                    {"lstrip", false},
                    {"rstrip", entry.rstrip},
                    {"normalized", false},
                    {"special", entry.type != TokenType::UserDefined}});
  }
  return list;
}

json sentencePieceDocument(const std::vector<VocabularyEntry> &vocabulary, const SentencePieceOptions &options) {
  json pieces = json::array();
  for (const VocabularyEntry &entry : vocabulary) {
    // No score = never the product of a merge.
    json score = entry.type == TokenType::Normal ? json(entry.score) : json(nullptr);
    pieces.push_back({entry.text, std::move(score)});
  }
  json model = {{"type", "SentencePieceBPE"},
                {"byte_fallback", options.byteFallback},
                {"fuse_unk", true},
                {"vocab", std::move(pieces)}};
  if (options.unknownId)
    model["unk_id"] = *options.unknownId;
  return {{"version", "1.0"},
          {"added_tokens", addedTokensJson(vocabulary)},
          {"normalizer", normalizerJson(options)},
          {"pre_tokenizer", nullptr},
          {"post_processor", nullptr},
          {"decoder", decoderJson(options)},
          {"model", std::move(model)}};
}

json templatePostProcessor(const NamedToken &bos, const NamedToken &eos) {
  json single = json::array(), special = json::object();
  auto add = [&](const NamedToken &token) {
    if (!token)
      return;
    single.push_back({{"SpecialToken", {{"id", token->first}, {"type_id", 0}}}});
    special[token->first] = {{"id", token->first}, {"ids", {token->second}}, {"tokens", {token->first}}};
  };
  add(bos);
  single.push_back({{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
  add(eos);
  return {{"type", "TemplateProcessing"}, {"single", single}, {"pair", json::array()}, {"special_tokens", special}};
}

Status setPostProcessor(json &document, const SpecialIds &ids, const std::vector<VocabularyEntry> &vocabulary) {
  NamedToken bos, eos;
  auto name = [&](const std::optional<int64_t> &id, NamedToken &token) -> Status {
    if (!id)
      return {};
    if (*id < 0 || *id >= int64_t(vocabulary.size()))
      return corruptData("tokenizer: special token id " + std::to_string(*id) + " is outside the vocabulary of " +
                         std::to_string(vocabulary.size()));
    token.emplace(std::string(vocabulary[size_t(*id)].text), *id);
    return {};
  };
  if (ids.addBos)
    FUSEC_RETURN_IF_ERROR(name(ids.bos, bos));
  if (ids.addEos)
    FUSEC_RETURN_IF_ERROR(name(ids.eos, eos));
  if (bos || eos)
    document["post_processor"] = templatePostProcessor(bos, eos);
  return {};
}

void setExtension(json &document, const SpecialIds &ids) {
  std::set<int64_t> ends(ids.ends.begin(), ids.ends.end());
  if (ids.eos)
    ends.insert(*ids.eos);
  std::optional<int64_t> endOfMessage;
  bool hasReturn = false;
  for (const json &token : document["added_tokens"]) {
    Result<std::string> name = jsonString(token, "content");
    Result<int64_t> id = jsonInt(token, "id");
    Result<bool> special = jsonBoolOr(token, "special", false);
    if (!name || !id || !special || !*special || !isEndOfTurnName(*name))
      continue; // A malformed row is refused by the reader with a better message.
    hasReturn |= *name == "<|return|>";
    if (*name == "<|end|>")
      endOfMessage = *id;
    else
      ends.insert(*id);
  }
  // Where "<|return|>" ends a turn, "<|end|>" only ends a message inside it.
  if (endOfMessage && !hasReturn)
    ends.insert(*endOfMessage);
  json extension = {{"end_ids", ends}};
  if (ids.bos)
    extension["bos_id"] = *ids.bos;
  if (ids.eos)
    extension["eos_id"] = *ids.eos;
  document["fusec"] = std::move(extension);
}

Result<json> checkedDocument(json document) {
  std::string text = document.dump(-1, ' ', false, json::error_handler_t::replace);
  if (Result<text::Tokenizer> trial = text::Tokenizer::parse(text); !trial)
    return trial.status();
  return document;
}

} // namespace fusec::models
