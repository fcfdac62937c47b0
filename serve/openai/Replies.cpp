//===- Replies.cpp - answers in OpenAI's form --------------------------------------===//
#include "serve/openai/Replies.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace fusec::serve {

using nlohmann::json;
using runtime::FinishReason;

int64_t countCharacters(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

//===----------------------------------------------------------------------===//
// Log-probabilities
//===----------------------------------------------------------------------===//

/// JSON has no infinity; -9999 is what clients of OpenAI's API know for "never".
static double jsonLogprob(float value) { return std::isfinite(value) ? std::max(value, -9999.0f) : -9999.0; }

static json bytesOf(std::string_view piece) {
  json bytes = json::array();
  for (char c : piece)
    bytes.push_back(static_cast<unsigned char>(c));
  return bytes;
}

/// A token's text; one that is no whole character as "bytes:\xe2\x82", so that different tokens stay different.
static std::string tokenText(const text::Tokenizer &tokenizer, text::TokenId id) {
  const std::string piece(tokenizer.piece(id));
  const json probe = piece;
  if (probe.dump(-1, ' ', false, json::error_handler_t::ignore) ==
      probe.dump(-1, ' ', false, json::error_handler_t::replace))
    return piece;
  std::string text = "bytes:";
  for (char c : piece) {
    char escape[5];
    std::snprintf(escape, sizeof escape, "\\x%02x", static_cast<unsigned char>(c));
    text += escape;
  }
  return text;
}

static json chatLogprob(const runtime::TokenReport &report, const text::Tokenizer &tokenizer) {
  const auto entry = [&](text::TokenId id, float logprob) {
    return json{{"token", tokenText(tokenizer, id)},
                {"logprob", jsonLogprob(logprob)},
                {"bytes", bytesOf(tokenizer.piece(id))}};
  };
  json row = entry(report.id, report.logprob);
  row["top_logprobs"] = json::array();
  for (const runtime::TokenLogprob &other : report.top)
    row["top_logprobs"].push_back(entry(other.id, other.logprob));
  return row;
}

namespace {

bool continuesCharacter(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

/// Bytes of `rest` that a token stands for. Not always its own: a tokenizer's leading space is taken off a text,
/// control tokens may be left out, and what is no UTF-8 was replaced.
size_t bytesOfToken(std::string_view rest, std::string_view piece) {
  constexpr std::string_view replacement = "\xEF\xBF\xBD";
  if (rest.starts_with(piece))
    return piece.size();
  if (piece.starts_with(' ') && rest.starts_with(piece.substr(1)))
    return piece.size() - 1;
  return rest.starts_with(replacement) ? replacement.size() : 0;
}

/// The `logprobs` object of a completion: parallel arrays.
class CompletionLogprobs {
public:
  /// `text`: what the tokens come to; `offset`: characters before it.
  CompletionLogprobs(const text::Tokenizer &tokenizer, std::string_view text, int64_t offset)
      : tokenizer(tokenizer), rest(text), offset(offset) {}

  /// `known`: false for a prompt's first token, which has no probability.
  void add(const runtime::TokenReport &report, bool known) {
    const std::string token = tokenText(tokenizer, report.id);
    tokens.push_back(token);
    const bool within = !rest.empty() && continuesCharacter(rest.front());
    offsets.push_back(offset - (within ? 1 : 0)); // Of a character's later tokens: where it began.
    const std::string_view bytes = rest.substr(0, bytesOfToken(rest, tokenizer.piece(report.id)));
    offset += countCharacters(bytes);
    rest.remove_prefix(bytes.size());
    logprobs.push_back(known ? json(jsonLogprob(report.logprob)) : json(nullptr));
    json row = known ? json::object() : json(nullptr);
    for (const runtime::TokenLogprob &other : report.top)
      row[tokenText(tokenizer, other.id)] = jsonLogprob(other.logprob);
    top.push_back(std::move(row));
  }
  json toJson() && {
    return {{"tokens", std::move(tokens)},
            {"token_logprobs", std::move(logprobs)},
            {"top_logprobs", std::move(top)},
            {"text_offset", std::move(offsets)}};
  }

private:
  const text::Tokenizer &tokenizer;
  std::string_view rest; ///< Of the text: from the next token on.
  int64_t offset;
  json tokens = json::array(), logprobs = json::array(), top = json::array(), offsets = json::array();
};

} // namespace

/// `text`: of the choice, which holds the prompt's tokens where it echoes.
static json wholeLogprobs(const GenerationCall &call, const runtime::RequestOutcome &outcome,
                          const runtime::Generation &generation, const std::string &text,
                          const text::Tokenizer &tokenizer) {
  if (call.logprobs < 0)
    return nullptr;
  if (call.chat) {
    json content = json::array();
    for (const runtime::TokenReport &report : generation.reports)
      content.push_back(chatLogprob(report, tokenizer));
    return {{"content", std::move(content)}, {"refusal", nullptr}};
  }
  CompletionLogprobs rows(tokenizer, text, 0);
  for (size_t i = 0; i < outcome.promptLogprobs.size(); ++i)
    rows.add(outcome.promptLogprobs[i], i > 0);
  if (!call.hideText)
    for (const runtime::TokenReport &report : generation.reports)
      rows.add(report, true);
  return std::move(rows).toJson();
}

//===----------------------------------------------------------------------===//
// Whole answers
//===----------------------------------------------------------------------===//

static json headJson(const ReplyHead &head, std::string_view object) {
  return {{"id", head.id},
          {"object", object},
          {"created", head.created},
          {"model", head.model},
          {"system_fingerprint", head.fingerprint}};
}

json Usage::toJson() const {
  return {{"prompt_tokens", promptTokens},
          {"completion_tokens", completionTokens},
          {"total_tokens", promptTokens + completionTokens},
          {"prompt_tokens_details", {{"cached_tokens", cachedTokens}}}};
}

/// An end by the server is told by an error, so that what is left are OpenAI's two reasons.
static std::string reasonName(FinishReason reason, bool called) {
  if (reason == FinishReason::Length)
    return "length";
  return called ? "tool_calls" : "stop";
}

static json callJson(const AnswerPiece &piece) {
  return {{"id", piece.id}, {"type", "function"}, {"function", {{"name", piece.text}, {"arguments", ""}}}};
}

void ToolAnswer::add(const AnswerPiece &piece) {
  if (piece.kind == AnswerPiece::Kind::Content)
    content += piece.text;
  else if (piece.kind == AnswerPiece::Kind::Call)
    calls.push_back(callJson(piece));
  else
    calls[static_cast<size_t>(piece.call)]["function"]["arguments"].get_ref<std::string &>() += piece.text;
}

static json messageJson(const std::string &text, const ToolAnswer *answer) {
  json message = {{"role", "assistant"}, {"content", answer ? answer->content : text}, {"refusal", nullptr}};
  if (!answer || answer->calls.empty())
    return message;
  if (answer->content.empty())
    message["content"] = nullptr;
  message["tool_calls"] = answer->calls;
  return message;
}

static json wholeChoice(const GenerationCall &call, size_t prompt, int index, const runtime::RequestOutcome &outcome,
                        const runtime::Generation &generation, const ToolAnswer *answer,
                        const text::Tokenizer &tokenizer) {
  const std::string text = (call.echo ? call.promptTexts[prompt] : "") + (call.hideText ? "" : generation.text);
  json choice = {{"index", index},
                 {"logprobs", wholeLogprobs(call, outcome, generation, text, tokenizer)},
                 {"finish_reason", call.hideText ? "length" : reasonName(generation.reason, answer && answer->whole)}};
  if (call.chat)
    choice["message"] = messageJson(generation.text, answer);
  else
    choice["text"] = text;
  if (call.returnTokenIds) {
    choice["prompt_token_ids"] = call.prompts[prompt];
    choice["token_ids"] = generation.ids;
  }
  return choice;
}

Usage usageOf(const GenerationCall &call, const std::vector<runtime::RequestOutcome> &outcomes) {
  Usage usage;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    usage.promptTokens += static_cast<int64_t>(call.prompts[i].size());
    usage.cachedTokens += outcomes[i].explanation.cachedTokens;
    if (!call.hideText)
      for (const runtime::Generation &generation : outcomes[i].choices)
        usage.completionTokens += static_cast<int64_t>(generation.ids.size());
  }
  return usage;
}

json wholeReply(const ReplyHead &head, const GenerationCall &call, const std::vector<runtime::RequestOutcome> &outcomes,
                const std::vector<ToolAnswer> &answers, const text::Tokenizer &tokenizer, Usage &usage) {
  json reply = headJson(head, head.chat ? "chat.completion" : "text_completion");
  json choices = json::array();
  for (size_t prompt = 0; prompt < outcomes.size(); ++prompt)
    for (const runtime::Generation &generation : outcomes[prompt].choices) {
      const size_t index = choices.size();
      choices.push_back(wholeChoice(call, prompt, static_cast<int>(index), outcomes[prompt], generation,
                                    answers.empty() ? nullptr : &answers[index], tokenizer));
    }
  reply["choices"] = std::move(choices);
  usage = usageOf(call, outcomes);
  reply["usage"] = usage.toJson();
  if (call.explain)
    reply["fusec"] = explanation(outcomes);
  return reply;
}

static double milliseconds(double seconds) { return std::round(seconds * 1e6) / 1e3; }

json explanation(const std::vector<runtime::RequestOutcome> &outcomes) {
  json rows = json::array();
  for (const runtime::RequestOutcome &outcome : outcomes) {
    const runtime::Explanation &why = outcome.explanation;
    rows.push_back({{"queue_ms", milliseconds(why.queueSeconds)},
                    {"prefill_ms", milliseconds(why.prefillSeconds)},
                    {"ttft_ms", milliseconds(why.firstTokenSeconds)},
                    {"decode_ms", milliseconds(why.decodeSeconds)},
                    {"total_ms", milliseconds(why.totalSeconds)},
                    {"prompt_tokens", why.promptTokens},
                    {"cached_tokens", why.cachedTokens},
                    {"computed_tokens", why.computedTokens},
                    {"recomputed_tokens", why.recomputedTokens},
                    {"generated_tokens", why.generatedTokens},
                    {"preemptions", why.preemptions},
                    {"steps", why.steps},
                    {"batch", {{"min", why.minBatch}, {"mean", why.meanBatch}, {"max", why.maxBatch}}}});
  }
  return {{"requests", std::move(rows)}};
}

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

ChunkWriter::ChunkWriter(const ReplyHead &head, bool usageLater)
    : end(usageLater ? "],\"usage\":null}\n\n" : "]}\n\n") {
  begin = dumpJson(headJson(head, head.chat ? "chat.completion.chunk" : "text_completion"));
  begin.back() = ','; // Instead of the closing brace.
  begin = "data: " + begin + "\"choices\":[";
}

std::string ChunkWriter::lastEvent(const json &members) const {
  return begin + "]," + dumpJson(members).substr(1) + "\n\n";
}

static json streamChoice(bool chat, int index, json content) {
  json choice = {{"index", index}, {"logprobs", nullptr}, {"finish_reason", nullptr}};
  choice[chat ? "delta" : "text"] = std::move(content);
  return choice;
}

json roleChoice(int index, bool onlyCalls) {
  return streamChoice(true, index, {{"role", "assistant"}, {"content", onlyCalls ? json(nullptr) : json("")}});
}

json callChoice(int index, const AnswerPiece &piece) {
  json call = piece.kind == AnswerPiece::Kind::Call ? callJson(piece) : json{{"function", {{"arguments", piece.text}}}};
  call["index"] = piece.call;
  return streamChoice(true, index, {{"tool_calls", json::array({std::move(call)})}});
}

json deltaChoice(bool chat, int index, const std::string &text, const runtime::TokenEvent *event,
                 const text::Tokenizer &tokenizer, int64_t offset) {
  json choice = streamChoice(chat, index, chat ? json{{"content", text}} : json(text));
  if (!event || event->id == runtime::TokenEvent::noToken)
    return choice;
  const runtime::TokenReport report{event->id, event->logprob, event->topLogprobs};
  if (chat) {
    choice["logprobs"] = {{"content", json::array({chatLogprob(report, tokenizer)})}, {"refusal", nullptr}};
    return choice;
  }
  CompletionLogprobs rows(tokenizer, text, offset);
  rows.add(report, true);
  choice["logprobs"] = std::move(rows).toJson();
  return choice;
}

json finishChoice(bool chat, int index, FinishReason reason, bool called) {
  json choice = streamChoice(chat, index, chat ? json::object() : json(""));
  choice["finish_reason"] = reasonName(reason, called);
  return choice;
}

} // namespace fusec::serve
