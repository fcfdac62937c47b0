//===- RequestTrace.h - what happened to one request, and when --------------------===//
//
// Filled by the engine as the request goes on; turned into the explanation, the
// timings of its texts and observations for the metrics at its end.
//
// Threading: one thread at a time.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/engine/EngineMonitor.h"
#include "runtime/engine/RequestOutcome.h"

#include <chrono>
#include <cstdint>
#include <optional>

namespace fusec::runtime {

class RequestTrace {
public:
  using Clock = std::chrono::steady_clock;

  RequestTrace(Clock::time_point submitted, int64_t promptTokens);

  bool started() const { return begin.has_value(); }
  /// Its first step is about to run.
  void start(Clock::time_point now) { begin = now; }
  /// The KV of so many tokens of the prompt, not computed for it before, was found in the cache.
  void find(int64_t tokens) { facts.cachedTokens += tokens; }
  /// It takes part in step number `step`, of `sequences`; more of its texts may.
  void join(uint64_t step, int64_t sequences);
  /// A step computed positions [from, to) of one of its sequences, of which those
  /// below `known` had been computed before.
  void compute(int64_t from, int64_t to, int64_t known);
  /// A token of one of its texts was sampled.
  void sample(Clock::time_point now);
  void preempt() { ++facts.preemptions; }

  Explanation explain(Clock::time_point now) const;
  /// Timings of a text of `sampled` tokens.
  Timings timings(int64_t sampled) const;
  /// Observes everything that is measured per request.
  void observe(EngineStats &stats, const Request &request, Clock::time_point now) const;

private:
  Clock::time_point submitted;
  std::optional<Clock::time_point> begin, first;
  Clock::time_point last;
  int64_t prefilled = 0; ///< Prompt tokens computed, each once.
  int64_t batchSum = 0;
  uint64_t lastStep = 0;
  Explanation facts;
};

} // namespace fusec::runtime
