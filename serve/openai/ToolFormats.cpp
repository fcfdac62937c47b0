//===- ToolFormats.cpp - how models write calls of functions ----------------------===//
#include "serve/openai/ToolFormats.h"

#include "serve/openai/RequestLog.h"

#include <algorithm>

namespace fusec::serve {

static constexpr ToolFormat formats[] = {
    // Hermes, Qwen 2.5 and 3, Granite 4, MiMo. Qwen3-Coder uses the same marker around XML, hence the second sign.
    {.name = "hermes",
     .sign = "<tool_call>",
     .otherSign = "arguments",
     .begin = "<tool_call>",
     .opening = "\n",
     .end = "\n</tool_call>",
     .next = "\n<tool_call>\n"},
    // Mistral up to tokenizer v7; later ones write [TOOL_CALLS]name[ARGS]{...}, which is not read.
    {.name = "mistral", .sign = "[TOOL_CALLS][", .begin = "[TOOL_CALLS]", .list = true, .shortIds = true},
    {.name = "mistral with spaces",
     .sign = "[TOOL_CALLS] [",
     .begin = "[TOOL_CALLS]",
     .opening = " ",
     .list = true,
     .shortIds = true},
    {.name = "llama",
     .sign = "<|start_header_id|>",
     .otherSign = "\"parameters\": ",
     .begin = "<|python_tag|>",
     .next = "; ",
     .arguments = "parameters",
     .bare = true},
};

std::span<const ToolFormat> toolFormats() { return formats; }

static bool holds(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// GLM and Qwen3-Coder put other things than JSON between Hermes' markers.
static bool writesNoJson(std::string_view chatTemplate) {
  return holds(chatTemplate, "<function=") || holds(chatTemplate, "<arg_key>");
}

const ToolFormat *toolFormatOf(std::string_view chatTemplate) {
  if (writesNoJson(chatTemplate))
    return nullptr;
  auto row = std::find_if(std::begin(formats), std::end(formats), [&](const ToolFormat &format) {
    return holds(chatTemplate, format.sign) && holds(chatTemplate, format.otherSign);
  });
  return row == std::end(formats) ? nullptr : row;
}

std::string ToolFormat::newId() const { return shortIds ? randomId("").substr(0, 9) : randomId("call_"); }

} // namespace fusec::serve
