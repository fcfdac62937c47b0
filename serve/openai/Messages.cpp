//===- Messages.cpp - a conversation as chat templates read it --------------------===//
#include "serve/openai/Messages.h"

#include <algorithm>
#include <string_view>

namespace fusec::serve {

using nlohmann::ordered_json;

static constexpr std::string_view roles[] = {"system", "developer", "user", "assistant", "tool"};

/// Members of a message beside role and content, and what they must be.
struct MessageMember {
  std::string_view name;
  ordered_json::value_t type;
};
static constexpr MessageMember members[] = {
    {"name", ordered_json::value_t::string},
    {"tool_call_id", ordered_json::value_t::string},
    {"tool_calls", ordered_json::value_t::array},
    {"reasoning_content", ordered_json::value_t::string},
};

static bool isString(const ordered_json &object, const char *key) {
  auto found = object.find(key);
  return found != object.end() && found->is_string();
}

static Failure unsupportedMember(const std::string &place) {
  return ApiError{ErrorKind::Unsupported, place + " is not supported", place};
}

/// Text parts, joined.
static Failure readParts(const ordered_json &parts, const std::string &place, std::string &text) {
  for (size_t i = 0; i < parts.size(); ++i) {
    const ordered_json &part = parts[i];
    const std::string where = place + "[" + std::to_string(i) + "]";
    if (!part.is_object() || !isString(part, "type"))
      return invalidValue(where, where + ": expected {\"type\": \"text\", \"text\": \"...\"}");
    if (part["type"] != "text")
      return ApiError{ErrorKind::Unsupported,
                      where + ".type: only \"text\" is supported, found \"" +
                          part["type"].get_ref<const std::string &>().substr(0, 60) + "\"",
                      where + ".type"};
    if (!isString(part, "text"))
      return invalidValue(where + ".text", where + ".text: expected a string");
    for (const auto &[name, value] : part.items())
      if (name != "type" && name != "text")
        return unsupportedMember(where + "." + name.substr(0, 60));
    text += (i ? "\n" : "") + part["text"].get<std::string>();
  }
  return {};
}

static Failure readContent(const ordered_json &message, const std::string &place, ordered_json &out) {
  const std::string where = place + ".content";
  auto content = message.find("content");
  const bool absent = content == message.end() || content->is_null();
  if (absent && message["role"] == "assistant" && message.contains("tool_calls")) {
    out["content"] = "";
    return {};
  }
  if (absent)
    return invalidValue(where, where + ": missing, expected a string or an array of text parts");
  if (content->is_string()) {
    out["content"] = *content;
    return {};
  }
  if (!content->is_array() || content->empty())
    return invalidValue(where, where + ": expected a string or an array of text parts");
  std::string text;
  FUSEC_RETURN_FAILURE(readParts(*content, where, text));
  out["content"] = std::move(text);
  return {};
}

static Failure checkCall(const ordered_json &call, const std::string &place) {
  if (!call.is_object() || !isString(call, "type") || call["type"] != "function")
    return invalidValue(place, place + ": expected {\"type\": \"function\", \"function\": {...}}");
  auto function = call.find("function");
  if (function == call.end() || !function->is_object() || !isString(*function, "name"))
    return invalidValue(place + ".function", place + ".function: expected an object with a name");
  return {};
}

/// OpenAI sends the arguments of a call as a string of JSON, templates want the object. The name stands first, as
/// models write it: some templates print the function as it is.
static ordered_json asTemplatesRead(const ordered_json &function) {
  ordered_json out = {{"name", function["name"]}, {"arguments", nullptr}};
  out.update(function);
  ordered_json &arguments = out["arguments"];
  if (arguments.is_string()) {
    ordered_json parsed = ordered_json::parse(arguments.get<std::string>(), nullptr, /*allow_exceptions=*/false);
    if (parsed.is_object())
      arguments = std::move(parsed);
  }
  return out;
}

static Failure readToolCalls(const ordered_json &calls, const std::string &place, ordered_json &out) {
  for (size_t i = 0; i < calls.size(); ++i) {
    const std::string where = place + "[" + std::to_string(i) + "]";
    FUSEC_RETURN_FAILURE(checkCall(calls[i], where));
    ordered_json call = calls[i];
    call["function"] = asTemplatesRead(calls[i]["function"]);
    out.push_back(std::move(call));
  }
  return {};
}

static Failure readMember(const std::string &name, const ordered_json &value, const std::string &place,
                          ordered_json &out) {
  const std::string where = place + "." + name.substr(0, 60);
  if (value.is_null())
    return {}; // Clients send back what they got, with nulls in it.
  auto row = std::find_if(std::begin(members), std::end(members), [&](auto &member) { return member.name == name; });
  if (row == std::end(members))
    return unsupportedMember(where);
  if (value.type() != row->type)
    return invalidValue(where,
                        where + ": expected " + (row->type == ordered_json::value_t::array ? "an array" : "a string"));
  if (name != "tool_calls") {
    out[name] = value;
    return {};
  }
  out[name] = ordered_json::array();
  return readToolCalls(value, where, out[name]);
}

static Failure readMessage(const ordered_json &message, const std::string &place, ordered_json &out) {
  if (!message.is_object())
    return invalidValue(place, place + ": expected an object");
  if (!isString(message, "role") ||
      std::find(std::begin(roles), std::end(roles), message["role"].get_ref<const std::string &>()) == std::end(roles))
    return invalidValue(place + ".role",
                        place + ".role: expected \"system\", \"developer\", \"user\", \"assistant\" or \"tool\"");
  // Templates know the older name.
  out["role"] = message["role"] == "developer" ? ordered_json("system") : message["role"];
  FUSEC_RETURN_FAILURE(readContent(message, place, out));
  for (const auto &[name, value] : message.items())
    if (name != "role" && name != "content")
      FUSEC_RETURN_FAILURE(readMember(name, value, place, out));
  return {};
}

Failure readMessages(const ordered_json &body, ordered_json &messages) {
  auto given = body.find("messages");
  if (given == body.end() || !given->is_array() || given->empty())
    return invalidValue("messages", "messages: expected an array of at least one message");
  messages = ordered_json::array();
  for (size_t i = 0; i < given->size(); ++i) {
    ordered_json message = ordered_json::object();
    FUSEC_RETURN_FAILURE(readMessage((*given)[i], "messages[" + std::to_string(i) + "]", message));
    messages.push_back(std::move(message));
  }
  return {};
}

bool spellArguments(ordered_json &messages) {
  bool any = false;
  for (ordered_json &message : messages) {
    if (!message.contains("tool_calls"))
      continue;
    for (ordered_json &call : message["tool_calls"])
      if (ordered_json &arguments = call["function"]["arguments"]; arguments.is_object()) {
        arguments = arguments.dump();
        any = true;
      }
  }
  return any;
}

} // namespace fusec::serve
