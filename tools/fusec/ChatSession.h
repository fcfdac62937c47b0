//===- ChatSession.h - a conversation as token ids -------------------------===//
//
//   ChatSession chat(engine.tokenizer(), *engine.chatTemplate(), "");
//   FUSEC_ASSIGN_OR_RETURN(auto prompt, chat.ask("Hello!"));
//   ... generate from prompt ...
//   chat.answer(generation.text);
//
// Keeps the history. What a user or the model wrote is tokenised as plain text:
// only the template's own text may spell control tokens.
//
// Ownership: borrows tokenizer and template. Threading: one thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/text/ChatTemplate.h"
#include "runtime/text/Tokenizer.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace fusec {

class ChatSession {
public:
  /// `systemPrompt` may be empty: then the template's own default, if any, applies.
  ChatSession(const text::Tokenizer &tokenizer, const text::ChatTemplate &chatTemplate, std::string systemPrompt);

  /// Adds a user message and returns the whole conversation up to where the answer begins. On an
  /// error (the template refused) the message is not added.
  Result<std::vector<text::TokenId>> ask(const std::string &message);
  /// Records the answer to the last question.
  void answer(const std::string &text);
  /// Takes the last question back; it got no answer.
  void retract();
  /// Forgets everything but the system prompt.
  void reset();

private:
  const text::Tokenizer &tokenizer;
  const text::ChatTemplate &chatTemplate;
  std::string systemPrompt;
  nlohmann::ordered_json messages;
};

} // namespace fusec
