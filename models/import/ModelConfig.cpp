//===- ModelConfig.cpp - rules and formulas of a model's configuration -----===//

#include "models/import/ModelConfig.h"

#include <cmath>
#include <numbers>

namespace fusec::models {
namespace {

/// Keeps every product of two sizes inside int64.
constexpr int64_t maxExtent = (int64_t{1} << 31) - 1;

struct SizeRow {
  const char *what;
  int64_t ModelConfig::*field;
};

constexpr SizeRow sizes[] = {
    {"number of layers", &ModelConfig::layers}, {"hidden size", &ModelConfig::hidden},
    {"number of heads", &ModelConfig::heads},   {"number of KV heads", &ModelConfig::kvHeads},
    {"head size", &ModelConfig::headDim},       {"feed-forward size", &ModelConfig::ffn},
    {"vocabulary size", &ModelConfig::vocab},   {"context length", &ModelConfig::context},
};

Status checkSizes(const ModelConfig &config) {
  for (const SizeRow &row : sizes)
    if (int64_t value = config.*row.field; value < 1 || value > maxExtent)
      return corruptData(std::string(row.what) + ": expected 1 to 2^31-1, found " + std::to_string(value));
  if (config.heads % config.kvHeads != 0)
    return corruptData("number of heads: expected a multiple of the " + std::to_string(config.kvHeads) +
                       " KV heads, found " + std::to_string(config.heads));
  if (!(config.normEps >= 0.0 && config.normEps < 1.0))
    return corruptData("norm epsilon: expected 0 to 1, found " + std::to_string(config.normEps));
  if (config.slidingWindow && *config.slidingWindow < 1)
    return corruptData("sliding window: expected at least 1, found " + std::to_string(*config.slidingWindow));
  return {};
}

bool isPositive(double value) { return std::isfinite(value) && value > 0.0; }

Status checkRope(const RopeConfig &rope, int64_t headDim) {
  if (rope.dims < 2 || rope.dims > headDim || rope.dims % 2 != 0)
    return corruptData("rotary dimensions: expected an even number from 2 to the head size " + std::to_string(headDim) +
                       ", found " + std::to_string(rope.dims));
  if (!isPositive(rope.theta))
    return corruptData("rotary base: expected a positive number, found " + std::to_string(rope.theta));
  if (rope.scaling != RopeScaling::None && !isPositive(rope.factor))
    return corruptData("rotary scaling factor: expected a positive number, found " + std::to_string(rope.factor));
  if (!rope.factors.empty() && static_cast<int64_t>(rope.factors.size()) != rope.dims / 2)
    return corruptData("rotary factors: expected " + std::to_string(rope.dims / 2) + ", found " +
                       std::to_string(rope.factors.size()));
  for (float factor : rope.factors)
    if (!isPositive(factor))
      return corruptData("rotary factors: expected positive numbers, found " + std::to_string(factor));
  if (rope.scaling == RopeScaling::Llama3 && rope.factors.empty() &&
      !(isPositive(rope.lowFreqFactor) && isPositive(rope.highFreqFactor) && rope.highFreqFactor > rope.lowFreqFactor &&
        rope.originalContext > 0))
    return corruptData("llama3 rotary scaling: expected 0 < low_freq_factor < high_freq_factor and a positive "
                       "original_max_position_embeddings, found " +
                       std::to_string(rope.lowFreqFactor) + ", " + std::to_string(rope.highFreqFactor) + ", " +
                       std::to_string(rope.originalContext));
  return {};
}

Status checkTokenId(const char *what, int64_t id, int64_t vocab) {
  if (id >= 0 && id < vocab)
    return {};
  return corruptData(std::string(what) + ": expected an id below the vocabulary size " + std::to_string(vocab) +
                     ", found " + std::to_string(id));
}

/// Llama 3's rule: wavelengths beyond originalContext/low are stretched in full,
/// those below originalContext/high not at all.
double llama3Frequency(const RopeConfig &rope, double frequency) {
  const double turns = static_cast<double>(rope.originalContext) * frequency / (2.0 * std::numbers::pi);
  if (turns < rope.lowFreqFactor)
    return frequency / rope.factor;
  if (turns > rope.highFreqFactor)
    return frequency;
  const double smooth = (turns - rope.lowFreqFactor) / (rope.highFreqFactor - rope.lowFreqFactor);
  return (1.0 - smooth) * frequency / rope.factor + smooth * frequency;
}

} // namespace

Status validate(const ModelConfig &config) {
  FUSEC_RETURN_IF_ERROR(checkSizes(config));
  FUSEC_RETURN_IF_ERROR(checkRope(config.rope, config.headDim));
  if (config.bosId)
    FUSEC_RETURN_IF_ERROR(checkTokenId("BOS token", *config.bosId, config.vocab));
  for (int64_t id : config.eosIds)
    FUSEC_RETURN_IF_ERROR(checkTokenId("EOS token", id, config.vocab));
  return {};
}

std::vector<float> rotaryFrequencies(const RopeConfig &rope) {
  std::vector<float> result(static_cast<size_t>(rope.dims / 2));
  for (size_t i = 0; i < result.size(); ++i) {
    double frequency = std::pow(rope.theta, -2.0 * static_cast<double>(i) / static_cast<double>(rope.dims));
    if (rope.scaling == RopeScaling::Linear)
      frequency /= rope.factor;
    if (rope.scaling == RopeScaling::Llama3 && rope.factors.empty())
      frequency = llama3Frequency(rope, frequency);
    if (!rope.factors.empty())
      frequency /= rope.factors[i];
    result[i] = static_cast<float>(frequency);
  }
  return result;
}

} // namespace fusec::models
