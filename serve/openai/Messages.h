//===- Messages.h - a conversation as chat templates read it ----------------------===//
//
// Checks the shape of `messages` and of tools, and brings it into the form of
// Transformers' templates: text parts become one string (joined by newlines), the arguments of
// tool calls become objects.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "serve/openai/ApiError.h"

#include <nlohmann/json.hpp>

#include <string>

namespace fusec::serve {

/// `body["messages"]`, checked. Errors name the place: "messages[2].content[0].type".
Failure readMessages(const nlohmann::ordered_json &body, nlohmann::ordered_json &messages);

/// {"type": "function", "function": {"name": ..., ...}}; `place` names it in errors.
Failure checkTool(const nlohmann::ordered_json &tool, const std::string &place);

} // namespace fusec::serve
