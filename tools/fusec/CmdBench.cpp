//===- CmdBench.cpp - fusec bench: rates on this machine -------------------===//
//
// Prefill: one prompt from an empty cache until the first token is sampled.
// Decode: single tokens one after the other, behind a context of --depth
// tokens. Both are repeated alternately, so that a slow spell of the machine
// shows as spread and not as a difference between them.
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/CudaTarget.h"
#include "runtime/base/AtomicFile.h"
#include "runtime/exec/Executor.h"
#include "tools/fusec/Command.h"
#include "tools/fusec/HostContext.h"
#include "tools/fusec/Interrupt.h"
#include "tools/fusec/MachineRates.h"
#include "tools/fusec/ModelOptions.h"
#include "tools/fusec/ProgressBar.h"
#include "tools/fusec/RunStats.h"
#include "tools/fusec/SampleStats.h"
#include "tools/fusec/Version.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <map>

namespace fusec {

namespace {

class BenchCommand final : public Command {
public:
  void declare(CLI::App &app) override;
  int execute(const Environment &environment) override;

private:
  Status fitToContext();
  Status measure(const Environment &environment);
  Result<runtime::Timings> generate(int64_t promptTokens, int64_t newTokens,
                                    const runtime::TokenCallback &onToken = {});
  Status writeKernelTimes();
  nlohmann::json report() const;
  void printText(const nlohmann::json &report) const;

  ModelOptions modelOptions;
  int64_t promptTokens = 512, generateTokens = 128, depth = 1;
  int repeats = 5, warmups = 1;
  bool json = false;
  std::string kernelTimes;

