//===- Replies.h - answers in OpenAI's form ---------------------------------------===//
//
// Whole answers and chunks of a stream, from what the engine gives. Pure
// functions of their arguments.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/engine/RequestOutcome.h"
#include "runtime/text/Tokenizer.h"
#include "serve/openai/GenerationCall.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace fusec::serve {

/// What all parts of one answer have in common.
struct ReplyHead {
  std::string id, model, fingerprint;
  int64_t created = 0; ///< Unix seconds.
  bool chat = false;
};

/// Tokens of one request, of all its prompts and texts.
struct Usage {
  int64_t promptTokens = 0, completionTokens = 0, cachedTokens = 0;
  nlohmann::json toJson() const;
};

/// A chat's answer with calls told from text.
struct ToolAnswer {
  std::string content;
  nlohmann::json calls = nlohmann::json::array(); ///< As `message.tool_calls`.
  bool whole = false;                             ///< There are calls, and none is cut off.

  void add(const AnswerPiece &piece);
};

/// The whole answer; `outcomes` one per prompt, in order. `answers`: one per text where calls are read, else empty.
/// `usage` is filled.
nlohmann::json wholeReply(const ReplyHead &head, const GenerationCall &call,
                          const std::vector<runtime::RequestOutcome> &outcomes, const std::vector<ToolAnswer> &answers,
                          const text::Tokenizer &tokenizer, Usage &usage);

/// Writes the chunks of one stream as server-sent events. What they have in common is printed once.
class ChunkWriter {
public:
  /// `usageLater`: every chunk says "usage": null, as one with the usage follows.
  ChunkWriter(const ReplyHead &head, bool usageLater);

  std::string event(const nlohmann::json &choice) const { return begin + dumpJson(choice) + end; }
  /// The last one: no choices, but `members`.
  std::string lastEvent(const nlohmann::json &members) const;

private:
  std::string begin; ///< Up to and with "choices":[
  std::string end;
};

/// The first delta of a chat. `onlyCalls`: no content follows.
nlohmann::json roleChoice(int index, bool onlyCalls);
/// A call begins, or its arguments go on.
nlohmann::json callChoice(int index, const AnswerPiece &piece);
/// Text, and log-probabilities when `event` is not null and they are wanted. `offset`: characters of the text before.
nlohmann::json deltaChoice(bool chat, int index, const std::string &text, const runtime::TokenEvent *event,
                           const text::Tokenizer &tokenizer, int64_t offset);
/// `called`: the text was calls of functions.
nlohmann::json finishChoice(bool chat, int index, runtime::FinishReason reason, bool called);

Usage usageOf(const GenerationCall &call, const std::vector<runtime::RequestOutcome> &outcomes);
/// The `fusec` object that "explain" asks for: one entry per prompt.
nlohmann::json explanation(const std::vector<runtime::RequestOutcome> &outcomes);

/// Characters (code points) of valid UTF-8.
int64_t countCharacters(std::string_view text);

} // namespace fusec::serve
