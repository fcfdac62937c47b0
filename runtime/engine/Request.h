//===- Request.h - one generation: what is asked, what comes back ------------===//
//
// Plain data. A Request is validated before anything runs; RequestOutcome.h says
// what is known of it at the end.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/engine/SamplingParams.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fusec::grammar {
class CompiledGrammar;
} // namespace fusec::grammar

namespace fusec::runtime {

struct Request {
  /// Token ids in [0, vocab); not empty, shorter than the engine's context. To embed: at most as long.
  std::vector<TokenId> prompt = {};
  /// Give RequestOutcome::embedding instead of texts. What concerns those is then not looked at. For artifacts that
  /// were compiled for embeddings, where it has to be set.
  bool embed = false;
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
  /// Cancelled. Borrowed; must outlive the request. EngineService::cancel is the
  /// way for other threads.
  const std::atomic<bool> *cancel = nullptr;

  /// Texts wanted, from 1. Text i draws from a seed made of the seed and i; text 0
  /// is what a request for one text gives. They share the KV of the prompt.
  int n = 1;
  /// Texts generated, of which the n with the best mean log-probability are given;
  /// 0 = n. Above n nothing is streamed.
  int bestOf = 0;
  /// Lower is served earlier under Policy::Priority.
  int priority = 0;
  /// Requests share cached KV only with requests of the same tenant.
  std::string tenant = {};
  /// End ids, stop ids and stop strings do nothing before this many tokens.
  int64_t minTokens = 0;
  /// -1 = none; n in [0, SamplingParams::maxLogprobs] = log-probabilities of the
  /// prompt's tokens and of the n best ids at each place. All of the prompt is
  /// then computed, cached or not.
  int promptLogprobs = -1;
  /// A stop string that ends the text is part of it.
  bool includeStop = false;
  /// Compute the whole prompt even when its KV is cached.
  bool skipPrefixCache = false;
  /// Restricts every text to what a grammar allows; null = free.
  std::shared_ptr<const grammar::CompiledGrammar> constraint = nullptr;

  static constexpr size_t maxStopStrings = 16;

  /// Texts to generate: the larger of n and bestOf.
  int numChoices() const { return bestOf > n ? bestOf : n; }

  /// InvalidArgument with what was expected and found. `contextTokens`: the
  /// engine's limit; `vocabSize`: rows of the embedding; `maxChoices`: most
  /// texts of one request.
  Status validate(int64_t vocabSize, int64_t contextTokens, int64_t maxChoices = 1) const;
};

enum class FinishReason {
  Stop,      ///< An end id, a stop string, or the constraint is complete.
  Length,    ///< maxTokens reached, or the context is full.
  Cancelled, ///< The callback returned false, Request::cancel was set, or EngineService::cancel.
  Error,     ///< RequestOutcome::status says what.
};
inline constexpr size_t numFinishReasons = 4;

/// "stop", "length", "cancelled", "error".
std::string_view finishReasonName(FinishReason reason);

/// One generated token, as given to the callback.
struct TokenEvent {
  /// The id of an event that brings only text: what was held back for a stop
  /// string or an unfinished character and is released when generation ends.
  static constexpr TokenId noToken = -1;

  TokenId id = noToken;
  /// Whole characters only. May be empty: text is held back while it could still
  /// become a stop string or while a character lacks bytes. The deltas of all
  /// events of a text concatenate to Generation::text.
  std::string textDelta;
  /// Log-probabilities of the raw distribution; set when sampling.logprobs >= 0.
  float logprob = 0;
  std::vector<TokenLogprob> topLogprobs; ///< Best first, up to sampling.logprobs rows.
  int choice = 0;                        ///< Which of the request's texts, in [0, n).
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
  /// Parallel to `ids`; filled when sampling.logprobs >= 0.
  std::vector<TokenReport> reports;
  /// Mean log-probability of what was sampled, an end id included; only when bestOf > n.
  double meanLogprob = 0;
  TokenId stopId = TokenEvent::noToken; ///< The end id or stop id that was sampled last.
  int stopString = -1;                  ///< Index of the stop string that was met.
};

/// Called on the thread that called generate, once per token; false = cancel.
using TokenCallback = std::function<bool(const TokenEvent &)>;

} // namespace fusec::runtime