  std::unique_ptr<runtime::Engine> engine;
  HostContext host;
  SampleStats prefill, decode; ///< Tokens per second.
};

void BenchCommand::declare(CLI::App &app) {
  modelOptions.declare(app);
  app.add_option("--prompt", promptTokens, "tokens of the prefill measurement; 0 = skip it")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--generate", generateTokens, "tokens of the decode measurement; 0 = skip it")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--depth", depth, "tokens in the context before decoding starts")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("-r,--repeats", repeats, "measurements of each")->check(CLI::Range(1, 1000))->capture_default_str();
  app.add_option("--warmups", warmups, "unmeasured repeats before")->check(CLI::Range(0, 100))->capture_default_str();
  app.add_flag("--json", json, "print one JSON object");
  app.add_option("--kernel-times", kernelTimes, "also time each kernel in decode steps, for `fusec explain --timings`");
  app.footer(
      "Examples:\n"
      "  fusec bench model.gguf\n"
      "  fusec bench model.gguf --threads 2 --prompt 512 --generate 128 --repeats 9 --json\n"
      "  fusec bench model.gguf --target cuda               # on the GPU; --no-graphs shows what graphs save\n"
      "  fusec bench model.gguf --prompt 0 --depth 2000     # decode behind a long context\n"
      "  fusec bench model.gguf --kernel-times times.json   # then: fusec explain model.gguf --timings times.json\n\n"
      "Rates are tokens per second: median (min .. max) of the repeats.");
}

/// Shortens what does not fit the model's context; the report shows the lengths used.
Status BenchCommand::fitToContext() {
  const int64_t limit = engine->options().contextTokens;
  if (limit < 4)
    return invalidArgument("bench: expected a context of at least 4 tokens, found " + std::to_string(limit));
  promptTokens = std::min(promptTokens, limit - 1);
  depth = std::min(depth, limit / 2);
  if (generateTokens > 0)
    generateTokens = std::min(generateTokens, limit - depth - 1);
  return {};
}

/// Generates behind a prompt of arbitrary ids: rates do not depend on what the tokens mean. A fixed
/// generator makes every repeat and every run use the same ones.
Result<runtime::Timings> BenchCommand::generate(int64_t promptLength, int64_t newTokens,
                                                const runtime::TokenCallback &onToken) {
  runtime::Request request;
  uint64_t state = 1;
  for (int64_t i = 0; i < promptLength; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    request.prompt.push_back(static_cast<text::TokenId>((state >> 33) % uint64_t(engine->model().vocabSize)));
  }
  request.sampling = runtime::SamplingParams::greedy();
  request.maxTokens = newTokens;
  request.ignoreEos = true;
  engine->reset();
  FUSEC_ASSIGN_OR_RETURN(runtime::Generation generation, engine->generate(request, onToken));
  return generation.timings;
}

Status BenchCommand::measure(const Environment &environment) {
  ProgressBar bar(environment);
  const int rounds = warmups + repeats;
  for (int round = 0; round < rounds; ++round) {
    const bool counts = round >= warmups;
    bar.update(counts ? "measuring" : "warming up", double(round) / rounds);
    if (promptTokens > 0) {
      FUSEC_ASSIGN_OR_RETURN(runtime::Timings t, generate(promptTokens, 1));
      if (counts)
        prefill.samples.push_back(t.prefillTokensPerSecond());
    }
    if (generateTokens > 0) {
      // The first token comes from the prefill, so one more is asked for.
      FUSEC_ASSIGN_OR_RETURN(runtime::Timings t, generate(depth, generateTokens + 1));
      if (counts)
        decode.samples.push_back(t.decodeTokensPerSecond());
    }
  }
  return {};
}

/// What kernels can reach at best: measured on the CPU; for a GPU the data sheet of its target's product.
MachineRates ratesOf(const runtime::ExecutorInfo &executor) {
  if (executor.threads > 0)
    return measureMachine(executor.threads);
  Result<const codegen::CudaTarget *> target = codegen::cudaTargetByName(executor.level);
  return target ? MachineRates{(*target)->bytesPerSecond, (*target)->bf16PerSecond} : MachineRates();
}

/// One more decode with every launch timed, after the measurements: timing costs a little.
Status BenchCommand::writeKernelTimes() {
  const int64_t steps = std::max<int64_t>(1, generateTokens);
  bool first = true;
  engine->setProfiling(true);
  FUSEC_RETURN_IF_ERROR(generate(depth, steps + 1, [&](const runtime::TokenEvent &) {
                          if (first)
                            engine->takeProfile(); // of the prompt
                          first = false;
                          return true;
                        }).status());
  std::map<std::string, double> seconds;
  for (const runtime::LaunchTime &launch : engine->takeProfile())
    seconds[launch.kernel] += launch.seconds / double(steps);
  engine->setProfiling(false);
  const MachineRates rates = ratesOf(engine->executorInfo());
  nlohmann::ordered_json file = {
      {"machine", {{"bytes_per_second", rates.bytesPerSecond}, {"flops_per_second", rates.flopsPerSecond}}},
      {"step", {{"tokens", 1}, {"context", depth + steps / 2}}},
      {"kernels", nlohmann::ordered_json::object()}};
  for (const auto &[kernel, time] : seconds)
    if (time > 0)
      file["kernels"][kernel] = {{"seconds", time}};
  return writeFileAtomically(kernelTimes, file.dump(1) + "\n");
}

nlohmann::json statsJson(const SampleStats &stats) {
  return {{"median", stats.median()},
          {"min", stats.min()},
          {"max", stats.max()},
          {"spread", stats.spread()},
          {"samples", stats.samples}};
}

nlohmann::json hostJson(const HostContext &host) {
  nlohmann::json block = {{"cpu", host.cpu},
                          {"physical_cores", host.physicalCores},
                          {"logical_cores", host.logicalCores},
                          {"allowed_cores", host.allowedCores},
                          {"memory_bytes", host.memoryBytes},
                          {"system", host.system},
                          {"date", host.date},
                          {"load_average", nullptr}};
  if (host.loadAverage)
    block["load_average"] = *host.loadAverage;
  return block;
}

nlohmann::json graphsJson(const runtime::GraphStats &stats) {
  nlohmann::json block = {
      {"captured", stats.captured}, {"replayed", stats.replayed}, {"eager", nlohmann::json::object()}};
  for (size_t i = 0; i < stats.eager.size(); ++i)
    block["eager"][std::string(runtime::eagerReasons[i])] = stats.eager[i];
  return block;
}

nlohmann::json BenchCommand::report() const {
  const runtime::ModelInfo &model = engine->model();
  const runtime::EngineOptions &options = engine->options();
  nlohmann::json context = hostJson(host);
  context["fusec"] = FUSEC_VERSION;
  context["model"] = {{"name", model.name},
                      {"architecture", model.architecture},
                      {"digest", model.digest},
                      {"bytes", model.bytes},
                      {"compiled_by", model.compilerVersion}};
  context["device"] = engine->executorInfo().device;
  if (!engine->executorInfo().driver.empty())
    context["driver"] = engine->executorInfo().driver;
  context["threads"] = options.threads;
  context["level"] = options.level;
  context["context_tokens"] = options.contextTokens;
  context["chunk_tokens"] = options.chunkTokens;
  context["kv_dtype"] = model.kvDtype;
  context["kv_layout"] = model.kvLayout;
  context["kv_page_tokens"] = engine->stats().pool.pageTokens;
  std::vector<std::string> missing = host.missing();
  if (model.digest.empty())
    missing.push_back("model.digest");
  nlohmann::json result = {{"context", context},
                           {"comparable", missing.empty()},
                           {"missing_context", missing},
                           {"repeats", repeats},
                           {"warmups", warmups},
                           {"unit", "tokens/s"},
                           {"peak_resident_bytes", peakResidentBytes()}};
  if (engine->executorInfo().threads == 0)
    result["graphs"] = graphsJson(engine->graphStats());
  if (!prefill.empty()) {
    result["prefill"] = statsJson(prefill);
    result["prefill"]["tokens"] = promptTokens;
  }
  if (!decode.empty()) {
    result["decode"] = statsJson(decode);
    result["decode"]["tokens"] = generateTokens;
    result["decode"]["depth"] = depth;
    // Every weight is read once per token: the rate as a demand on memory.
    result["decode"]["weight_bytes_per_second"] = decode.median() * double(model.bytes);
  }
  return result;
}

void printRate(const char *phase, const SampleStats &stats, const std::string &what) {
  std::printf("%-8s %10.2f tokens/s  (%.2f .. %.2f)  %s\n", phase, stats.median(), stats.min(), stats.max(),
              what.c_str());
}

void BenchCommand::printText(const nlohmann::json &report) const {
  const runtime::ModelInfo &model = engine->model();
  std::printf("model    %s (%s), %s, digest %s\n", model.name.c_str(), model.architecture.c_str(),
              formatBytes(model.bytes).c_str(), model.digest.c_str());
  std::printf("machine  %s, %d cores (%d threads, %d allowed), %s, %s\n", host.cpu.c_str(), host.physicalCores,
              host.logicalCores, host.allowedCores, formatBytes(host.memoryBytes).c_str(), host.system.c_str());
  const runtime::ExecutorInfo &executor = engine->executorInfo();
  const std::string where = executor.threads > 0 ? std::to_string(executor.threads) + " threads" : executor.device;
  std::printf("run      fusec %s, %s, level %s, %s, load average %.2f before\n", FUSEC_VERSION, where.c_str(),
              executor.level.c_str(), host.date.c_str(), host.loadAverage.value_or(-1));
  if (executor.threads == 0)
    std::fputs(describeGraphs(engine->graphStats()).c_str(), stdout);
  if (!prefill.empty())
    printRate("prefill", prefill, std::to_string(promptTokens) + " tokens, " + std::to_string(repeats) + " repeats");
  if (!decode.empty())
    printRate("decode", decode,
              std::to_string(generateTokens) + " tokens at depth " + std::to_string(depth) + ", " +
                  formatBytes(report["decode"]["weight_bytes_per_second"].get<double>()) + "/s of weights");
  std::printf("memory   %s peak resident\n", formatBytes(peakResidentBytes()).c_str());
  if (!report["comparable"].get<bool>())
    std::printf("Not comparable with other results: unknown %s\n", report["missing_context"].dump().c_str());
}

int BenchCommand::execute(const Environment &environment) {
  Result<std::unique_ptr<runtime::Engine>> opened = openEngine(modelOptions, environment);
  if (!opened)
    return reportError(opened.status());
  engine = std::move(*opened);
  if (Status status = fitToContext(); !status.ok())
    return reportError(status);
  host = readHostContext(); // Before measuring: the load average of others, not our own.
  if (Status status = measure(environment); !status.ok())
    return reportError(status);
  if (!kernelTimes.empty())
    if (Status status = writeKernelTimes(); !status.ok())
      return reportError(status);
  const nlohmann::json result = report();
  if (json)
    std::printf("%s\n", result.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  else
    printText(result);
  return ExitOk;
}

} // namespace

std::unique_ptr<Command> makeBench() { return std::make_unique<BenchCommand>(); }

} // namespace fusec
