//===- LoadSummary.h - figures of a load test -------------------------------------===//
//
// Definitions (those of MLPerf, vLLM and DistServe), times in seconds:
//
//   TTFT      request sent -> first piece with text; queueing included
//   TPOT      (end - first) / (output tokens - 1), one per request
//   ITL       gap between successive pieces with text, pooled over requests
//   E2E       request sent -> last byte
//   goodput   complete requests per second that meet every stated objective
//
// Only complete requests count for latencies; failed ones count as errors.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tools/load/LoadRun.h"

#include <optional>
#include <string>
#include <vector>

namespace fusec::load {

struct Objectives {
  std::optional<double> timeToFirst{}, timePerToken{}, endToEnd{}; ///< Seconds; unset = none.
};

/// Quantiles by linear interpolation between the closest ranks; all 0 for no samples.
struct Distribution {
  size_t count = 0;
  double mean = 0, min = 0, p50 = 0, p90 = 0, p99 = 0, max = 0;
};
Distribution distributionOf(std::vector<double> samples);

struct LoadSummary {
  int64_t requests = 0, complete = 0, errors = 0, left = 0;
  int64_t promptTokens = 0, cachedTokens = 0, outputTokens = 0; ///< Of complete requests; cached: where reported.
  double seconds = 0;
  double offeredRate = 0;               ///< Requests per second of an open loop; 0 for a closed one.
  double achievedRate = 0;              ///< Complete requests per second.
  double outputRate = 0, totalRate = 0; ///< Tokens per second: output; prompt and output.
  double goodput = 0;                   ///< Equal to achievedRate without objectives.
  Distribution timeToFirst, timePerToken, interToken, endToEnd;
  Distribution lateness;               ///< Sent after it was due.
  double clientCpuShare = 0;           ///< Of one core.
  std::vector<std::string> errorKinds; ///< Up to 5 different messages.
  /// Why the figures should not be compared with others'; empty: nothing is known against it.
  std::vector<std::string> doubts;
};

LoadSummary summarise(const LoadPlan &plan, const LoadResult &result, const Objectives &objectives);

} // namespace fusec::load
