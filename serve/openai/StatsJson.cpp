//===- StatsJson.cpp - an engine's figures as JSON ----------------------------------===//
#include "serve/openai/StatsJson.h"

namespace fusec::serve {

using nlohmann::json;

static json poolJson(const runtime::Ledger &pool) {
  return {{"total", pool.total},
          {"live", pool.live},
          {"cached", pool.cached},
          {"parked", pool.parked},
          {"free", pool.free},
          {"sink", pool.sink},
          {"page_tokens", pool.pageTokens},
          {"held_tokens", pool.held},
          {"tail_tokens", pool.tail},
          {"reserved_tokens", pool.reserved}};
}

static json stepJson(const runtime::StepRecord &step) {
  return {{"number", step.number},       {"at", step.at},
          {"seconds", step.seconds},     {"executor_seconds", step.executorSeconds},
          {"tokens", step.tokens},       {"prefill_tokens", step.prefillTokens},
          {"sequences", step.sequences}, {"waiting", step.waiting},
          {"preempted", step.preempted}, {"pool", poolJson(step.pool)}};
}

/// Mean, and the smallest bucket bound that half and 99 of 100 values are within.
static json histogramJson(const runtime::Histogram &histogram) {
  const int64_t total = histogram.observations();
  const auto quantile = [&](double share) -> json {
    int64_t seen = 0;
    for (size_t i = 0; i < histogram.bounds().size(); ++i)
      if ((seen += histogram.count(i)) >= share * static_cast<double>(total) && total > 0)
        return histogram.bounds()[i];
    return nullptr;
  };
  return {{"count", total},
          {"mean", total ? json(histogram.sumOfValues() / static_cast<double>(total)) : json(nullptr)},
          {"p50_below", quantile(0.5)},
          {"p99_below", quantile(0.99)}};
}

json statsJson(const runtime::EngineStats &stats, uint64_t afterStep) {
  json reply = {{"now", stats.now},
                {"queued", stats.queued},
                {"waiting", stats.waiting},
                {"running", stats.running},
                {"has_work", stats.hasWork},
                {"overhead", stats.overhead()},
                {"last_step_at", stats.lastStepAt},
                {"pool", poolJson(stats.pool)}};
  for (const runtime::CounterInfo &info : runtime::counterInfos)
    reply["counters"][std::string(info.name)] = stats.counters[info.counter];
  for (const runtime::MeasureInfo &info : runtime::measureInfos())
    reply["histograms"][std::string(info.name)] = histogramJson(stats.histograms[info.measure]);
  reply["steps"] = json::array();
  for (const runtime::StepRecord &step : stats.recent)
    if (step.number > afterStep)
      reply["steps"].push_back(stepJson(step));
  return reply;
}

} // namespace fusec::serve
