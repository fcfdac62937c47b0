//===- Prompts.cpp - prompts and conversations to token ids ----------------------===//
#include "serve/openai/Prompts.h"

#include "runtime/base/Json.h"
#include "runtime/text/ChatPrompt.h"
#include "serve/openai/Messages.h"
#include "serve/openai/Tools.h"

namespace fusec::serve {

using nlohmann::json;
using nlohmann::ordered_json;

Failure readTokenIds(const json &list, const std::string &name, int64_t vocabulary, std::vector<text::TokenId> &ids) {
  ids.reserve(ids.size() + list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    const json &value = list[i];
    // A float is no id, and what does not fit 64 bits is read as one.
    const bool fits = value.is_number_integer() && (!value.is_number_unsigned() || value.get<uint64_t>() < (1u << 31));
    const int64_t id = fits ? value.get<int64_t>() : -1;
    if (id < 0 || id >= vocabulary)
      return invalidValue(name, name + "[" + std::to_string(i) + "]: expected a token id from 0 to " +
                                    std::to_string(vocabulary - 1) + ", found " + dumpJson(value).substr(0, 60));
    ids.push_back(static_cast<text::TokenId>(id));
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Completions
//===----------------------------------------------------------------------===//

static Failure addText(const std::string &prompt, bool addSpecial, const CallContext &context, GenerationCall &call) {
  auto ids = context.backend.tokenizer().encode(prompt, {.addSpecial = addSpecial, .parseSpecial = true});
  if (!ids)
    return invalidValue("prompt", "prompt: " + ids.status().message());
  call.prompts.push_back(std::move(*ids));
  call.promptTexts.push_back(prompt);
  return {};
}

static Failure addIds(const json &list, const std::string &name, const CallContext &context, GenerationCall &call) {
  std::vector<text::TokenId> ids;
  if (Failure failure = readTokenIds(list, name, context.backend.tokenizer().size(), ids)) {
    failure->param = "prompt";
    return failure;
  }
  call.promptTexts.push_back(call.echo ? context.backend.tokenizer().decode(ids, /*skipSpecial=*/false)
                                       : std::string());
  call.prompts.push_back(std::move(ids));
  return {};
}

Failure readTextPrompts(const json &body, const CallContext &context, GenerationCall &call) {
  const json *prompt = jsonFind(body, "prompt");
  if (!prompt)
    return invalidValue("prompt", "prompt: missing, expected a string or an array");
  const json *special = jsonFind(body, "add_special_tokens");
  const bool addSpecial = !special || special->get<bool>();
  if (prompt->is_string())
    return addText(prompt->get_ref<const std::string &>(), addSpecial, context, call);
  if (prompt->empty())
    return invalidValue("prompt", "prompt: expected a prompt, found an empty array");
  if (prompt->front().is_number())
    return addIds(*prompt, "prompt", context, call);
  if (static_cast<int>(prompt->size()) > context.options.maxPrompts)
    return invalidValue("prompt", "prompt: expected at most " + std::to_string(context.options.maxPrompts) +
                                      " prompts, found " + std::to_string(prompt->size()));
  for (size_t i = 0; i < prompt->size(); ++i) {
    const json &one = (*prompt)[i];
    const std::string name = "prompt[" + std::to_string(i) + "]";
    if (one.type() != prompt->front().type() || !(one.is_string() || one.is_array()))
      return invalidValue("prompt", name + ": expected all strings, or all arrays of token ids, found " +
                                        std::string(jsonTypeName(one)));
    FUSEC_RETURN_FAILURE(one.is_string() ? addText(one.get_ref<const std::string &>(), addSpecial, context, call)
                                         : addIds(one, name, context, call));
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Chat
//===----------------------------------------------------------------------===//

/// Whether the template looks at a variable: naming it is as much as can be known without running it.
static bool mentions(const text::ChatTemplate &chat, std::string_view variable) {
  return chat.source().find(variable) != std::string::npos;
}

static Failure addExtras(const ordered_json &body, const text::ChatTemplate &chat, ordered_json &variables) {
  const auto effort = body.find("reasoning_effort");
  if (effort != body.end() && !effort->is_null()) {
    if (!mentions(chat, "reasoning_effort"))
      return ApiError{ErrorKind::Unsupported, "reasoning_effort: this model's chat template does not ask for it",
                      "reasoning_effort"};
    variables["reasoning_effort"] = *effort;
  }
  const auto extras = body.find("chat_template_kwargs");
  if (extras == body.end() || extras->is_null())
    return {};
  for (const auto &[name, value] : extras->items()) {
    if (variables.contains(name))
      return invalidValue("chat_template_kwargs",
                          "chat_template_kwargs: '" + name.substr(0, 60) + "' is set by the server; give it outside");
    variables[name] = value;
  }
  return {};
}

/// Some templates put the arguments of earlier calls together with text and fail on the object that most want.
static Result<std::vector<text::Segment>> render(const text::ChatTemplate &chat, ordered_json &variables) {
  Result<std::vector<text::Segment>> segments = chat.renderSegments(variables);
  if (segments || !spellArguments(variables["messages"]))
    return segments;
  Result<std::vector<text::Segment>> again = chat.renderSegments(variables);
  return again ? std::move(again) : std::move(segments);
}

Failure encodeChat(const std::string &text, const ChatPromptOptions &options, const Backend &backend,
                   std::vector<text::TokenId> &ids, ToolUse &use) {
  const text::ChatTemplate *chat = backend.chatTemplate();
  if (!chat)
    return ApiError{ErrorKind::Unsupported, "messages: this model has no chat template; use /v1/completions",
                    "messages"};
  // A second parse, which keeps the order of keys: templates print tools as they came.
  const ordered_json ordered = ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  ordered_json messages;
  FUSEC_RETURN_FAILURE(readMessages(ordered, messages));
  const text::Tokenizer &tokenizer = backend.tokenizer();
  ordered_json variables = text::chatVariables(tokenizer, std::move(messages), options.addGenerationPrompt);
  ToolRequest tools;
  FUSEC_RETURN_FAILURE(readTools(ordered, chat->source(), tools));
  if (!tools.shown.empty())
    variables["tools"] = std::move(tools.shown);
  FUSEC_RETURN_FAILURE(addExtras(ordered, *chat, variables));
  Result<std::vector<text::Segment>> segments = render(*chat, variables);
  if (!segments)
    return invalidValue("messages", segments.status().message());
  use = std::move(tools.use);
  if (use.forced) // The answer begins where its first call does.
    segments->push_back({std::string(use.format->begin) + std::string(use.format->opening), /*fromTemplate=*/true});
  auto encoded = text::encodeSegments(tokenizer, *segments, options.addSpecial);
  if (!encoded)
    return invalidValue("messages", "messages: " + encoded.status().message());
  ids = std::move(*encoded);
  return {};
}

Failure readChatPrompt(const std::string &text, const CallContext &context, GenerationCall &call) {
  std::vector<text::TokenId> ids;
  FUSEC_RETURN_FAILURE(encodeChat(text, {}, context.backend, ids, call.tools));
  call.promptTexts.push_back(context.options.logPrompts ? context.backend.tokenizer().decode(ids, /*skipSpecial=*/false)
                                                        : std::string());
  call.prompts.push_back(std::move(ids));
  return {};
}

} // namespace fusec::serve
