//===- CmdBenchServe.cpp - fusec bench serve: load on a running server ----------===//
#include "runtime/base/AtomicFile.h"
#include "tools/fusec/Command.h"
#include "tools/fusec/HostContext.h"
#include "tools/fusec/Interrupt.h"
#include "tools/fusec/ModelOptions.h"
#include "tools/fusec/ProgressBar.h"
#include "tools/fusec/Version.h"
#include "tools/load/LoadReport.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <optional>

namespace fusec {

namespace {

class BenchServeCommand final : public Command {
public:
  void declare(CLI::App &app) override;
  int execute(const Environment &environment) override;

private:
  void declareWorkload(CLI::App &app);
  void declareLoad(CLI::App &app);
  void declareOutput(CLI::App &app);
  Result<load::LoadResult> send(const Environment &environment, const load::LoadPlan &plan);
  nlohmann::json context() const;
  std::optional<load::PrefixReuse> reuseOf(const load::LoadPlan &plan) const;
  Status write(const load::LoadReport &report) const;

  load::WorkloadOptions workload;
  load::LoadOptions options;
  load::Objectives objectives;
  std::string trace, serverNote, jsonPath, pagePath;
  bool json = false, keepsEos = false;
};

void BenchServeCommand::declareWorkload(CLI::App &app) {
  app.add_option("-n,--requests", workload.requests, "requests; with --trace at most so many of it, 0 = all")
      ->capture_default_str();
  app.add_option("--prompt", workload.promptTokens, "prompt tokens of a request")->capture_default_str();
  app.add_option("--output", workload.outputTokens, "output tokens of a request")->capture_default_str();
  app.add_option("--spread", workload.spread, "draw lengths from (1 - S) to (1 + S) times those")
      ->capture_default_str();
  app.add_option("--shared-prefix", workload.sharedPrefix, "prompt tokens that all requests share")
      ->capture_default_str();
  app.add_option("--trace", trace, "replay a trace: .csv (Azure) or .jsonl (Mooncake)")->check(CLI::ExistingFile);
  app.add_option("--time-scale", workload.timeScale, "multiply the trace's times")->capture_default_str();
  app.add_option("--length-scale", workload.lengthScale, "multiply the trace's lengths, and what its prompts share")
      ->capture_default_str();
  app.add_option("--max-context", workload.maxContext, "cut prompt and output to fit; 0 = not")->capture_default_str();
  app.add_flag("--text", workload.textPrompts, "send words, for servers that take no token ids");
  app.add_option("--vocabulary", workload.lastToken, "largest token id of random prompts")->capture_default_str();
  app.add_option("--first-token", workload.firstToken, "smallest token id of random prompts")->capture_default_str();
  app.add_option("--seed", workload.seed, "of lengths, prompts and arrivals")->capture_default_str();
  app.add_option("--disconnect", workload.disconnect, "share of clients that leave early, 0 to 1")
      ->capture_default_str();
  app.add_flag("--keep-eos", keepsEos, "let the model end its answers: lengths are then not pinned");
  app.add_option("--extra-body", workload.extraBody, "a JSON object whose members go into every request");
}

void BenchServeCommand::declareLoad(CLI::App &app) {
  app.add_option("--url", options.url, "http://host:port of the server")->required();
  app.add_option("--model", workload.model, "model name to send; default: none");
  app.add_option("--api-key", options.apiKey, "bearer token");
  app.add_option("-c,--concurrency", workload.concurrency,
                 "closed loop: clients that send one request after the other");
  app.add_option("--rate", workload.rate, "open loop: Poisson arrivals, requests per second");
  app.add_option("--timeout", options.timeoutSeconds, "seconds until a request counts as failed")
      ->capture_default_str();
  app.add_option("--warmups", options.warmups, "requests sent before, not counted")->capture_default_str();
}

void BenchServeCommand::declareOutput(CLI::App &app) {
  app.add_option("--slo-ttft", objectives.timeToFirst, "objective: seconds to the first text");
  app.add_option("--slo-tpot", objectives.timePerToken, "objective: seconds per output token");
  app.add_option("--slo-e2e", objectives.endToEnd, "objective: seconds in all");
  app.add_option("--server", serverNote, "the server's command line, version and machine, for the report");
  app.add_flag("--json", json, "print one JSON object");
  app.add_option("--json-file", jsonPath, "write the JSON there");
  app.add_option("--html", pagePath, "write a page with plots there");
}

void BenchServeCommand::declare(CLI::App &app) {
  declareLoad(app);
  declareWorkload(app);
  declareOutput(app);
  app.footer("Examples:\n"
             "  fusec bench serve --url http://127.0.0.1:8080 -c 16 -n 200 --prompt 128 --output 64\n"
             "  fusec bench serve --url http://127.0.0.1:8080 --rate 4 -n 400 --slo-ttft 0.5 --slo-tpot 0.05\n"
             "  fusec bench serve --url http://127.0.0.1:8080 --trace azure.csv --time-scale 2 --length-scale 0.25 \\\n"
             "      --html report.html --server 'fusec serve smollm2.gguf --max-seqs 16'\n\n"
             "Works with any server that has /v1/completions. Give -c (closed loop) or --rate or --trace (open loop).");
}

/// What a server says of itself; null when it does not.
nlohmann::json ask(const load::LoadOptions &options, const std::string &path) {
  Result<std::string> answer = load::fetchText(options, path);
  nlohmann::json parsed = answer ? nlohmann::json::parse(*answer, nullptr, false) : nlohmann::json();
  return parsed.is_discarded() ? nlohmann::json(*answer) : parsed;
}

nlohmann::json BenchServeCommand::context() const {
  const HostContext host = readHostContext();
  nlohmann::json block = {{"client", "fusec " FUSEC_VERSION},
                          {"cpu", host.cpu},
                          {"physical_cores", host.physicalCores},
                          {"allowed_cores", host.allowedCores},
                          {"memory_bytes", host.memoryBytes},
                          {"system", host.system},
                          {"date", host.date},
                          {"url", options.url},
                          {"seed", workload.seed},
                          {"warmups", options.warmups}};
  block["load_average_before"] = host.loadAverage ? nlohmann::json(*host.loadAverage) : nlohmann::json();
  block["server_command"] = serverNote.empty() ? nlohmann::json() : nlohmann::json(serverNote);
  block["server_models"] = ask(options, "/v1/models");
  if (nlohmann::json version = ask(options, "/version"); !version.is_null())
    block["server_version"] = std::move(version);
  return block;
}

/// Nothing for a trace whose prompts share nothing, a cache that warmups have filled, and a server that does not tell
/// its pool.
std::optional<load::PrefixReuse> BenchServeCommand::reuseOf(const load::LoadPlan &plan) const {
  if (!plan.trace.hasBlocks() || options.warmups > 0)
    return std::nullopt;
  Result<std::string> metrics = load::fetchText(options, "/metrics");
  Result<load::ServerPool> pool = metrics ? load::readServerPool(*metrics) : metrics.status();
  if (!pool)
    return std::nullopt;
  return load::PrefixReuse{*pool, load::prefixBound(plan.trace, pool->pageTokens, pool->pages)};
}

Result<load::LoadResult> BenchServeCommand::send(const Environment &environment, const load::LoadPlan &plan) {
  Cancellable cancellable;
  ProgressBar bar(environment);
  options.interrupted = &cancellable.flag();
  options.progress = [&](size_t ended, size_t total) {
    bar.update(std::to_string(ended) + " of " + std::to_string(total) + " requests",
               static_cast<double>(ended) / static_cast<double>(total));
  };
  return load::runLoad(plan, options);
}

Status BenchServeCommand::write(const load::LoadReport &report) const {
  const std::string text = load::toJson(report).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  if (!jsonPath.empty())
    FUSEC_RETURN_IF_ERROR(writeFileAtomically(jsonPath, text));
  if (!pagePath.empty())
    FUSEC_RETURN_IF_ERROR(writeFileAtomically(pagePath, load::toPage(report)));
  std::fputs(json ? text.c_str() : load::toText(report).c_str(), stdout);
  return {};
}

int BenchServeCommand::execute(const Environment &environment) {
  workload.trace = trace;
  workload.ignoreEos = !keepsEos;
  Result<load::LoadPlan> plan = load::makePlan(workload);
  if (!plan)
    return reportError(plan.status());
  const nlohmann::json facts = context();
  Result<load::LoadResult> result = send(environment, *plan);
  if (!result)
    return reportError(result.status());
  const load::LoadSummary summary = load::summarise(*plan, *result, objectives);
  if (Status written = write({*plan, *result, summary, objectives, facts, reuseOf(*plan)}); !written.ok())
    return reportError(written);
  return summary.errors == 0 ? ExitOk : ExitFailure;
}

} // namespace

std::unique_ptr<Command> makeBenchServe() { return std::make_unique<BenchServeCommand>(); }

} // namespace fusec
