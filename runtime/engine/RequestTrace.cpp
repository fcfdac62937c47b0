//===- RequestTrace.cpp --------------------------------------------------------===//

#include "runtime/engine/RequestTrace.h"

#include <algorithm>

namespace fusec::runtime {

namespace {
using Clock = RequestTrace::Clock;
double seconds(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}
} // namespace

RequestTrace::RequestTrace(Clock::time_point submitted, int64_t promptTokens) : submitted(submitted), last(submitted) {
  facts.promptTokens = promptTokens;
}

void RequestTrace::join(uint64_t step, int64_t sequences) {
  if (step == lastStep)
    return;
  lastStep = step;
  facts.minBatch = facts.steps == 0 ? sequences : std::min(facts.minBatch, sequences);
  facts.maxBatch = std::max(facts.maxBatch, sequences);
  batchSum += sequences;
  ++facts.steps;
}

void RequestTrace::compute(int64_t from, int64_t to, int64_t known) {
  facts.computedTokens += to - from;
  facts.recomputedTokens += std::max<int64_t>(0, std::min(to, known) - from);
  const int64_t newFrom = std::max(from, known);
  prefilled += std::max<int64_t>(0, std::min(to, facts.promptTokens) - newFrom);
}

void RequestTrace::sample(Clock::time_point now) {
  first = first.value_or(now);
  last = now;
  ++facts.generatedTokens;
}

Explanation RequestTrace::explain(Clock::time_point now) const {
  Explanation all = facts;
  all.totalSeconds = seconds(submitted, now);
  all.queueSeconds = seconds(submitted, begin.value_or(now));
  if (begin && first)
    all.prefillSeconds = seconds(*begin, *first);
  if (first) {
    all.firstTokenSeconds = seconds(submitted, *first);
    all.decodeSeconds = seconds(*first, last);
  }
  if (facts.steps > 0)
    all.meanBatch = static_cast<double>(batchSum) / static_cast<double>(facts.steps);
  return all;
}

Timings RequestTrace::timings(int64_t sampled) const {
  Timings t;
  t.promptTokens = facts.promptTokens;
  t.cachedTokens = facts.cachedTokens;
  t.prefillTokens = prefilled;
  t.decodeTokens = std::max<int64_t>(0, sampled - 1);
  if (begin && first) {
    t.prefillSeconds = seconds(*begin, *first);
    t.decodeSeconds = seconds(*first, last);
  }
  return t;
}

void RequestTrace::observe(EngineStats &stats, const Request &request, Clock::time_point now) const {
  const Explanation all = explain(now);
  Histograms &h = stats.histograms;
  h.observe(Measure::EndToEnd, all.totalSeconds);
  h.observe(Measure::PromptTokens, static_cast<double>(all.promptTokens));
  h.observe(Measure::GenerationTokens, static_cast<double>(all.generatedTokens));
  h.observe(Measure::Choices, request.n);
  h.observe(Measure::PreemptionsOfRequest, static_cast<double>(all.preemptions));
  if (request.maxTokens > 0)
    h.observe(Measure::MaxTokens, static_cast<double>(request.maxTokens));
  if (!begin)
    return;
  h.observe(Measure::QueueTime, all.queueSeconds);
  h.observe(Measure::ComputedPromptTokens, static_cast<double>(prefilled));
  h.observe(Measure::InferenceTime, seconds(*begin, now));
  if (!first)
    return;
  h.observe(Measure::TimeToFirstToken, all.firstTokenSeconds);
  h.observe(Measure::PrefillTime, all.prefillSeconds);
  h.observe(Measure::DecodeTime, all.decodeSeconds);
  if (all.generatedTokens > request.numChoices())
    h.observe(Measure::TimePerOutputToken, all.decodeSeconds * request.numChoices() /
                                               static_cast<double>(all.generatedTokens - request.numChoices()));
}

} // namespace fusec::runtime
