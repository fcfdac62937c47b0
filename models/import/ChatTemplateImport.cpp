//===- ChatTemplateImport.cpp -------------------------------------------------------===//
#include "models/import/ChatTemplateImport.h"

#include "runtime/base/Json.h"

#include <fstream>
#include <iterator>

namespace fusec::models {

namespace {

using nlohmann::json;

Result<std::optional<std::string>> fromGguf(const Gguf &file) {
  constexpr std::string_view key = "tokenizer.chat_template";
  if (!file.find(key))
    return std::optional<std::string>();
  FUSEC_ASSIGN_OR_RETURN(std::string_view source, file.getString(key));
  return std::optional<std::string>(source);
}

/// `chat_template` is a string, or a list of {name, template}.
Result<std::optional<std::string>> fromConfig(const json &config) {
  const json *value = jsonFind(config, "chat_template");
  if (!value)
    return std::optional<std::string>();
  if (value->is_string())
    return std::optional<std::string>(value->get<std::string>());
  if (!value->is_array())
    return corruptData("key 'chat_template': expected a string or a list, found " + std::string(jsonTypeName(*value)));
  for (const json &entry : *value) {
    FUSEC_ASSIGN_OR_RETURN(std::string name, jsonString(entry, "name"));
    FUSEC_ASSIGN_OR_RETURN(std::string source, jsonString(entry, "template"));
    if (name == "default")
      return std::optional<std::string>(source);
  }
  return std::optional<std::string>();
}

Result<std::optional<std::string>> fromDirectory(const std::filesystem::path &directory) {
  if (std::ifstream stream(directory / "chat_template.jinja", std::ios::binary); stream)
    return std::optional<std::string>(std::string(std::istreambuf_iterator<char>(stream), {}));
  std::filesystem::path file = directory / "tokenizer_config.json";
  if (!std::filesystem::exists(file))
    return std::optional<std::string>();
  FUSEC_ASSIGN_OR_RETURN(json config, readJsonFile(file));
  auto source = fromConfig(config);
  return source ? source : Result<std::optional<std::string>>(source.status().withContext(file.string()));
}

} // namespace

Result<std::optional<std::string>> importChatTemplate(const Model &model) {
  return model.gguf() ? fromGguf(*model.gguf()) : fromDirectory(model.path());
}

} // namespace fusec::models
