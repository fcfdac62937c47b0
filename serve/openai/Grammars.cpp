//===- Grammars.cpp - what structured output a request asks for -------------------===//
#include "serve/openai/Grammars.h"

#include "runtime/base/Json.h"

namespace fusec::serve {

using grammar::GrammarKind;
using nlohmann::json;

static Failure readJsonSchema(const json &format, GrammarRequest &request) {
  const std::string place = "response_format.json_schema";
  const json *holder = jsonFind(format, "json_schema");
  if (!holder || !holder->is_object())
    return invalidValue(place, place + ": missing, expected {\"name\": ..., \"schema\": ...}");
  for (const auto &[name, value] : holder->items())
    if (name != "name" && name != "schema" && name != "strict" && name != "description")
      return ApiError{ErrorKind::UnknownParameter,
                      "Unrecognized request argument supplied: " + place + "." + name.substr(0, 60),
                      place + "." + name.substr(0, 60)};
  const json *schema = jsonFind(*holder, "schema");
  if (!schema || !(schema->is_object() || schema->is_boolean()))
    return invalidValue(place + ".schema", place + ".schema: missing, expected a JSON schema");
  request = {true, {GrammarKind::JsonSchema, ""}, place + ".schema", "/response_format/json_schema/schema"};
  return {};
}

static Failure readResponseFormat(const json &format, GrammarRequest &request) {
  const json *type = jsonFind(format, "type");
  if (!type || !type->is_string())
    return invalidValue("response_format.type", "response_format.type: missing, expected \"text\", \"json_object\" or "
                                                "\"json_schema\"");
  const std::string &name = type->get_ref<const std::string &>();
  for (const auto &[key, value] : format.items())
    if (key != "type" && !(key == "json_schema" && name == "json_schema"))
      return invalidValue("response_format", "response_format." + key.substr(0, 60) + ": not expected with type \"" +
                                                 name.substr(0, 60) + "\"");
  if (name == "text")
    return {};
  if (name == "json_schema")
    return readJsonSchema(format, request);
  if (name != "json_object")
    return invalidValue("response_format.type", "response_format.type: expected \"text\", \"json_object\" or "
                                                "\"json_schema\", found \"" +
                                                    name.substr(0, 60) + "\"");
  request = {true, {GrammarKind::JsonObject, ""}, "response_format", ""};
  return {};
}

static Failure readChoice(const json &choices, GrammarRequest &request) {
  for (const json &choice : choices)
    if (!choice.is_string() || choice.get_ref<const std::string &>().empty())
      return invalidValue("guided_choice", "guided_choice: expected strings that are not empty");
  if (choices.empty())
    return invalidValue("guided_choice", "guided_choice: expected at least one string");
  request = {true, {GrammarKind::Choice, dumpJson(choices)}, "guided_choice", ""};
  return {};
}

static Failure readExtension(const std::string &name, const json &value, GrammarRequest &request) {
  if (name == "guided_choice")
    return readChoice(value, request);
  if (name == "guided_json" && value.is_object())
    request = {true, {GrammarKind::JsonSchema, ""}, name, "/guided_json"};
  else if (name == "guided_json")
    request = {true, {GrammarKind::JsonSchema, value.get<std::string>()}, name, ""};
  else
    request = {
        true, {name == "guided_regex" ? GrammarKind::Regex : GrammarKind::Gbnf, value.get<std::string>()}, name, ""};
  return {};
}

Failure readGrammarRequest(const json &body, GrammarRequest &request) {
  if (const json *format = jsonFind(body, "response_format"))
    FUSEC_RETURN_FAILURE(readResponseFormat(*format, request));
  for (const char *name : {"guided_json", "guided_regex", "guided_choice", "guided_grammar"}) {
    const json *value = jsonFind(body, name);
    if (!value)
      continue;
    if (request.wanted)
      return invalidValue(name, std::string(name) + ": the text is already bound by " + request.param);
    FUSEC_RETURN_FAILURE(readExtension(name, *value, request));
  }
  return {};
}

Failure readGrammar(const std::string &text, const json &body, const Backend &backend,
                    std::shared_ptr<const grammar::CompiledGrammar> &grammar) {
  GrammarRequest request;
  FUSEC_RETURN_FAILURE(readGrammarRequest(body, request));
  if (!request.wanted)
    return {};
  if (!request.pointer.empty()) {
    using nlohmann::ordered_json;
    const ordered_json ordered = ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
    request.grammar.text = ordered[ordered_json::json_pointer(request.pointer)].dump();
  }
  auto compiled = backend.compileGrammar(request.grammar);
  if (!compiled)
    return invalidValue(request.param, request.param + ": " + compiled.status().message());
  grammar = std::move(*compiled);
  return {};
}

/// Which function's schema is to blame for an error of their grammar.
static ApiError blameFunction(const std::string &text, const Backend &backend, const Status &whole) {
  using nlohmann::ordered_json;
  const ordered_json body = ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  for (size_t i = 0; i < body["tools"].size(); ++i) {
    const ordered_json &function = body["tools"][i]["function"];
    if (!function.contains("parameters") || function["parameters"].is_null())
      continue;
    const auto alone = backend.compileGrammar({GrammarKind::JsonSchema, function["parameters"].dump()});
    const std::string place = "tools[" + std::to_string(i) + "].function.parameters";
    if (!alone)
      return invalidValue(place, place + ": " + alone.status().message());
  }
  return invalidValue("tools", "tools: " + whole.message());
}

Failure readCallGrammar(const std::string &text, const json &body, const Backend &backend, const ToolUse &use,
                        std::shared_ptr<const grammar::CompiledGrammar> &grammar) {
  GrammarRequest other;
  FUSEC_RETURN_FAILURE(readGrammarRequest(body, other));
  if (other.wanted)
    return invalidValue("tool_choice",
                        "tool_choice: a call is required, and the text is already bound by " + other.param);
  auto compiled = backend.compileGrammar({GrammarKind::JsonSequence, use.grammar});
  if (!compiled)
    return blameFunction(text, backend, compiled.status());
  grammar = std::move(*compiled);
  return {};
}

} // namespace fusec::serve
