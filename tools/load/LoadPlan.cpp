//===- LoadPlan.cpp ---------------------------------------------------------===//
#include "tools/load/LoadPlan.h"

#include "runtime/base/Json.h"
#include "tools/load/Trace.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace fusec::load {

namespace {

using text::TokenId;
using Generator = std::mt19937_64;

/// In [0, 1), the same on every platform, which std's distributions are not.
double uniform(Generator &random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

struct Lengths {
  int64_t prompt = 0, output = 0;
};

class PlanMaker {
public:
  PlanMaker(const WorkloadOptions &options, nlohmann::json extra)
      : options(options), extra(std::move(extra)), random(options.seed), prefix(randomIds(options.sharedPrefix)) {}

  LoadPlan synthetic();
  LoadPlan replay(Trace trace);

private:
  std::vector<TokenId> randomIds(int64_t count);
  std::vector<TokenId> promptIds(int64_t count);
  int64_t spreadLength(int64_t length);
  Lengths fit(Lengths wanted) const;
  PlannedRequest request(double arrival, std::vector<TokenId> prompt, int64_t outputTokens);
  std::string body(const std::vector<TokenId> &prompt, int64_t outputTokens) const;
  double nextArrival(double last) { return last - std::log(1 - uniform(random)) / options.rate; }
  LoadPlan started() const;

  const WorkloadOptions &options;
  nlohmann::json extra;
  Generator random;
  std::vector<TokenId> prefix;
};

std::vector<TokenId> PlanMaker::randomIds(int64_t count) {
  std::vector<TokenId> ids(static_cast<size_t>(count));
  const uint64_t range = static_cast<uint64_t>(options.lastToken - options.firstToken) + 1;
  for (TokenId &id : ids)
    id = options.firstToken + static_cast<TokenId>(random() % range);
  return ids;
}

std::vector<TokenId> PlanMaker::promptIds(int64_t count) {
  const int64_t shared = std::min(options.sharedPrefix, count);
  std::vector<TokenId> ids(prefix.begin(), prefix.begin() + shared);
  const std::vector<TokenId> own = randomIds(count - shared);
  ids.insert(ids.end(), own.begin(), own.end());
  return ids;
}

int64_t PlanMaker::spreadLength(int64_t length) {
  const double factor = 1 + options.spread * (2 * uniform(random) - 1);
  return std::max<int64_t>(1, std::llround(static_cast<double>(length) * factor));
}

Lengths PlanMaker::fit(Lengths wanted) const {
  if (options.maxContext <= 0)
    return wanted;
  wanted.prompt = std::clamp<int64_t>(wanted.prompt, 1, std::max<int64_t>(options.maxContext - 1, 1));
  wanted.output = std::clamp<int64_t>(wanted.output, 1, options.maxContext - wanted.prompt);
  return wanted;
}

std::string PlanMaker::body(const std::vector<TokenId> &prompt, int64_t outputTokens) const {
  nlohmann::json json = {{"max_tokens", outputTokens},
                         {"temperature", 0},
                         {"stream", true},
                         {"stream_options", {{"include_usage", true}}}};
  if (!options.model.empty())
    json["model"] = options.model;
  if (options.ignoreEos)
    json["ignore_eos"] = true;
  if (options.textPrompts) {
    std::string words;
    for (TokenId id : prompt)
      words += "w" + std::to_string(id) + " ";
    json["prompt"] = words;
  } else {
    json["prompt"] = prompt;
  }
  json.update(extra);
  return json.dump();
}

PlannedRequest PlanMaker::request(double arrival, std::vector<TokenId> prompt, int64_t outputTokens) {
  PlannedRequest planned;
  planned.arrival = arrival;
  planned.promptTokens = static_cast<int64_t>(prompt.size());
  planned.outputTokens = outputTokens;
  if (uniform(random) < options.disconnect)
    planned.leaveAfter = static_cast<int64_t>(uniform(random) * static_cast<double>(outputTokens));
  planned.body = body(prompt, outputTokens);
  return planned;
}

LoadPlan PlanMaker::started() const {
  LoadPlan plan;
  plan.concurrency = options.concurrency;
  plan.pinsLength = options.ignoreEos;
  return plan;
}

LoadPlan PlanMaker::synthetic() {
  LoadPlan plan = started();
  double arrival = 0;
  for (int64_t i = 0; i < options.requests; ++i) {
    const Lengths lengths = fit({spreadLength(options.promptTokens), spreadLength(options.outputTokens)});
    plan.requests.push_back(request(arrival, promptIds(lengths.prompt), lengths.output));
    if (options.concurrency == 0)
      arrival = nextArrival(arrival);
  }
  plan.workload = "random ids, prompt " + std::to_string(options.promptTokens) + ", output " +
                  std::to_string(options.outputTokens) + ", spread " + std::to_string(options.spread) +
                  ", shared prefix " + std::to_string(options.sharedPrefix);
  return plan;
}

LoadPlan PlanMaker::replay(Trace trace) {
  LoadPlan plan = started();
  trace = scaled(std::move(trace), options.lengthScale);
  double arrival = 0;
  for (size_t i = 0; i < trace.requests.size(); ++i) {
    TraceRequest &recorded = trace.requests[i];
    const Lengths lengths = fit({recorded.promptTokens, recorded.outputTokens});
    recorded.promptTokens = lengths.prompt;
    recorded.outputTokens = lengths.output;
    std::vector<TokenId> prompt = promptOf(trace, i);
    const TokenId range = options.lastToken - options.firstToken + 1;
    for (TokenId &id : prompt) // Equal ids stay equal: shared prefixes stay shared.
      id = options.firstToken + id % range;
    plan.requests.push_back(
        request(options.rate > 0 ? arrival : recorded.arrival * options.timeScale, std::move(prompt), lengths.output));
    if (options.rate > 0)
      arrival = nextArrival(arrival);
  }
  plan.workload = "trace " + trace.name + ", lengths x " + std::to_string(options.lengthScale) +
                  (trace.hasBlocks() ? ", blocks of " + std::to_string(trace.blockTokens) : "") +
                  (options.rate > 0 ? ", Poisson arrivals" : ", times x " + std::to_string(options.timeScale));
  if (!options.textPrompts)
    plan.trace = std::move(trace);
  return plan;
}

Status check(const WorkloadOptions &options) {
  auto require = [](bool holds, const char *what) { return holds ? Status() : invalidArgument(what); };
  FUSEC_RETURN_IF_ERROR(require(options.requests >= (options.trace.empty() ? 1 : 0), "requests: expected at least 1"));
  FUSEC_RETURN_IF_ERROR(
      require(options.promptTokens >= 1 && options.outputTokens >= 1, "prompt and output tokens: expected at least 1"));
  FUSEC_RETURN_IF_ERROR(require(options.spread >= 0 && options.spread <= 1, "spread: expected 0 to 1"));
  FUSEC_RETURN_IF_ERROR(require(options.disconnect >= 0 && options.disconnect <= 1, "disconnect: expected 0 to 1"));
  FUSEC_RETURN_IF_ERROR(require(options.firstToken >= 0 && options.firstToken <= options.lastToken,
                                "token range: expected first <= last, both at least 0"));
  FUSEC_RETURN_IF_ERROR(require(options.timeScale > 0 && options.lengthScale > 0, "scales: expected more than 0"));
  return require(options.concurrency > 0 || options.rate > 0 || !options.trace.empty(),
                 "load: expected a concurrency, a rate, or a trace whose times are replayed");
}

} // namespace

double LoadPlan::offeredRate() const {
  if (concurrency > 0 || requests.size() < 2 || requests.back().arrival <= 0)
    return 0;
  return static_cast<double>(requests.size() - 1) / requests.back().arrival;
}

Result<LoadPlan> makePlan(const WorkloadOptions &options) {
  FUSEC_RETURN_IF_ERROR(check(options));
  FUSEC_ASSIGN_OR_RETURN(nlohmann::json extra, parseJson(options.extraBody, "extra body"));
  if (!extra.is_object())
    return invalidArgument("extra body: expected a JSON object, found " + std::string(jsonTypeName(extra)));
  PlanMaker maker(options, std::move(extra));
  if (options.trace.empty())
    return maker.synthetic();
  FUSEC_ASSIGN_OR_RETURN(Trace trace, readTrace(options.trace, static_cast<size_t>(options.requests)));
  if (trace.requests.empty())
    return invalidArgument(options.trace.string() + ": expected at least one request");
  return maker.replay(std::move(trace));
}

} // namespace fusec::load
