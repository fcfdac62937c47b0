//===- Tools.cpp - the functions that a conversation may call ---------------------===//
#include "serve/openai/Tools.h"

#include <algorithm>
#include <cctype>
#include <iterator>

namespace fusec::serve {

using nlohmann::ordered_json;
using Type = ordered_json::value_t;

//===----------------------------------------------------------------------===//
// tools
//===----------------------------------------------------------------------===//

/// Members of tools[i].function.
struct FunctionMember {
  std::string_view name;
  Type type;
  std::string_view expected;
};
static constexpr FunctionMember functionMembers[] = {
    {"name", Type::string, "a string"},
    {"description", Type::string, "a string"},
    {"parameters", Type::object, "a JSON schema (an object)"},
    {"strict", Type::boolean, "a boolean"},
};

/// The member, or null when it is absent or null.
static const ordered_json *find(const ordered_json &object, const char *name) {
  auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

static Failure unknownMember(const std::string &place) {
  return ApiError{ErrorKind::UnknownParameter, "Unrecognized request argument supplied: " + place, place};
}

static Failure checkFunctionMember(const std::string &name, const ordered_json &value, const std::string &place) {
  const std::string where = place + "." + name.substr(0, 60);
  auto row = std::find_if(std::begin(functionMembers), std::end(functionMembers),
                          [&](const FunctionMember &member) { return member.name == name; });
  if (row == std::end(functionMembers))
    return unknownMember(where);
  if (!value.is_null() && value.type() != row->type)
    return invalidValue(where, where + ": expected " + std::string(row->expected) + ", found " + value.type_name());
  return {};
}

static Failure checkName(const ordered_json &function, const std::string &place) {
  const ordered_json *name = find(function, "name");
  const std::string text = name && name->is_string() ? name->get<std::string>() : std::string();
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-';
  });
  if (text.empty() || text.size() > 64 || !plain)
    return invalidValue(place + ".name", place + ".name: expected 1 to 64 letters, digits, '_' and '-', found " +
                                             (name ? "\"" + text.substr(0, 80) + "\"" : "nothing"));
  return {};
}

static Failure checkTool(const ordered_json &tool, const std::string &place) {
  if (!tool.is_object())
    return invalidValue(place, place + ": expected {\"type\": \"function\", \"function\": {...}}");
  const ordered_json *type = find(tool, "type"), *function = find(tool, "function");
  if (!type || *type != "function")
    return invalidValue(place + ".type", place + ".type: expected \"function\"");
  if (!function || !function->is_object())
    return invalidValue(place + ".function", place + ".function: expected an object with a name");
  for (const auto &[name, value] : tool.items())
    if (name != "type" && name != "function")
      return unknownMember(place + "." + name.substr(0, 60));
  for (const auto &[name, value] : function->items())
    FUSEC_RETURN_FAILURE(checkFunctionMember(name, value, place + ".function"));
  return checkName(*function, place + ".function");
}

static Failure checkTools(const ordered_json &tools, std::vector<std::string> &names) {
  for (size_t i = 0; i < tools.size(); ++i) {
    const std::string place = "tools[" + std::to_string(i) + "]";
    FUSEC_RETURN_FAILURE(checkTool(tools[i], place));
    const std::string name = tools[i]["function"]["name"];
    if (std::find(names.begin(), names.end(), name) != names.end())
      return invalidValue(place + ".function.name", place + ".function.name: \"" + name + "\" occurs twice");
    names.push_back(name);
  }
  return {};
}

//===----------------------------------------------------------------------===//
// tool_choice
//===----------------------------------------------------------------------===//

namespace {
struct Choice {
  enum { None, Auto, Required, Named } kind = Auto;
  std::string name;
};
} // namespace

static Failure readNamedChoice(const ordered_json &value, Choice &choice) {
  const ordered_json *type = find(value, "type"), *function = find(value, "function");
  if (type && *type == "allowed_tools")
    return ApiError{ErrorKind::Unsupported,
                    "tool_choice.type: \"allowed_tools\" is not supported; send those tools only", "tool_choice.type"};
  const ordered_json *name = function && function->is_object() ? find(*function, "name") : nullptr;
  if (!type || *type != "function" || !name || !name->is_string())
    return invalidValue("tool_choice",
                        "tool_choice: expected {\"type\": \"function\", \"function\": {\"name\": \"...\"}}");
  choice = {Choice::Named, name->get<std::string>()};
  return {};
}

