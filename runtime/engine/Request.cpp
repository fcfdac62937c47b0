//===- Request.cpp - validation ----------------------------------------------===//

#include "runtime/engine/Request.h"

namespace fusec::runtime {

namespace {

Status requireIds(const std::vector<TokenId> &ids, int64_t vocabSize, const std::string &what) {
  for (size_t i = 0; i < ids.size(); ++i)
    if (ids[i] < 0 || ids[i] >= vocabSize)
      return invalidArgument(what + "[" + std::to_string(i) + "]: expected a token id from 0 to " +
                             std::to_string(vocabSize - 1) + ", found " + std::to_string(ids[i]));
  return {};
}

Status requireStops(const std::vector<std::string> &stops) {
  if (stops.size() > Request::maxStopStrings)
    return invalidArgument("stop: expected at most " + std::to_string(Request::maxStopStrings) + " strings, found " +
                           std::to_string(stops.size()));
  for (const std::string &stop : stops)
    if (stop.empty())
      return invalidArgument("stop: a stop string must not be empty");
  return {};
}

Status outOfRange(const char *name, const std::string &expected, int64_t found) {
  return invalidArgument(std::string(name) + ": expected " + expected + ", found " + std::to_string(found));
}

Status requireChoices(const Request &request, int64_t maxChoices) {
  const std::string range = "1 to " + std::to_string(maxChoices) + " (sequences that may run at once)";
  if (request.n < 1 || request.n > maxChoices)
    return outOfRange("n", range, request.n);
  if (request.bestOf != 0 && (request.bestOf < request.n || request.bestOf > maxChoices))
    return outOfRange("best_of",
                      "0 (as many as n) or n, that is " + std::to_string(request.n) + ", to " +
                          std::to_string(maxChoices) + " (sequences that may run at once)",
                      request.bestOf);
  return {};
}

Status requireLengths(const Request &request) {
  if (request.maxTokens < 1 && request.maxTokens != -1)
    return outOfRange("max_tokens", "a positive number or -1 (until the context is full)", request.maxTokens);
  const bool isBelowMost = request.maxTokens == -1 || request.minTokens <= request.maxTokens;
  if (request.minTokens < 0 || !isBelowMost)
    return outOfRange("min_tokens", "a number from 0 to max_tokens", request.minTokens);
  if (request.constraint && (request.minTokens > 0 || request.ignoreEos))
    return invalidArgument("min_tokens and ignore_eos do not go together with a grammar, which decides where the text "
                           "ends");
  return {};
}

Status requirePrompt(const Request &request, int64_t vocabSize, int64_t contextTokens) {
  if (request.prompt.empty())
    return invalidArgument("the prompt is empty: at least one token is needed");
  if (static_cast<int64_t>(request.prompt.size()) > contextTokens - (request.embed ? 0 : 1))
    return invalidArgument("the prompt has " + std::to_string(request.prompt.size()) + " tokens, the context holds " +
                           std::to_string(contextTokens) +
                           (request.embed ? "" : " and at least one must be left for the answer"));
  return requireIds(request.prompt, vocabSize, "prompt");
}

} // namespace

Status Request::validate(int64_t vocabSize, int64_t contextTokens, int64_t maxChoices) const {
  FUSEC_RETURN_IF_ERROR(requirePrompt(*this, vocabSize, contextTokens));
  if (embed)
    return {};
  FUSEC_RETURN_IF_ERROR(requireLengths(*this));
  FUSEC_RETURN_IF_ERROR(requireChoices(*this, maxChoices));
  if (promptLogprobs < -1 || promptLogprobs > SamplingParams::maxLogprobs)
    return outOfRange("prompt_logprobs", "-1 (off) to " + std::to_string(SamplingParams::maxLogprobs), promptLogprobs);
  FUSEC_RETURN_IF_ERROR(requireIds(stopIds, vocabSize, "stop_token_ids"));
  FUSEC_RETURN_IF_ERROR(requireStops(stopStrings));
  return sampling.validate(vocabSize);
}

std::string_view finishReasonName(FinishReason reason) {
  switch (reason) {
  case FinishReason::Stop:
    return "stop";
  case FinishReason::Length:
    return "length";
  case FinishReason::Cancelled:
    return "cancelled";
  case FinishReason::Error:
    return "error";
  }
  return "";
}

} // namespace fusec::runtime
