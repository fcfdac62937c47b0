//===- ChatPrompt.h - a conversation as token ids -----------------------------===//
//
// What stands between a chat template and a tokenizer, for everybody who turns
// messages into a prompt:
//
//   auto segments = chat.renderSegments(chatVariables(tokenizer, messages, /*addGenerationPrompt=*/true));
//   auto ids = encodeSegments(tokenizer, *segments);
//
// Free functions on the caller's values; any thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/text/ChatTemplate.h"
#include "runtime/text/Tokenizer.h"

#include <span>
#include <vector>

namespace fusec::text {

/// The variables that every template may use: messages, add_generation_prompt, and bos_token and eos_token as the
/// tokenizer spells them (empty where it has none).
nlohmann::ordered_json chatVariables(const Tokenizer &tokenizer, nlohmann::ordered_json messages,
                                     bool addGenerationPrompt);

/// Control tokens are meant where the template spells them, and are plain text where a message does. A template writes
/// the first token itself where its model wants one, so `addSpecial` is for callers that were asked for it. Errors of
/// Tokenizer::encodeSpans.
Result<std::vector<TokenId>> encodeSegments(const Tokenizer &tokenizer, std::span<const Segment> segments,
                                            bool addSpecial = false);

} // namespace fusec::text
