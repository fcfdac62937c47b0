//===- RequestOutcome.h - what is known of a request at its end ------------------===//
//
// And the listener that hears of it. Plain data; safe from any thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/engine/Request.h"

#include <cstdint>
#include <vector>

namespace fusec::runtime {

/// Why a request took as long as it did. Seconds are of a steady clock.
struct Explanation {
  double queueSeconds = 0;      ///< From submit to its first step.
  double prefillSeconds = 0;    ///< From its first step to its first token.
  double firstTokenSeconds = 0; ///< From submit to its first token; 0 without one.
  double decodeSeconds = 0;     ///< From its first token to its last.
  double totalSeconds = 0;      ///< From submit to its end.
  int64_t promptTokens = 0;
  int64_t cachedTokens = 0;     ///< Of the prompt: found in the prefix cache, never computed for it.
  int64_t computedTokens = 0;   ///< Whose KV was computed for it, repeats included.
  int64_t recomputedTokens = 0; ///< Of those: computed before, lost by a preemption.
  int64_t generatedTokens = 0;  ///< Sampled, of all its texts, end ids included.
  int64_t preemptions = 0;
  int64_t steps = 0;    ///< Steps that it took part in.
  int64_t minBatch = 0; ///< Sequences in those steps, its own included.
  int64_t maxBatch = 0;
  double meanBatch = 0;
};

struct RequestOutcome {
  /// Not ok: the request failed; `choices` holds what there was until then.
  /// Cancelled is no error: it is a finish reason.
  Status status;
  std::vector<Generation> choices;
  Explanation explanation;
  /// One per prompt token when promptLogprobs asked for it; that of the first
  /// token, which nothing precedes, has logprob 0 and no rows.
  std::vector<TokenReport> promptLogprobs;
  /// Of Request::embed: [width], of length 1 in L2. Empty when the request failed or was cancelled; `choices` is
  /// always.
  std::vector<float> embedding;
};

/// Hears of one request. Called on the thread that runs the engine; must not
/// block and must not call into the engine, except EngineService::cancel.
class RequestListener {
public:
  virtual ~RequestListener() = default;
  /// Once per token of each text, in order.
  virtual void onToken(const TokenEvent &event) = 0;
  /// Once, last.
  virtual void onDone(const RequestOutcome &outcome) = 0;
};

} // namespace fusec::runtime
