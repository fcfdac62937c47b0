//===- ChatPrompt.cpp ---------------------------------------------------------===//
#include "runtime/text/ChatPrompt.h"

namespace fusec::text {

static std::string spelled(const Tokenizer &tokenizer, std::optional<TokenId> id) {
  return id ? std::string(tokenizer.piece(*id)) : std::string();
}

nlohmann::ordered_json chatVariables(const Tokenizer &tokenizer, nlohmann::ordered_json messages,
                                     bool addGenerationPrompt) {
  return {{"messages", std::move(messages)},
          {"add_generation_prompt", addGenerationPrompt},
          {"bos_token", spelled(tokenizer, tokenizer.bosId())},
          {"eos_token", spelled(tokenizer, tokenizer.eosId())}};
}

Result<std::vector<TokenId>> encodeSegments(const Tokenizer &tokenizer, std::span<const Segment> segments,
                                            bool addSpecial) {
  std::vector<PromptSpan> spans;
  spans.reserve(segments.size());
  for (const Segment &segment : segments)
    spans.push_back({.text = segment.text, .parseSpecial = segment.fromTemplate});
  return tokenizer.encodeSpans(spans, addSpecial);
}

} // namespace fusec::text
