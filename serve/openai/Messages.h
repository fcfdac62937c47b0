//===- Messages.h - a conversation as chat templates read it ----------------------===//
//
// Checks the shape of `messages`, and brings it into the form of
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

/// Makes the arguments of tool calls strings of JSON again, for templates that put them together with text. False when
/// there are none.
bool spellArguments(nlohmann::ordered_json &messages);

} // namespace fusec::serve
