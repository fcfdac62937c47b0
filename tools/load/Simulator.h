//===- Simulator.h - the production scheduler against a trace, without a device --===//
//
//   FUSEC_ASSIGN_OR_RETURN(Trace trace, readTrace("trace.jsonl"));
//   SimulationOptions options{.scheduler = {...}, .pages = 8192};
//   SimulationReport report = simulate(trace, options);
//   std::fputs(reportTable(trace, {report}).c_str(), stdout);
//
// Time is what the cost model says that steps take; everything else (queues,
// pages, prefixes, preemption) is the code that serves.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/sched/Scheduler.h"
#include "tools/load/CostModel.h"
#include "tools/load/PrefixBound.h"
#include "tools/load/Trace.h"

#include <span>
#include <string>

namespace fusec::load {

struct SimulationOptions {
  runtime::SchedulerOptions scheduler;
  CostModel cost = CostModel::example();
  int32_t pages = 8192; ///< Without the sink.
  int64_t pageTokens = 64;
  bool prefixCache = true;
  double speed = 1;        ///< Arrivals come so many times faster than recorded.
  double stepOverhead = 0; ///< Seconds between steps.
};

/// Of a set of seconds.
struct Percentiles {
  double mean = 0, p50 = 0, p90 = 0, p99 = 0;
  static Percentiles of(std::vector<double> values);
};

/// Averages are over time; shares are of the pool.
struct SimulationReport {
  std::string policy;
  int64_t requests = 0, refused = 0;
  double seconds = 0;     ///< From the first arrival to the last token.
  Percentiles firstToken; ///< Arrival to first token.
  Percentiles perToken;   ///< Of requests with at least two tokens: first token to last, per further token.
  Percentiles endToEnd;
  double outputPerSecond = 0, totalPerSecond = 0; ///< Tokens; total counts prompts, cached or not.
  double meanWaiting = 0, meanRunning = 0;
  int64_t mostWaiting = 0;
  int64_t steps = 0, preemptions = 0, recomputedTokens = 0;
  double live = 0, cached = 0, free = 0;
  double waste = 0;               ///< Positions without a token, of those in live pages.
  double prefixHits = 0;          ///< Prompt tokens found cached, of all prompt tokens.
  double busy = 0;                ///< Share of the time in which a step ran.
  double plannerMicroseconds = 0; ///< Mean real time of Scheduler::next.
};

SimulationReport simulate(const Trace &trace, const SimulationOptions &options);

/// One column for each report.
std::string reportTable(const Trace &trace, const SimulationOptions &options, const PrefixBound &bound,
                        std::span<const SimulationReport> reports);
std::string reportJson(const Trace &trace, const SimulationOptions &options, const PrefixBound &bound,
                       std::span<const SimulationReport> reports);

} // namespace fusec::load
