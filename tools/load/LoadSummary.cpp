//===- LoadSummary.cpp ------------------------------------------------------===//
#include "tools/load/LoadSummary.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace fusec::load {

namespace {

/// A client later than this at the 99th percentile, or busier than this share of a core, measures itself.
constexpr double mostLateness = 0.010, mostClientCpu = 0.8;
/// Below this share of the offered rate the server is saturated, and latency says how long the test ran.
constexpr double leastAchieved = 0.95;
constexpr size_t mostErrorKinds = 5;

double quantile(const std::vector<double> &sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const size_t below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (at - static_cast<double>(below));
}

bool meets(const RequestRecord &record, const Objectives &objectives) {
  auto within = [](double value, std::optional<double> most) { return !most || value <= *most; };
  return within(record.timeToFirst(), objectives.timeToFirst) &&
         within(record.timePerToken(), objectives.timePerToken) && within(record.endToEnd(), objectives.endToEnd);
}

struct Samples {
  std::vector<double> timeToFirst, timePerToken, interToken, endToEnd, lateness;

  void add(const RequestRecord &record) {
    if (record.first >= 0)
      timeToFirst.push_back(record.timeToFirst());
    if (record.outputTokens > 1 && record.first >= 0)
      timePerToken.push_back(record.timePerToken());
    for (size_t i = 1; i < record.pieces.size(); ++i)
      interToken.push_back(record.pieces[i] - record.pieces[i - 1]);
    endToEnd.push_back(record.endToEnd());
  }
};

void count(const RequestRecord &record, LoadSummary &summary) {
  ++summary.requests;
  summary.left += record.left;
  if (!record.error.empty()) {
    ++summary.errors;
    std::vector<std::string> &kinds = summary.errorKinds;
    if (kinds.size() < mostErrorKinds && std::find(kinds.begin(), kinds.end(), record.error) == kinds.end())
      kinds.push_back(record.error);
  }
  if (!record.isComplete())
    return;
  ++summary.complete;
  summary.promptTokens += record.promptTokens;
  summary.cachedTokens += std::max<int64_t>(record.cachedTokens, 0);
  summary.outputTokens += record.outputTokens;
}

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f %%", share * 100);
  return text;
}

std::vector<std::string> doubtsOf(const LoadSummary &summary, const LoadPlan &plan, const LoadResult &result) {
  std::vector<std::string> doubts;
  if (summary.errors > 0)
    doubts.push_back(std::to_string(summary.errors) + " of " + std::to_string(summary.requests) + " requests failed");
  if (result.interrupted)
    doubts.push_back("the run was interrupted");
  if (!plan.pinsLength)
    doubts.push_back("output lengths are not pinned: the model may stop early");
  if (summary.lateness.p99 > mostLateness)
    doubts.push_back("the client sent late: 99 % within " + std::to_string(summary.lateness.p99 * 1000) + " ms");
  if (summary.clientCpuShare > mostClientCpu)
    doubts.push_back("the client was busy: " + percent(summary.clientCpuShare) + " of a core");
  if (summary.offeredRate > 0 && summary.achievedRate < leastAchieved * summary.offeredRate)
    doubts.push_back("saturated: " + percent(summary.achievedRate / summary.offeredRate) +
                     " of the offered rate achieved, so latencies grow with the length of the test");
  return doubts;
}

} // namespace

Distribution distributionOf(std::vector<double> samples) {
  Distribution d;
  if (samples.empty())
    return d;
  std::sort(samples.begin(), samples.end());
  d.count = samples.size();
  double sum = 0;
  for (double sample : samples)
    sum += sample;
  d.mean = sum / static_cast<double>(samples.size());
  d.min = samples.front();
  d.max = samples.back();
  d.p50 = quantile(samples, 0.50);
  d.p90 = quantile(samples, 0.90);
  d.p99 = quantile(samples, 0.99);
  return d;
}

LoadSummary summarise(const LoadPlan &plan, const LoadResult &result, const Objectives &objectives) {
  LoadSummary summary;
  Samples samples;
  int64_t good = 0;
  for (const RequestRecord &record : result.records) {
    if (record.end <= 0) // Never sent: the run was interrupted.
      continue;
    count(record, summary);
    samples.lateness.push_back(std::max(record.sent - record.due, 0.0));
    if (!record.isComplete())
      continue;
    samples.add(record);
    good += meets(record, objectives);
  }
  summary.seconds = result.seconds;
  auto rate = [&](int64_t amount) { return result.seconds > 0 ? static_cast<double>(amount) / result.seconds : 0; };
  summary.offeredRate = plan.offeredRate();
  summary.achievedRate = rate(summary.complete);
  summary.outputRate = rate(summary.outputTokens);
  summary.totalRate = rate(summary.outputTokens + summary.promptTokens);
  summary.goodput = rate(good);
  summary.timeToFirst = distributionOf(std::move(samples.timeToFirst));
  summary.timePerToken = distributionOf(std::move(samples.timePerToken));
  summary.interToken = distributionOf(std::move(samples.interToken));
  summary.endToEnd = distributionOf(std::move(samples.endToEnd));
  summary.lateness = distributionOf(std::move(samples.lateness));
  summary.clientCpuShare = result.seconds > 0 ? result.clientCpuSeconds / result.seconds : 0;
  summary.doubts = doubtsOf(summary, plan, result);
  return summary;
}

} // namespace fusec::load
