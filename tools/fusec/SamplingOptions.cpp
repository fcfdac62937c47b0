//===- SamplingOptions.cpp - sampling parameters on the command line -------===//
#include "tools/fusec/SamplingOptions.h"

#include "runtime/exec/ModelInfo.h"

#include <CLI/CLI.hpp>

namespace fusec {

void SamplingOptions::declare(CLI::App &app) {
  const char *group = "Sampling (defaults: the model's own recommendation, else off)";
  app.add_option("--temperature", temperature, "0 = always the likeliest token")->group(group);
  app.add_option("--top-k", topK, "keep the k likeliest tokens; 0 = off")->group(group);
  app.add_option("--top-p", topP, "keep the likeliest tokens that reach this probability; 1 = off")->group(group);
  app.add_option("--min-p", minP, "drop tokens below this share of the likeliest; 0 = off")->group(group);
  app.add_option("--repetition-penalty", repetitionPenalty, "above 1 discourages seen tokens")->group(group);
  app.add_option("--presence-penalty", presencePenalty, "subtracted once from generated tokens")->group(group);
  app.add_option("--frequency-penalty", frequencyPenalty, "subtracted per earlier generation")->group(group);
  app.add_option("--seed", seed, "equal seeds give equal text")->capture_default_str()->group(group);
}

runtime::SamplingParams SamplingOptions::resolve(const runtime::ModelInfo &model) const {
  runtime::SamplingParams params = runtime::SamplingParams::defaultsFor(model);
  params.temperature = temperature.value_or(params.temperature);
  params.topK = topK.value_or(params.topK);
  params.topP = topP.value_or(params.topP);
  params.minP = minP.value_or(params.minP);
  params.repetitionPenalty = repetitionPenalty.value_or(params.repetitionPenalty);
  params.presencePenalty = presencePenalty.value_or(params.presencePenalty);
  params.frequencyPenalty = frequencyPenalty.value_or(params.frequencyPenalty);
  params.seed = seed;
  return params;
}

} // namespace fusec
