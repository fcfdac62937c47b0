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

/// `messages` of /v1/chat/completions into call.prompts. `text`: the same body, whose order of keys `tools` keeps.
Failure readChatPrompt(const std::string &text, const nlohmann::json &body, const CallContext &context,
                       GenerationCall &call);

/// The tokens of a conversation; `addGenerationPrompt`: up to where the answer begins.
Failure encodeChat(const std::string &text, const nlohmann::json &body, const Backend &backend,
                   bool addGenerationPrompt, bool addSpecial, std::vector<text::TokenId> &ids);

/// An array of ids in [0, vocabulary), named `name` in errors.
Failure readTokenIds(const nlohmann::json &list, const std::string &name, int64_t vocabulary,
                     std::vector<text::TokenId> &ids);

} // namespace fusec::serve
