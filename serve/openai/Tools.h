//===- Tools.h - the functions that a conversation may call -----------------------===//
//
// Checks `tools`, `tool_choice` and `parallel_tool_calls`, and says what becomes
// of them: what the chat template is shown, and how the answer is read.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "serve/openai/ApiError.h"
#include "serve/openai/ToolCallReader.h"

#include <nlohmann/json.hpp>

#include <string>

namespace fusec::serve {

struct ToolRequest {
  nlohmann::ordered_json shown = nlohmann::ordered_json::array(); ///< For the template; empty = it has none.
  ToolUse use;
};

/// Of a body of chat or tokenize. Errors name the place: "tools[1].function.name".
Failure readTools(const nlohmann::ordered_json &body, const std::string &chatTemplate, ToolRequest &request);

} // namespace fusec::serve
