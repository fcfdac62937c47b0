//===- SamplingParams.h - how the next token is chosen -----------------------===//
//
// Parameters of one request, with their legal ranges. Steps are applied in the
// order of the fields below. Values; safe from any thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/text/TokenId.h"

#include <cstdint>
#include <map>
#include <vector>

namespace fusec::runtime {

using text::TokenId;

struct ModelInfo;

struct SamplingParams {
  /// Added to the logits of these ids; each in [-100, 100].
  std::map<TokenId, float> logitBias;
  /// > 0; 1 = off. Ids seen in prompt or output: a positive logit is divided by
  /// it, a negative one multiplied; each id once.
  float repetitionPenalty = 1;
  /// In [-2, 2]; subtracted once from every id that was sampled before (output
  /// only, as in OpenAI's formula).
  float presencePenalty = 0;
  /// In [-2, 2]; subtracted once per earlier sampling of the id.
  float frequencyPenalty = 0;
  /// >= 0; 0 = argmax (ties: lowest id), the filters below then do nothing.
  float temperature = 1;
  /// Keep the k best; 0 or -1 = off.
  int topK = 0;
  /// In [0, 1]; keep the smallest set of best tokens whose probability reaches
  /// it, at least one; 1 = off.
  float topP = 1;
  /// In [0, 1]; drop tokens less likely than minP times the best; 0 = off.
  float minP = 0;
  /// Equal seeds give equal tokens.
  uint64_t seed = 0;
  /// Only these ids may be chosen; empty = all.
  std::vector<TokenId> allowedIds;
  /// -1 = no log-probabilities; n in [0, maxLogprobs] = that of each chosen token
  /// and of the n best ids. They are of the model's raw distribution, before
  /// bias, penalties and temperature.
  int logprobs = -1;

  static constexpr int maxLogprobs = 20;

  /// The model's recommended values where it has any, else the defaults above.
  static SamplingParams defaultsFor(const ModelInfo &model);

  /// Greedy decoding.
  static SamplingParams greedy() {
    SamplingParams params;
    params.temperature = 0;
    return params;
  }

  /// InvalidArgument naming the parameter, its legal range and the value found.
  /// `vocabSize`: ids of logitBias must be in [0, vocabSize).
  Status validate(int64_t vocabSize) const;
};

/// One row of a log-probability report. Natural logarithms; what is impossible has
/// leastLogprob, so that a report is made of finite numbers.
struct TokenLogprob {
  TokenId id;
  float logprob;
};
inline constexpr float leastLogprob = -9999;

/// The log-probabilities at one place of a text.
struct TokenReport {
  TokenId id = -1;
  float logprob = 0;
  std::vector<TokenLogprob> top; ///< Best first; impossible ids are left out.
};

} // namespace fusec::runtime
