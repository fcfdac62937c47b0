//===- Request.h - one generation: what is asked, what comes back ------------===//
//
// Plain data. A Request is validated by Engine::generate before anything runs.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/engine/SamplingParams.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace fusec::runtime {

struct Request {
  /// Token ids in [0, vocab); not empty, shorter than the engine's context.
  std::vector<TokenId> prompt = {};
  SamplingParams sampling = {};
  /// Most tokens to generate; -1 = until the context is full.
  int64_t maxTokens = -1;
  /// Ids that end the generation, in addition to the model's own end ids.
  std::vector<TokenId> stopIds = {};
  /// The text ends before the earliest of these; at most maxStopStrings, none empty.
  std::vector<std::string> stopStrings = {};
  /// Do not stop at the model's end ids (benchmarks).
  bool ignoreEos = false;
  /// When set, looked at before every step; true ends the generation as
  /// Cancelled. Borrowed; must outlive the call.
  const std::atomic<bool> *cancel = nullptr;

  static constexpr size_t maxStopStrings = 16;

  /// InvalidArgument with what was expected and found. `contextTokens`: the
  /// engine's limit; `vocabSize`: rows of the embedding.
  Status validate(int64_t vocabSize, int64_t contextTokens) const;
};

enum class FinishReason {
  Stop,      ///< An end id or a stop string.
  Length,    ///< maxTokens reached, or the context is full.
  Cancelled, ///< The callback returned false, or Request::cancel was set.
};

/// "stop", "length", "cancelled".
std::string_view finishReasonName(FinishReason reason);

/// One generated token, as given to the callback.
struct TokenEvent {
  /// The id of an event that brings only text: what was held back for a stop
  /// string or an unfinished character and is released when generation ends.
  static constexpr TokenId noToken = -1;

  TokenId id = noToken;
  /// Whole characters only. May be empty: text is held back while it could still
  /// become a stop string or while a character lacks bytes. The deltas of all
  /// events concatenate to Generation::text.
  std::string textDelta;
  /// Log-probabilities of the raw distribution; set when sampling.logprobs >= 0.
  float logprob = 0;
  std::vector<TokenLogprob> topLogprobs; ///< Best first, up to sampling.logprobs rows.
};

struct Timings {
  int64_t promptTokens = 0;
  int64_t cachedTokens = 0;  ///< Of the prompt: reused from the KV cache.
  int64_t prefillTokens = 0; ///< Of the prompt: computed now.
  double prefillSeconds = 0; ///< Until the first token is sampled.
  int64_t decodeTokens = 0;  ///< Tokens after the first, an end id included.
  double decodeSeconds = 0;  ///< Model, sampling and callbacks of those tokens.

  double prefillTokensPerSecond() const { return prefillSeconds > 0 ? prefillTokens / prefillSeconds : 0; }
  double decodeTokensPerSecond() const { return decodeSeconds > 0 ? decodeTokens / decodeSeconds : 0; }
};

struct Generation {
  /// Sampled ids without the end id. After a stop string: up to and including
  /// the token that completed the match.
  std::vector<TokenId> ids;
  std::string text;
  FinishReason reason = FinishReason::Stop;
  Timings timings;
};

/// Called on the thread that called generate, once per token; false = cancel.
using TokenCallback = std::function<bool(const TokenEvent &)>;

} // namespace fusec::runtime