static Failure readChoice(const ordered_json &body, Choice &choice) {
  const ordered_json *value = find(body, "tool_choice");
  if (!value || *value == "auto")
    return {};
  if (value->is_object())
    return readNamedChoice(*value, choice);
  if (*value == "none")
    choice.kind = Choice::None;
  else if (*value == "required")
    choice.kind = Choice::Required;
  else
    return invalidValue("tool_choice", "tool_choice: expected \"none\", \"auto\", \"required\" or a function, found " +
                                           value->dump().substr(0, 60));
  return {};
}

static Failure checkChoice(const Choice &choice, const ToolUse &use) {
  if (choice.kind != Choice::Required && choice.kind != Choice::Named)
    return {};
  if (use.names.empty())
    return invalidValue("tool_choice", "tool_choice: a call is required and `tools` has no function");
  if (choice.kind == Choice::Named && std::find(use.names.begin(), use.names.end(), choice.name) == use.names.end())
    return invalidValue("tool_choice.function.name",
                        "tool_choice.function.name: `tools` has no function \"" + choice.name.substr(0, 64) + "\"");
  if (use.format)
    return {};
  std::string known;
  for (const ToolFormat &format : toolFormats())
    known += (known.empty() ? "" : ", ") + std::string(format.name);
  return ApiError{ErrorKind::Unsupported,
                  "tool_choice: calls cannot be required of this model: its chat template shows none of the known "
                  "formats of calls (" +
                      known + ")",
                  "tool_choice"};
}

//===----------------------------------------------------------------------===//
// The grammar of required calls
//===----------------------------------------------------------------------===//

static ordered_json argumentSchema(const ordered_json &function) {
  const ordered_json *parameters = find(function, "parameters");
  if (!parameters)
    return {{"type", "object"}, {"additionalProperties", false}};
  ordered_json schema = *parameters;
  // References of a function's schema begin at its own root, wherever it is put.
  if (!schema.contains("$id"))
    schema["$id"] = "urn:fusec:function:" + function["name"].get<std::string>();
  return {{"type", "object"}, {"allOf", {std::move(schema)}}};
}

static ordered_json callSchema(const ordered_json &function, const ToolFormat &format) {
  const std::string arguments(format.arguments);
  ordered_json properties = {{"name", {{"const", function["name"]}}}};
  properties[arguments] = argumentSchema(function);
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"required", {"name", arguments}},
          {"additionalProperties", false}};
}

static std::string callGrammar(const ordered_json &tools, const Choice &choice, const ToolUse &use) {
  const bool several = use.parallel && choice.kind == Choice::Required;
  ordered_json calls = ordered_json::array();
  for (const ordered_json &tool : tools)
    if (choice.kind == Choice::Required || tool["function"]["name"] == choice.name)
      calls.push_back(callSchema(tool["function"], *use.format));
  ordered_json schema = {{"anyOf", std::move(calls)}};
  if (use.format->list)
    schema = {{"type", "array"}, {"items", std::move(schema)}, {"minItems", 1}};
  if (use.format->list && !several)
    schema["maxItems"] = 1;
  return ordered_json{
      {"schema", std::move(schema)}, {"end", several ? use.format->end : ""}, {"next", several ? use.format->next : ""}}
      .dump();
}

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

Failure readTools(const ordered_json &body, const std::string &chatTemplate, ToolRequest &request) {
  ToolUse &use = request.use;
  const ordered_json *tools = find(body, "tools"), *parallel = find(body, "parallel_tool_calls");
  Choice choice;
  FUSEC_RETURN_FAILURE(readChoice(body, choice));
  if (tools)
    FUSEC_RETURN_FAILURE(checkTools(*tools, use.names));
  if (!use.names.empty() && chatTemplate.find("tools") == std::string::npos)
    return ApiError{ErrorKind::Unsupported, "tools: this model's chat template has no tools", "tools"};
  use.format = toolFormatOf(chatTemplate);
  use.parallel = !parallel || parallel->get<bool>();
  FUSEC_RETURN_FAILURE(checkChoice(choice, use));
  use.forced = choice.kind == Choice::Required || choice.kind == Choice::Named;
  if (use.names.empty() || choice.kind == Choice::None) {
    use = {};
    return {};
  }
  request.shown = *tools;
  if (use.forced)
    use.grammar = callGrammar(*tools, choice, use);
  return {};
}

} // namespace fusec::serve
