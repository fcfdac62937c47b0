//===- EngineBench.cpp - what batching costs and gives, by hand --------------------===//
//
//   EngineBench ARTIFACT [steps] [temperature]
//
// Decodes 1, 4, 16 and 64 sequences at once and prints tokens per second, the
// share of a step outside the executor, the time between steps, and, with every
// launch timed, the kernels that a step's time goes to. Not a test: figures are for reading.
//
//===----------------------------------------------------------------------===//

#include "runtime/engine/Engine.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>

using namespace fusec;
using namespace fusec::runtime;

namespace {

class Silent final : public RequestListener {
public:
  void onToken(const TokenEvent &) override {}
  void onDone(const RequestOutcome &done) override { failed |= !done.status.ok(); }
  bool failed = false;
};

struct Bench {
  std::filesystem::path artifact;
  int64_t steps;
  float temperature;

  /// `sequences` requests, all of them decoding.
  Result<std::unique_ptr<Engine>> start(int64_t sequences) const {
    EngineOptions options;
    options.artifact = artifact;
    options.contextTokens = 512;
    options.maxSequences = sequences;
    FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, Engine::create(options));
    auto listener = std::make_shared<Silent>();
    for (int64_t i = 0; i < sequences; ++i) {
      Request request;
      for (int64_t k = 0; k < 16; ++k)
        request.prompt.push_back(static_cast<TokenId>((i * 7919 + k * 104729 + 17) % engine->model().vocabSize));
      request.sampling.temperature = temperature;
      request.sampling.topP = temperature > 0 ? 0.9f : 1.0f;
      request.sampling.seed = static_cast<uint64_t>(i);
      request.ignoreEos = true;
      FUSEC_RETURN_IF_ERROR(engine->submit(std::move(request), listener).status());
    }
    while (engine->stats().counters[Counter::GenerationTokens] < 2 * sequences)
      engine->step();
    return engine;
  }

  Status run(int64_t sequences) const {
    FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, start(sequences));
    const EngineStats before = engine->stats();
    const std::clock_t processorBefore = std::clock();
    for (int64_t i = 0; i < steps; ++i)
      engine->step();
    const double processor = static_cast<double>(std::clock() - processorBefore) / CLOCKS_PER_SEC;
    const EngineStats after = engine->stats();
    const double seconds = after.stepSeconds - before.stepSeconds,
                 inside = after.executorSeconds - before.executorSeconds;
    std::printf("%3lld sequences  %8.1f tokens/s  %8.1f per processor second  %8.3f ms/step  %6.2f %% outside the "
                "executor (%.0f us), %.0f us between steps\n",
                static_cast<long long>(sequences), static_cast<double>(sequences * steps) / seconds,
                static_cast<double>(sequences * steps) / processor, seconds / static_cast<double>(steps) * 1e3,
                (1 - inside / seconds) * 100, (seconds - inside) / static_cast<double>(steps) * 1e6,
                (after.gapSeconds - before.gapSeconds) / static_cast<double>(steps) * 1e6);
    printKernels(*engine);
    return {};
  }

  void printKernels(Engine &engine) const {
    engine.setProfiling(true);
    for (int64_t i = 0; i < steps; ++i)
      engine.step();
    std::map<std::string, double> byKernel;
    double total = 0;
    for (const LaunchTime &launch : engine.takeProfile()) {
      byKernel[launch.entry] += launch.seconds;
      total += launch.seconds;
    }
    std::vector<std::pair<double, std::string>> rows;
    for (const auto &[entry, time] : byKernel)
      rows.push_back({time, entry});
    std::sort(rows.rbegin(), rows.rend());
    for (const auto &[time, entry] : rows)
      std::printf("               %8.3f ms/step %5.1f %%  %s\n", time / static_cast<double>(steps) * 1e3,
                  time / total * 100, entry.c_str());
  }
};

} // namespace

int main(int argc, char **argv) {
  if (argc < 2)
    return std::fprintf(stderr, "usage: EngineBench ARTIFACT [steps] [temperature]\n"), 2;
  const Bench bench{argv[1], argc > 2 ? std::atoll(argv[2]) : 20, argc > 3 ? std::strtof(argv[3], nullptr) : 0.0f};
  for (int64_t sequences : {1, 4, 16, 64})
    if (Status status = bench.run(sequences); !status.ok())
      return std::fprintf(stderr, "%s\n", status.message().c_str()), 1;
  return 0;
}
