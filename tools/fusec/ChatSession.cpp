//===- ChatSession.cpp - a conversation as token ids -----------------------===//
#include "tools/fusec/ChatSession.h"

namespace fusec {

ChatSession::ChatSession(const text::Tokenizer &tokenizer, const text::ChatTemplate &chatTemplate,
                         std::string systemPrompt)
    : tokenizer(tokenizer), chatTemplate(chatTemplate), systemPrompt(std::move(systemPrompt)) {
  reset();
}

void ChatSession::reset() {
  messages = nlohmann::ordered_json::array();
  if (!systemPrompt.empty())
    messages.push_back({{"role", "system"}, {"content", systemPrompt}});
}

std::string ChatSession::specialText(std::optional<text::TokenId> id) const {
  return id ? std::string(tokenizer.piece(*id)) : std::string();
}

nlohmann::ordered_json ChatSession::context() const {
  return {{"messages", messages},
          {"add_generation_prompt", true},
          {"bos_token", specialText(tokenizer.bosId())},
          {"eos_token", specialText(tokenizer.eosId())}};
}

Result<std::vector<text::TokenId>> ChatSession::ask(const std::string &message) {
  messages.push_back({{"role", "user"}, {"content", message}});
  Result<std::vector<text::Segment>> segments = chatTemplate.renderSegments(context());
  if (!segments) {
    retract();
    return segments.status();
  }
  std::vector<text::PromptSpan> spans;
  for (const text::Segment &segment : *segments)
    spans.push_back({.text = segment.text, .parseSpecial = segment.fromTemplate});
  // A template writes BOS itself where its model wants one.
  return tokenizer.encodeSpans(spans, /*addSpecial=*/false);
}

void ChatSession::answer(const std::string &text) { messages.push_back({{"role", "assistant"}, {"content", text}}); }

void ChatSession::retract() { messages.erase(messages.size() - 1); }

} // namespace fusec
