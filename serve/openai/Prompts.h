//===- Prompts.h - prompts and conversations to token ids ------------------------===//
//
// A raw prompt may spell control tokens. In a conversation only the template's
// own text may: what came with the request is plain text, whatever it spells.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "serve/openai/GenerationCall.h"

#include <string>
#include <vector>

namespace fusec::serve {

/// `prompt` of /v1/completions into call.prompts.
Failure readTextPrompts(const nlohmann::json &body, const CallContext &context, GenerationCall &call);

/// `messages` of /v1/chat/completions into call.prompts, and what `tools` ask for into call.tools. `text`: the body,
/// whose order of keys `tools` keeps.
Failure readChatPrompt(const std::string &text, const CallContext &context, GenerationCall &call);

struct ChatPromptOptions {
  bool addGenerationPrompt = true; ///< Up to where the answer begins.
  bool addSpecial = false;         ///< A template writes BOS itself where its model wants one.
};

/// The tokens of the conversation in the body `text`. `use`: how its answer is to be read.
Failure encodeChat(const std::string &text, const ChatPromptOptions &options, const Backend &backend,
                   std::vector<text::TokenId> &ids, ToolUse &use);

/// An array of ids in [0, vocabulary), named `name` in errors.
Failure readTokenIds(const nlohmann::json &list, const std::string &name, int64_t vocabulary,
                     std::vector<text::TokenId> &ids);

} // namespace fusec::serve
