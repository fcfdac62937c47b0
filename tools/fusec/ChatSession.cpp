//===- ChatSession.cpp - a conversation as token ids -----------------------===//
#include "tools/fusec/ChatSession.h"

#include "runtime/text/ChatPrompt.h"

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

Result<std::vector<text::TokenId>> ChatSession::ask(const std::string &message) {
  messages.push_back({{"role", "user"}, {"content", message}});
  auto segments = chatTemplate.renderSegments(text::chatVariables(tokenizer, messages, /*addGenerationPrompt=*/true));
  if (!segments) {
    retract();
    return segments.status();
  }
  return text::encodeSegments(tokenizer, *segments);
}

void ChatSession::answer(const std::string &text) { messages.push_back({{"role", "assistant"}, {"content", text}}); }

void ChatSession::retract() { messages.erase(messages.size() - 1); }

} // namespace fusec
