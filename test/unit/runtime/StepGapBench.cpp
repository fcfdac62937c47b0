//===- StepGapBench.cpp - how long a device waits for the host, by hand ------------===//
//
//   StepGapBench ARTIFACT [steps] [microseconds of a step]
//
// An engine on a device that takes its time and chooses the tokens itself, as a
// GPU does. Prints, for 1, 16 and 64 sequences, the time from the end of a step to
// the launch of the next: all decode; with answers that end and prompts that start
// all the time; and that with a pool that is full and a thousand requests that
// wait. Not a test: figures are for reading.
//
// ARTIFACT: for its tokenizer.
//
//===----------------------------------------------------------------------===//

#include "runtime/engine/EngineLoop.h"
#include "runtime/text/Tokenizer.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <thread>

using namespace fusec;
using namespace fusec::runtime;

namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t context = 4096, pageTokens = 64;

class SlowDevice final : public Executor {
public:
  explicit SlowDevice(std::chrono::microseconds time) : time(time) {}
  const ExecutorInfo &info() const override { return facts; }
  Status launch(const StepInput &input) override {
    const Clock::time_point now = Clock::now();
    if (ended)
      gaps.push_back(std::chrono::duration<double>(now - *ended).count());
    until = now + time;
    choices.clear();
    for (int32_t row : input.outputRows)
      choices.push_back(
          (input.tokens[static_cast<size_t>(row)] * 31 + input.positions[static_cast<size_t>(row)]) % 20000 + 1000);
    return {};
  }
  Result<StepOutput> wait() override {
    std::this_thread::sleep_until(until);
    ended = Clock::now();
    return StepOutput{{}, choices};
  }
  Status copyPages(std::span<const PageCopy>) override { return {}; }
  bool samplesOnDevice() const override { return true; }
  MemoryPlan memory() const override { return {}; }
  void setProfiling(bool) override {}
  std::vector<LaunchTime> takeProfile() override { return {}; }

  std::vector<double> gaps; ///< Seconds.

private:
  ExecutorInfo facts;
  std::chrono::microseconds time;
  Clock::time_point until;
  std::optional<Clock::time_point> ended;
  std::vector<TokenId> choices;
};

class Silent final : public RequestListener {
public:
  void onToken(const TokenEvent &) override {}
  void onDone(const RequestOutcome &) override {}
};

struct Bench {
  const text::Tokenizer &tokenizer;
  int64_t steps;
  std::chrono::microseconds time;

  Request request(int64_t number, int64_t prompt, int64_t maxTokens) const {
    Request made;
    for (int64_t k = 0; k < prompt; ++k)
      made.prompt.push_back(static_cast<TokenId>((number * 7919 + k * 104729 + 17) % 20000));
    made.sampling = SamplingParams::greedy();
    made.ignoreEos = true;
    made.maxTokens = maxTokens;
    return made;
  }

  /// `maxTokens` of an answer; `waiting` requests are kept in the queue; `poolTokens` for each sequence.
  void run(int64_t sequences, int64_t maxTokens, int64_t waiting, int64_t poolTokens, const char *what) const {
    SlowDevice device(time);
    const auto pages = static_cast<int32_t>(1 + std::max(context, sequences * poolTokens) / pageTokens);
    KvManager kv({.totalBlocks = pages, .pageTokens = pageTokens});
    Scheduler scheduler(kv, {.tokenBudget = 512, .maxSequences = sequences, .contextTokens = context});
    EngineMonitor monitor;
    const ModelText text{tokenizer, {}, tokenizer.size(), context};
    ModelInfo model;
    model.vocabSize = tokenizer.size();
    EngineLoop loop(EngineParts{device, kv, scheduler, monitor, text, model, sequences, "bench"});
    auto listener = std::make_shared<Silent>();
    int64_t added = 0;
    auto fill = [&] {
      for (const SchedulerStats now = scheduler.stats(); added - now.finished < sequences + waiting; ++added)
        (void)loop.add(loop.newId(), request(added, 200, maxTokens), listener);
    };
    for (int64_t i = 0; i < steps + sequences; ++i) {
      fill();
      loop.step();
    }
    std::vector<double> &gaps = device.gaps;
    gaps.erase(gaps.begin(), gaps.begin() + static_cast<std::ptrdiff_t>(sequences)); // Until all run.
    double sum = 0;
    for (double gap : gaps)
      sum += gap;
    std::sort(gaps.begin(), gaps.end());
    std::printf("%3lld sequences, %-22s gap %7.1f us median %7.1f us mean %7.1f us p90\n",
                static_cast<long long>(sequences), what, gaps[gaps.size() / 2] * 1e6,
                sum / static_cast<double>(gaps.size()) * 1e6, gaps[gaps.size() * 9 / 10] * 1e6);
  }
};

} // namespace

int main(int argc, char **argv) {
  if (argc < 2)
    return std::fprintf(stderr, "usage: StepGapBench ARTIFACT [steps] [microseconds]\n"), 2;
  Result<text::Tokenizer> tokenizer = text::Tokenizer::load(std::filesystem::path(argv[1]) / "tokenizer.json");
  if (!tokenizer)
    return std::fprintf(stderr, "%s\n", tokenizer.status().message().c_str()), 1;
  const Bench bench{*tokenizer, argc > 2 ? std::atoll(argv[2]) : 300,
                    std::chrono::microseconds(argc > 3 ? std::atoll(argv[3]) : 3000)};
  for (int64_t sequences : {1, 16, 64}) {
    bench.run(sequences, 3000, 0, context, "decode");
    bench.run(sequences, 40, sequences / 4, context, "ends and starts");
    bench.run(sequences, 400, 1000, 300, "full pool, 1000 wait");
  }
  return 0;
}
