//===- CmdSimulate.cpp - fusec simulate: the scheduler against a trace ------===//
#include "tools/fusec/Command.h"
#include "tools/fusec/ModelOptions.h"
#include "tools/load/Simulator.h"

#include <CLI/CLI.hpp>

#include <cstdio>

namespace fusec {

namespace {

class SimulateCommand final : public Command {
public:
  void declare(CLI::App &app) override;
  int execute(const Environment &environment) override;

private:
  Status simulate();
  Status usePolicy(const std::string &name);

  std::string file, costFile;
  std::vector<std::string> policies{"fcfs", "prefix"};
  load::SimulationOptions options;
  size_t limit = 0;
  bool noPrefixCache = false, json = false;
};

void SimulateCommand::declare(CLI::App &app) {
  options.scheduler.tokenBudget = 2048;
  options.scheduler.maxSequences = 256;
  options.scheduler.contextTokens = 0;
  app.add_option("TRACE", file, "Azure .csv or Mooncake .jsonl trace")->required();
  app.add_option("--policies", policies, "fcfs, priority, prefix: one column each")->delimiter(',');
  app.add_option("--speed", options.speed, "arrivals come so many times faster")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--limit", limit, "only the first requests (default: all)");
  app.add_option("--pages", options.pages, "KV pages in the pool")
      ->check(CLI::Range(1, 1 << 24))
      ->capture_default_str();
  app.add_option("--page-tokens", options.pageTokens, "tokens of a page")
      ->check(CLI::Range(1, 1 << 16))
      ->capture_default_str();
  app.add_option("--step-tokens", options.scheduler.tokenBudget, "most tokens of a step")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--max-sequences", options.scheduler.maxSequences, "most requests that run at a time")
      ->check(CLI::Range(1, 1 << 16))
      ->capture_default_str();
  app.add_option("--context", options.scheduler.contextTokens,
                 "longer requests are refused (default: the trace's longest)");
  app.add_option("--cost", costFile, "JSON with fixed_seconds, seconds_per_token, seconds_per_context_token");
  app.add_option("--step-overhead", options.stepOverhead, "seconds between steps")->check(CLI::NonNegativeNumber);
  app.add_flag("--no-prefix-cache", noPrefixCache, "share no pages between requests");
  app.add_flag("--json", json, "print one JSON object");
  app.footer("Examples:\n"
             "  fusec simulate conversations.csv --speed 4\n"
             "  fusec simulate mooncake.jsonl --pages 32768 --policies fcfs,prefix --json\n\n"
             "Nothing is computed: the scheduler that serves runs against a clock that the cost model drives.");
}

Status SimulateCommand::usePolicy(const std::string &name) {
  const runtime::PolicyRow *row = runtime::findPolicy(name);
  if (!row)
    return invalidArgument("--policies: expected fcfs, priority or prefix, found '" + name + "'");
  options.scheduler.policy = row->policy;
  return {};
}

/// The prefix tree keeps the token ids of all pages.
constexpr int64_t maxPoolTokens = 1 << 28;

Status SimulateCommand::simulate() {
  if (options.pages * options.pageTokens > maxPoolTokens)
    return invalidArgument("--pages: expected at most " + std::to_string(maxPoolTokens) +
                           " tokens in the pool, found " + std::to_string(options.pages * options.pageTokens));
  FUSEC_ASSIGN_OR_RETURN(load::Trace trace, load::readTrace(file, limit));
  if (!costFile.empty()) {
    FUSEC_ASSIGN_OR_RETURN(options.cost, load::CostModel::read(costFile));
  }
  if (options.scheduler.contextTokens <= 0)
    options.scheduler.contextTokens = trace.longestContext();
  options.prefixCache = !noPrefixCache;
  std::vector<load::SimulationReport> reports;
  for (const std::string &name : policies) {
    FUSEC_RETURN_IF_ERROR(usePolicy(name));
    reports.push_back(load::simulate(trace, options));
  }
  load::PrefixBound bound = load::prefixBound(trace, options.pageTokens, options.pages);
  auto print = json ? load::reportJson : load::reportTable;
  std::fputs(print(trace, options, bound, reports).c_str(), stdout);
  return {};
}

int SimulateCommand::execute(const Environment &) {
  const Status status = simulate();
  return status.ok() ? ExitOk : reportError(status);
}

} // namespace

std::unique_ptr<Command> makeSimulate() { return std::make_unique<SimulateCommand>(); }

} // namespace fusec
