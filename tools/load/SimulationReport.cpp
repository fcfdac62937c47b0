//===- SimulationReport.cpp - reports as a table and as JSON ---------------------===//

#include "tools/load/Simulator.h"

#include <nlohmann/json.hpp>

#include <cstdio>

namespace fusec::load {

namespace {

/// One row of both forms.
struct Row {
  const char *label; ///< In the table, with its unit.
  const char *key;   ///< In JSON; seconds and shares, unscaled.
  double (*value)(const SimulationReport &);
  double scale;
  int digits;
};

constexpr Row rows[] = {
    {"requests served", "requests", [](const SimulationReport &r) { return double(r.requests); }, 1, 0},
    {"requests refused", "refused", [](const SimulationReport &r) { return double(r.refused); }, 1, 0},
    {"duration, s", "seconds", [](const SimulationReport &r) { return r.seconds; }, 1, 0},
    {"busy, %", "busy", [](const SimulationReport &r) { return r.busy; }, 100, 1},
    {"output tokens/s", "output_per_second", [](const SimulationReport &r) { return r.outputPerSecond; }, 1, 0},
    {"all tokens/s", "total_per_second", [](const SimulationReport &r) { return r.totalPerSecond; }, 1, 0},
    {"TTFT mean, ms", "ttft_mean", [](const SimulationReport &r) { return r.firstToken.mean; }, 1e3, 1},
    {"TTFT p50, ms", "ttft_p50", [](const SimulationReport &r) { return r.firstToken.p50; }, 1e3, 1},
    {"TTFT p90, ms", "ttft_p90", [](const SimulationReport &r) { return r.firstToken.p90; }, 1e3, 1},
    {"TTFT p99, ms", "ttft_p99", [](const SimulationReport &r) { return r.firstToken.p99; }, 1e3, 1},
    {"TPOT mean, ms", "tpot_mean", [](const SimulationReport &r) { return r.perToken.mean; }, 1e3, 2},
    {"TPOT p50, ms", "tpot_p50", [](const SimulationReport &r) { return r.perToken.p50; }, 1e3, 2},
    {"TPOT p99, ms", "tpot_p99", [](const SimulationReport &r) { return r.perToken.p99; }, 1e3, 2},
    {"E2E p50, s", "e2e_p50", [](const SimulationReport &r) { return r.endToEnd.p50; }, 1, 2},
    {"E2E p99, s", "e2e_p99", [](const SimulationReport &r) { return r.endToEnd.p99; }, 1, 2},
    {"running, mean", "running_mean", [](const SimulationReport &r) { return r.meanRunning; }, 1, 1},
    {"waiting, mean", "waiting_mean", [](const SimulationReport &r) { return r.meanWaiting; }, 1, 1},
    {"waiting, most", "waiting_most", [](const SimulationReport &r) { return double(r.mostWaiting); }, 1, 0},
    {"preemptions", "preemptions", [](const SimulationReport &r) { return double(r.preemptions); }, 1, 0},
    {"tokens computed again", "recomputed", [](const SimulationReport &r) { return double(r.recomputedTokens); }, 1, 0},
    {"pool live, %", "pool_live", [](const SimulationReport &r) { return r.live; }, 100, 1},
    {"pool cached, %", "pool_cached", [](const SimulationReport &r) { return r.cached; }, 100, 1},
    {"pool free, %", "pool_free", [](const SimulationReport &r) { return r.free; }, 100, 1},
    {"KV waste, %", "kv_waste", [](const SimulationReport &r) { return r.waste; }, 100, 2},
    {"prefix hits, %", "prefix_hits", [](const SimulationReport &r) { return r.prefixHits; }, 100, 2},
    {"steps", "steps", [](const SimulationReport &r) { return double(r.steps); }, 1, 0},
    {"planning a step, us", "planner_us", [](const SimulationReport &r) { return r.plannerMicroseconds; }, 1, 1},
};

std::string format(const char *pattern, auto... values) {
  char text[256];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

} // namespace

std::string reportTable(const Trace &trace, const SimulationOptions &options, const PrefixBound &bound,
                        std::span<const SimulationReport> reports) {
  std::string text = format("%s: %zu requests in %.0f s, arrivals x%g\n", trace.name.c_str(), trace.requests.size(),
                            trace.seconds(), options.speed);
  text += format("pool of %d pages of %lld tokens, %lld tokens and %lld sequences per step\n", options.pages,
                 static_cast<long long>(options.pageTokens), static_cast<long long>(options.scheduler.tokenBudget),
                 static_cast<long long>(options.scheduler.maxSequences));
  text += format("step: %.3g ms + %.3g us per token + %.3g ns per context token\n\n", options.cost.fixed * 1e3,
                 options.cost.perToken * 1e6, options.cost.perContextToken * 1e9);
  text += format("%-24s", "policy");
  for (const SimulationReport &report : reports)
    text += format("%12s", report.policy.c_str());
  text += "\n";
  for (const Row &row : rows) {
    text += format("%-24s", row.label);
    for (const SimulationReport &report : reports)
      text += format("%12.*f", row.digits, row.value(report) * row.scale);
    text += "\n";
  }
  text += format("\nprefix hits in order of arrival: at most %.2f %% with this pool (clairvoyant eviction), "
                 "%.2f %% with any\n",
                 bound.clairvoyant * 100, bound.unlimited * 100);
  return text;
}

std::string reportJson(const Trace &trace, const SimulationOptions &options, const PrefixBound &bound,
                       std::span<const SimulationReport> reports) {
  nlohmann::ordered_json json = {
      {"trace", trace.name},
      {"requests", trace.requests.size()},
      {"trace_seconds", trace.seconds()},
      {"speed", options.speed},
      {"pages", options.pages},
      {"page_tokens", options.pageTokens},
      {"token_budget", options.scheduler.tokenBudget},
      {"max_sequences", options.scheduler.maxSequences},
      {"cost", nlohmann::ordered_json::parse(options.cost.json())},
      {"prefix_bound", {{"clairvoyant", bound.clairvoyant}, {"unlimited", bound.unlimited}}},
      {"policies", nlohmann::ordered_json::object()},
  };
  for (const SimulationReport &report : reports)
    for (const Row &row : rows)
      json["policies"][report.policy][row.key] = row.value(report);
  return json.dump(2) + "\n";
}

} // namespace fusec::load
