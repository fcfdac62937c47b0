//===- PostProcessor.cpp - the tokens around a text ------------------------===//
#include "runtime/text/PostProcessor.h"

#include "runtime/base/Json.h"

#include <limits>
#include <utility>

namespace fusec::text {

namespace {

constexpr int kMaxDepth = 16;

Result<TokenId> checkedId(const nlohmann::json &value) {
  if (!value.is_number_unsigned() || value.get<uint64_t>() > uint64_t(std::numeric_limits<TokenId>::max()))
    return corruptData("post_processor: expected a token id, found " +
                       value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).substr(0, 40));
  return static_cast<TokenId>(value.get<uint64_t>());
}

Status appendTemplateToken(const nlohmann::json &spec, const std::string &name, std::vector<TokenId> &ids) {
  FUSEC_ASSIGN_OR_RETURN(const nlohmann::json *table, jsonObject(spec, "special_tokens"));
  FUSEC_ASSIGN_OR_RETURN(const nlohmann::json *token, jsonObject(*table, name));
  FUSEC_ASSIGN_OR_RETURN(const nlohmann::json *list, jsonArray(*token, "ids"));
  for (const nlohmann::json &value : *list) {
    FUSEC_ASSIGN_OR_RETURN(TokenId id, checkedId(value));
    ids.push_back(id);
  }
  return {};
}

Status parseTemplate(const nlohmann::json &spec, PostProcessor &result) {
  FUSEC_ASSIGN_OR_RETURN(const nlohmann::json *single, jsonArray(spec, "single"));
  bool sequenceSeen = false;
  for (const nlohmann::json &item : *single) {
    if (jsonFind(item, "Sequence") != nullptr) {
      if (std::exchange(sequenceSeen, true))
        return unsupported("post_processor: template repeats the text");
      continue;
    }
    FUSEC_ASSIGN_OR_RETURN(const nlohmann::json *special, jsonObject(item, "SpecialToken"));
    FUSEC_ASSIGN_OR_RETURN(std::string name, jsonString(*special, "id"));
    FUSEC_RETURN_IF_ERROR(appendTemplateToken(spec, name, sequenceSeen ? result.after : result.before));
  }
  if (!sequenceSeen)
    return corruptData("post_processor: template without the text");
  return {};
}

/// A ["</s>", 2] pair.
Result<TokenId> pairId(const nlohmann::json &spec, const char *key) {
  FUSEC_ASSIGN_OR_RETURN(const nlohmann::json *pair, jsonArray(spec, key));
  if (pair->size() != 2)
    return corruptData(std::string("post_processor: '") + key + "' has " + std::to_string(pair->size()) +
                       " elements, expected 2");
  return checkedId((*pair)[1]);
}

Status append(const nlohmann::json &spec, int depth, PostProcessor &result) {
  if (depth > kMaxDepth)
    return unsupported("post_processor: nested deeper than " + std::to_string(kMaxDepth));
  FUSEC_ASSIGN_OR_RETURN(std::string type, jsonString(spec, "type"));
  if (type == "Sequence") {
    FUSEC_ASSIGN_OR_RETURN(const nlohmann::json *parts, jsonArray(spec, "processors"));
    for (const nlohmann::json &part : *parts)
      FUSEC_RETURN_IF_ERROR(append(part, depth + 1, result));
    return {};
  }
  if (type == "TemplateProcessing")
    return parseTemplate(spec, result);
  if (type == "RobertaProcessing" || type == "BertProcessing") {
    FUSEC_ASSIGN_OR_RETURN(TokenId cls, pairId(spec, "cls"));
    FUSEC_ASSIGN_OR_RETURN(TokenId sep, pairId(spec, "sep"));
    result.before.insert(result.before.begin(), cls);
    result.after.push_back(sep);
    return {};
  }
  if (type == "ByteLevel") // Only adjusts offsets.
    return {};
  return unsupported("post_processor: type '" + type + "' is not supported");
}

} // namespace

Result<PostProcessor> PostProcessor::parse(const nlohmann::json *spec) {
  PostProcessor result;
  if (spec != nullptr)
    FUSEC_RETURN_IF_ERROR(append(*spec, 0, result));
  return result;
}

} // namespace fusec::text
