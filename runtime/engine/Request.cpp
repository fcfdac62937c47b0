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

} // namespace

Status Request::validate(int64_t vocabSize, int64_t contextTokens) const {
  if (prompt.empty())
    return invalidArgument("the prompt is empty: at least one token is needed");
  if (static_cast<int64_t>(prompt.size()) >= contextTokens)
    return invalidArgument("the prompt has " + std::to_string(prompt.size()) + " tokens, the context holds " +
                           std::to_string(contextTokens) + " and at least one must be left for the answer");
  if (maxTokens < 1 && maxTokens != -1)
    return invalidArgument("max_tokens: expected a positive number or -1 (until the context is full), found " +
                           std::to_string(maxTokens));
  FUSEC_RETURN_IF_ERROR(requireIds(prompt, vocabSize, "prompt"));
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
  }
  return "";
}

} // namespace fusec::runtime
