//===- EngineStats.cpp - the table of measures ---------------------------------===//

#include "runtime/engine/EngineStats.h"

namespace fusec::runtime {

namespace {

// The buckets are those of vLLM where it has the same measure, so that dashboards keep their resolution.
constexpr double firstTokenSeconds[] = {0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1,  0.25,  0.5,   0.75,
                                        1.0,   2.5,   5.0,  7.5,  10.0, 20.0, 40.0, 80.0, 160.0, 640.0, 2560.0};
constexpr double tokenSeconds[] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1,  0.15, 0.2,
                                   0.3,   0.4,    0.5,   0.75, 1.0,   2.5,  5.0,   10.0, 40.0, 80.0};
constexpr double requestSeconds[] = {0.01, 0.05, 0.1,  0.3,  0.5,  0.8,  1.0,   1.5,   2.0,   2.5,   5.0,
                                     10.0, 15.0, 20.0, 30.0, 40.0, 60.0, 120.0, 240.0, 480.0, 960.0, 1920.0};
constexpr double tokenCounts[] = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000};
constexpr double stepTokens[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384};
constexpr double smallCounts[] = {0, 1, 2, 5, 10, 20};
constexpr double choices[] = {1, 2, 5, 10, 20};

constexpr MeasureInfo infos[] = {
    {Measure::QueueTime, "request_queue_time_seconds", "From submission to the first step.", requestSeconds},
    {Measure::TimeToFirstToken, "time_to_first_token_seconds", "From submission to the first token.",
     firstTokenSeconds},
    {Measure::InterTokenLatency, "inter_token_latency_seconds", "Between one token of a text and the next.",
     tokenSeconds},
    {Measure::TimePerOutputToken, "request_time_per_output_token_seconds",
     "Mean time per token after the first, of a request.", tokenSeconds},
    {Measure::EndToEnd, "e2e_request_latency_seconds", "From submission to the end.", requestSeconds},
    {Measure::InferenceTime, "request_inference_time_seconds", "From the first step to the end.", requestSeconds},
    {Measure::PrefillTime, "request_prefill_time_seconds", "From the first step to the first token.", requestSeconds},
    {Measure::DecodeTime, "request_decode_time_seconds", "From the first token to the last.", requestSeconds},
    {Measure::PromptTokens, "request_prompt_tokens", "Prompt tokens of a request.", tokenCounts},
    {Measure::GenerationTokens, "request_generation_tokens", "Tokens sampled for a request.", tokenCounts},
    {Measure::MaxTokens, "request_params_max_tokens", "The limit max_tokens of a request.", tokenCounts},
    {Measure::Choices, "request_params_n", "The parameter n of a request.", choices},
    {Measure::PreemptionsOfRequest, "request_num_preemptions", "Preemptions of a request.", smallCounts},
    {Measure::ComputedPromptTokens, "request_prefill_kv_computed_tokens",
     "Prompt tokens whose KV was computed, not found in the cache.", tokenCounts},
    {Measure::StepTokens, "iteration_tokens_total", "Tokens of a step.", stepTokens},
};

constexpr bool isInOrder() {
  for (size_t i = 0; i < std::size(infos); ++i)
    if (static_cast<size_t>(infos[i].measure) != i)
      return false;
  for (size_t i = 0; i < std::size(counterInfos); ++i)
    if (static_cast<size_t>(counterInfos[i].counter) != i)
      return false;
  return std::size(infos) == numMeasures;
}
static_assert(isInOrder(), "a table has one row per value of its enum, in order");

} // namespace

std::span<const MeasureInfo> measureInfos() { return infos; }

Histograms::Histograms() {
  for (const MeasureInfo &info : infos)
    rows.emplace_back(info.bounds);
}

} // namespace fusec::runtime
