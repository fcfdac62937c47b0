//===- LoadReport.cpp - JSON and text -----------------------------------------===//
#include "tools/load/LoadReport.h"

#include <nlohmann/json.hpp>

#include <cstdio>

namespace fusec::load {

namespace {

using nlohmann::json;

constexpr int schemaVersion = 1;

json distributionJson(const Distribution &d) {
  return {{"count", d.count}, {"mean", d.mean}, {"min", d.min}, {"p50", d.p50},
          {"p90", d.p90},     {"p99", d.p99},   {"max", d.max}};
}

json recordJson(const RequestRecord &record) {
  json row = {{"due", record.due},
              {"sent", record.sent},
              {"first", record.first},
              {"end", record.end},
              {"prompt_tokens", record.promptTokens},
              {"output_tokens", record.outputTokens},
              {"http_status", record.httpStatus}};
  if (record.cachedTokens >= 0)
    row["cached_tokens"] = record.cachedTokens;
  if (record.left)
    row["left"] = true;
  if (!record.error.empty())
    row["error"] = record.error;
  return row;
}

json objectivesJson(const Objectives &objectives) {
  auto value = [](std::optional<double> seconds) { return seconds ? json(*seconds) : json(); };
  return {{"ttft", value(objectives.timeToFirst)},
          {"tpot", value(objectives.timePerToken)},
          {"e2e", value(objectives.endToEnd)}};
}

/// Of the prompt tokens of complete requests, those that the server found cached.
double foundShare(const LoadSummary &s) {
  return s.promptTokens > 0 ? static_cast<double>(s.cachedTokens) / static_cast<double>(s.promptTokens) : 0;
}

json reuseJson(const LoadReport &report) {
  if (!report.reuse)
    return {};
  const auto &[pool, bound] = *report.reuse;
  return {{"found", foundShare(report.summary)},
          {"clairvoyant", bound.clairvoyant},
          {"unlimited", bound.unlimited},
          {"page_tokens", pool.pageTokens},
          {"pages", pool.pages}};
}

std::vector<std::string> allDoubts(const LoadReport &report) {
  std::vector<std::string> doubts = report.summary.doubts;
  for (const std::string &name : missingContext(report.context))
    doubts.push_back("context is missing: " + name);
  return doubts;
}

std::string line(const char *format, auto... values) {
  char text[256];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

std::string latencyLine(const char *name, const Distribution &d) {
  return line("  %-6s %10.1f %10.1f %10.1f %10.1f %10.1f\n", name, d.mean * 1e3, d.p50 * 1e3, d.p90 * 1e3, d.p99 * 1e3,
              d.max * 1e3);
}

} // namespace

std::vector<std::string> missingContext(const json &context) {
  std::vector<std::string> missing;
  for (const auto &[name, value] : context.items())
    if (value.is_null())
      missing.push_back(name);
  return missing;
}

json toJson(const LoadReport &report) {
  const LoadSummary &s = report.summary;
  const std::vector<std::string> doubts = allDoubts(report);
  json requests = json::array();
  for (const RequestRecord &record : report.result.records)
    requests.push_back(recordJson(record));
  return {{"schema", schemaVersion},
          {"comparable", doubts.empty()},
          {"not_comparable_because", doubts},
          {"load", report.plan.concurrency > 0 ? "closed loop" : "open loop"},
          {"concurrency", report.plan.concurrency},
          {"workload", report.plan.workload},
          {"objectives_seconds", objectivesJson(report.objectives)},
          {"requests", {{"sent", s.requests}, {"complete", s.complete}, {"errors", s.errors}, {"left", s.left}}},
          {"errors", s.errorKinds},
          {"seconds", s.seconds},
          {"requests_per_second", {{"offered", s.offeredRate}, {"achieved", s.achievedRate}, {"goodput", s.goodput}}},
          {"tokens", {{"prompt", s.promptTokens}, {"cached", s.cachedTokens}, {"output", s.outputTokens}}},
          {"prefix_reuse", reuseJson(report)},
          {"tokens_per_second", {{"output", s.outputRate}, {"total", s.totalRate}}},
          {"ttft_seconds", distributionJson(s.timeToFirst)},
          {"tpot_seconds", distributionJson(s.timePerToken)},
          {"itl_seconds", distributionJson(s.interToken)},
          {"e2e_seconds", distributionJson(s.endToEnd)},
          {"client", {{"late_seconds", distributionJson(s.lateness)}, {"cpu_share_of_a_core", s.clientCpuShare}}},
          {"context", report.context},
          {"records", std::move(requests)}};
}

std::string toText(const LoadReport &report) {
  const LoadSummary &s = report.summary;
  std::string text = "workload   " + report.plan.workload + "\n";
  text += report.plan.concurrency > 0
              ? line("load       closed loop, %lld clients\n", static_cast<long long>(report.plan.concurrency))
              : line("load       open loop, %.3f requests/s offered\n", s.offeredRate);
  text += line("requests   %lld complete, %lld failed, %lld left, in %.1f s\n", static_cast<long long>(s.complete),
               static_cast<long long>(s.errors), static_cast<long long>(s.left), s.seconds);
  text += line("rate       %.1f output tokens/s, %.1f tokens/s with prompts, %.3f requests/s", s.outputRate,
               s.totalRate, s.achievedRate);
  const bool hasGoal = report.objectives.timeToFirst || report.objectives.timePerToken || report.objectives.endToEnd;
  text += hasGoal ? line(", %.3f within the objectives\n", s.goodput) : std::string("\n");
  if (s.cachedTokens > 0)
    text += line("cached     %lld of %lld prompt tokens\n", static_cast<long long>(s.cachedTokens),
                 static_cast<long long>(s.promptTokens));
  if (report.reuse)
    text += line(
        "prefixes   %.2f %% of prompt tokens cached; in order of arrival at most %.2f %% with %lld pages of %lld "
        "(clairvoyant eviction), %.2f %% with any\n",
        foundShare(s) * 100, report.reuse->bound.clairvoyant * 100, static_cast<long long>(report.reuse->pool.pages),
        static_cast<long long>(report.reuse->pool.pageTokens), report.reuse->bound.unlimited * 100);
  text += "\n  ms           mean        p50        p90        p99        max\n";
  text += latencyLine("TTFT", s.timeToFirst) + latencyLine("TPOT", s.timePerToken) + latencyLine("ITL", s.interToken) +
          latencyLine("E2E", s.endToEnd);
  for (const std::string &kind : s.errorKinds)
    text += "\nerror: " + kind;
  const std::vector<std::string> doubts = allDoubts(report);
  text += doubts.empty() ? "\ncomparable: yes\n" : "\nnot comparable:\n";
  for (const std::string &doubt : doubts)
    text += "  - " + doubt + "\n";
  return text;
}

} // namespace fusec::load
