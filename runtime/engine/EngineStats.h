//===- EngineStats.h - what an engine has done, in numbers -----------------------===//
//
// A snapshot: counters, histograms, the state of the pool, the last steps. The
// tables name each with the meaning vLLM gives it, so that a metrics page or a
// live view iterates over them and knows nothing else.
//
//   EngineStats stats = service.stats();
//   for (const CounterInfo &info : counterInfos)
//     print(info.name, info.help, stats.counters[info.counter]);
//
// Values; safe from any thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/engine/Histogram.h"
#include "runtime/engine/Request.h"
#include "runtime/exec/GraphStats.h"
#include "runtime/kv/Ledger.h"

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace fusec::runtime {

//===----------------------------------------------------------------------===//
// Counters: only ever grow
//===----------------------------------------------------------------------===//

enum class Counter : uint8_t {
  PromptTokens,
  CachedPromptTokens,
  RecomputedTokens,
  GenerationTokens,
  PrefixQueries,
  PrefixHits,
  Preemptions,
  Steps,
  FailedSteps,
};

struct CounterInfo {
  Counter counter;
  std::string_view name; ///< Of the metric, without prefix.
  std::string_view help;
};

inline constexpr CounterInfo counterInfos[] = {
    {Counter::PromptTokens, "prompt_tokens_total", "Prompt tokens of requests that started."},
    {Counter::CachedPromptTokens, "prompt_tokens_cached_total", "Prompt tokens whose KV came from the prefix cache."},
    {Counter::RecomputedTokens, "prompt_tokens_recomputed_total", "Tokens computed again after a preemption."},
    {Counter::GenerationTokens, "generation_tokens_total", "Tokens sampled."},
    {Counter::PrefixQueries, "prefix_cache_queries", "Prompt tokens looked up in the prefix cache."},
    {Counter::PrefixHits, "prefix_cache_hits", "Prompt tokens found in the prefix cache."},
    {Counter::Preemptions, "num_preemptions_total", "Sequences that gave their pages back before their end."},
    {Counter::Steps, "engine_steps_total", "Steps of the model."},
    {Counter::FailedSteps, "engine_failed_steps_total", "Steps that the device did not finish."},
};
inline constexpr size_t numCounters = std::size(counterInfos);

class Counters {
public:
  int64_t operator[](Counter counter) const { return values[static_cast<size_t>(counter)]; }
  int64_t &operator[](Counter counter) { return values[static_cast<size_t>(counter)]; }

private:
  std::array<int64_t, numCounters> values{};
};

//===----------------------------------------------------------------------===//
// Histograms
//===----------------------------------------------------------------------===//

enum class Measure : uint8_t {
  QueueTime,
  TimeToFirstToken,
  InterTokenLatency,
  TimePerOutputToken,
  EndToEnd,
  InferenceTime,
  PrefillTime,
  DecodeTime,
  PromptTokens,
  GenerationTokens,
  MaxTokens,
  Choices,
  PreemptionsOfRequest,
  ComputedPromptTokens,
  StepTokens,
};

struct MeasureInfo {
  Measure measure;
  std::string_view name; ///< Of the metric, without prefix.
  std::string_view help;
  std::span<const double> bounds; ///< Upper ends of the buckets; one more bucket takes what is above.
};

/// One row per Measure, in order.
std::span<const MeasureInfo> measureInfos();
inline constexpr size_t numMeasures = 15;

class Histograms {
public:
  Histograms();
  const Histogram &operator[](Measure measure) const { return rows[static_cast<size_t>(measure)]; }
  void observe(Measure measure, double value) { rows[static_cast<size_t>(measure)].observe(value); }

private:
  std::vector<Histogram> rows; ///< By Measure.
};

//===----------------------------------------------------------------------===//
// The pool and the steps
//===----------------------------------------------------------------------===//

/// One step, for the live view.
struct StepRecord {
  uint64_t number = 0;        ///< From 1.
  double at = 0;              ///< Its start, seconds since the engine's.
  double seconds = 0;         ///< Wall time: scheduling, kernels, sampling, text.
  double executorSeconds = 0; ///< Of those: in the executor.
  double gapSeconds = 0;      ///< Before it, from the end of the step before: the device had nothing to do.
  int32_t tokens = 0, rows = 0, sequences = 0, prefillTokens = 0, waiting = 0, preempted = 0;
  Ledger pool;
};

struct EngineStats {
  double now = 0; ///< Seconds since the engine's start.

  int64_t queued = 0;  ///< Submitted, not yet seen by the engine's thread.
  int64_t waiting = 0; ///< Sequences that have no pages.
  int64_t running = 0; ///< Sequences that have.
  std::array<int64_t, numFinishReasons>
      finished{}; ///< Requests, by FinishReason of text 0: the label finished_reason of request_success_total.
  Counters counters;
  Histograms histograms;
  Ledger pool;
  GraphStats graphs;

  double stepSeconds = 0;         ///< Sum of StepRecord::seconds.
  double executorSeconds = 0;     ///< Sum of StepRecord::executorSeconds.
  double gapSeconds = 0;          ///< Sum of StepRecord::gapSeconds.
  double lastStepAt = 0;          ///< End of the last step.
  bool hasWork = false;           ///< A request is waiting or running.
  std::vector<StepRecord> recent; ///< The last steps, oldest first.

  /// Share of the steps' time outside the executor.
  double overhead() const { return stepSeconds > 0 ? 1 - executorSeconds / stepSeconds : 0; }
};

/// Whether the engine gets on: alive means forward progress, not an open port.
struct EngineHealth {
  Status status;                   ///< Not ok: the engine is dead, and why.
  uint64_t steps = 0;              ///< Steps and idle looks so far: moves while the engine is alive and has work.
  bool hasWork = false;            ///< A request is queued, waiting or running.
  double secondsSinceProgress = 0; ///< Since the last step, or since work arrived at an idle engine; 0 without work.
  bool accepting = true;           ///< False while draining and after stop().
};

} // namespace fusec::runtime
