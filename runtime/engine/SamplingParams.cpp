//===- SamplingParams.cpp - legal ranges -------------------------------------===//

#include "runtime/engine/SamplingParams.h"

#include "runtime/exec/ModelInfo.h"

#include <cmath>
#include <limits>
#include <string>

namespace fusec::runtime {

namespace {

struct FloatRange {
  const char *name;
  float SamplingParams::*field;
  float low, high;
  bool lowAllowed;
  const char *text;
};

constexpr float unbounded = std::numeric_limits<float>::max(); // Finite: infinity itself is refused.

constexpr FloatRange floatRanges[] = {
    {"repetition_penalty", &SamplingParams::repetitionPenalty, 0, unbounded, false, "a number above 0"},
    {"presence_penalty", &SamplingParams::presencePenalty, -2, 2, true, "a number from -2 to 2"},
    {"frequency_penalty", &SamplingParams::frequencyPenalty, -2, 2, true, "a number from -2 to 2"},
    {"temperature", &SamplingParams::temperature, 0, unbounded, true, "a number from 0"},
    {"top_p", &SamplingParams::topP, 0, 1, true, "a number from 0 to 1"},
    {"min_p", &SamplingParams::minP, 0, 1, true, "a number from 0 to 1"},
};

constexpr float maxBias = 100;

Status outOfRange(const std::string &name, const std::string &expected, const std::string &found) {
  return invalidArgument(name + ": expected " + expected + ", found " + found);
}

} // namespace

SamplingParams SamplingParams::defaultsFor(const ModelInfo &model) {
  SamplingParams params;
  const GenerationDefaults &defaults = model.generation;
  params.temperature = defaults.temperature.value_or(params.temperature);
  params.topK = defaults.topK.value_or(params.topK);
  params.topP = defaults.topP.value_or(params.topP);
  params.minP = defaults.minP.value_or(params.minP);
  params.repetitionPenalty = defaults.repetitionPenalty.value_or(params.repetitionPenalty);
  return params;
}

Status SamplingParams::validate(int64_t vocabSize) const {
  for (const FloatRange &range : floatRanges) {
    float value = this->*range.field;
    // Written so that NaN fails.
    bool legal = value <= range.high && (range.lowAllowed ? value >= range.low : value > range.low);
    if (!legal)
      return outOfRange(range.name, range.text, std::to_string(value));
  }
  if (topK < -1)
    return outOfRange("top_k", "-1 or 0 (off) or a positive number", std::to_string(topK));
  if (logprobs < -1 || logprobs > maxLogprobs)
    return outOfRange("logprobs", "-1 (off) to " + std::to_string(maxLogprobs), std::to_string(logprobs));
  const std::string legalIds = "token ids from 0 to " + std::to_string(vocabSize - 1);
  for (TokenId id : allowedIds)
    if (id < 0 || id >= vocabSize)
      return outOfRange("allowed_token_ids", legalIds, std::to_string(id));
  for (const auto &[id, bias] : logitBias) {
    if (id < 0 || id >= vocabSize)
      return outOfRange("logit_bias", legalIds, std::to_string(id));
    if (!(std::fabs(bias) <= maxBias))
      return outOfRange("logit_bias of token " + std::to_string(id), "a number from -100 to 100", std::to_string(bias));
  }
  return {};
}

} // namespace fusec::runtime
