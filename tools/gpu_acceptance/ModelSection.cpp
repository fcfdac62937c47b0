//===- ModelSection.cpp - carried models against their stored oracles -------------===//
//
// Every <data>/models/<name>.json stands for an artifact <name>.fusec. Its prompt
// is run in one piece (prefill kernels), in small pieces (kernels for a few
// tokens) and token by token (decode kernels, captured and replayed); each must
// give the stored logits. Greedy ids must be the same where the oracle says so.
//
//===----------------------------------------------------------------------===//
#include "tools/gpu_acceptance/ModelOracle.h"
#include "tools/gpu_acceptance/Section.h"

#include "runtime/engine/Engine.h"
#include "runtime/exec/GraphStats.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace fusec::acceptance {

using namespace fusec::runtime;

namespace {

/// Virtual devices are slow: enough tokens that every kernel runs.
constexpr int64_t quickTokens = 6;

struct Case {
  const Settings &settings;
  Report &report;
  std::string name;
  std::filesystem::path artifact;
  ModelOracle oracle;

  Result<std::unique_ptr<Engine>> open(int64_t chunk) const {
    const auto needed =
        static_cast<int64_t>(std::max(oracle.ids.size(), oracle.greedy.size() + oracle.greedyPrompt.size()));
    return Engine::create(
        {.artifact = artifact, .contextTokens = needed + 1, .chunkTokens = chunk, .device = settings.device});
  }
};

/// Largest difference as a share of the largest expected logit.
double worstOf(const std::vector<float> &found, const std::vector<float> &expected) {
  double worst = found.size() == expected.size() ? 0 : HUGE_VAL, largest = 1e-30;
  for (size_t i = 0; i < expected.size() && i < found.size(); ++i) {
    const double apart = std::abs(double(found[i]) - double(expected[i]));
    worst = std::max(worst, std::isnan(apart) ? HUGE_VAL : apart);
    largest = std::max(largest, std::abs(double(expected[i])));
  }
  return worst / largest;
}

Status checkLogits(const Case &model, int64_t chunk) {
  FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, model.open(chunk));
  // One row of logits per token makes a step of one token a decode step.
  FUSEC_ASSIGN_OR_RETURN(std::vector<float> logits,
                         engine->logits(model.oracle.ids, chunk == 1 ? LogitRows::All : LogitRows::Last));
  logits.erase(logits.begin(), logits.end() - static_cast<ptrdiff_t>(engine->model().vocabSize));
  const double worst = worstOf(logits, model.oracle.logits.back());
  char text[96];
  std::snprintf(text, sizeof text, "largest difference %.3g of the largest logit, allowed %.3g", worst,
                model.oracle.tolerance);
  model.report.check(model.name + ": logits, " + std::to_string(chunk) + " tokens per step",
                     worst <= model.oracle.tolerance, text);
  return {};
}

/// Where the sequences part, or that they do not.
std::string compareIds(const std::vector<int32_t> &found, const std::vector<int32_t> &expected) {
  const auto at = std::mismatch(found.begin(), found.end(), expected.begin(), expected.end());
  if (at.first == found.end())
    return {};
  const std::string other = at.second == expected.end() ? "the end" : std::to_string(*at.second);
  return "token " + std::to_string(at.first - found.begin()) + ": expected " + other + ", found " +
         std::to_string(*at.first);
}

Status checkGreedy(const Case &model) {
  FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, model.open(64));
  Request request;
  request.prompt = model.oracle.greedyPrompt;
  request.sampling = SamplingParams::greedy();
  request.maxTokens = model.settings.quick ? quickTokens : static_cast<int64_t>(model.oracle.greedy.size());
  request.ignoreEos = true;
  FUSEC_ASSIGN_OR_RETURN(Generation generation, engine->generate(request));
  const std::vector<int32_t> ids(generation.ids.begin(), generation.ids.end());
  const std::string difference = compareIds(ids, model.oracle.greedy);
  const std::string what = model.name + ": " + std::to_string(ids.size()) + " greedy ids";
  if (model.oracle.exact)
    model.report.check(what, difference.empty() && static_cast<int64_t>(ids.size()) == request.maxTokens, difference);
  else if (!difference.empty())
    model.report.note(what + ": " + difference + " (rounding of operands, not checked)");
  const GraphStats stats = engine->graphStats();
  model.report.check(model.name + ": decode replayed from graphs",
                     stats.replayed > 0 && stats[EagerReason::CaptureFailed] == 0,
                     std::to_string(stats.captured) + " captured, " + std::to_string(stats.replayed) + " replayed, " +
                         std::to_string(stats[EagerReason::CaptureFailed]) + " captures failed");
  return {};
}

Status checkModel(const Case &model) {
  for (int64_t chunk : {64, 5, 1}) {
    if (model.settings.quick && chunk < 64)
      continue; // Token by token is what greedy decoding does anyway.
    FUSEC_RETURN_IF_ERROR(checkLogits(model, chunk));
  }
  return checkGreedy(model);
}

std::vector<std::filesystem::path> oracleFiles(const std::filesystem::path &folder) {
  std::vector<std::filesystem::path> files;
  std::error_code ignored;
  for (const auto &entry : std::filesystem::directory_iterator(folder, ignored))
    if (entry.path().extension() == ".json")
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

} // namespace

Status runModels(const Settings &settings, Report &report) {
  const std::vector<std::filesystem::path> files = oracleFiles(settings.data / "models");
  if (files.empty() && settings.quick)
    report.skip("models", "no models in '" + settings.data.string() + "': prepare.py makes them");
  else if (files.empty())
    return notFound("no models in '" + settings.data.string() + "': prepare.py makes them");
  for (const std::filesystem::path &file : files) {
    const std::string name = file.stem();
    Result<ModelOracle> oracle = ModelOracle::read(file);
    Status status = oracle.status();
    if (oracle) {
      std::filesystem::path artifact = file;
      status = checkModel({settings, report, name, artifact.replace_extension(".fusec"), std::move(*oracle)});
    }
    if (!status.ok())
      report.check(name, status);
  }
  return {};
}

} // namespace fusec::acceptance
