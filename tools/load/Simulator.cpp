//===- Simulator.cpp ---------------------------------------------------------===//

#include "tools/load/Simulator.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <unordered_map>

namespace fusec::load {

using namespace runtime;

Percentiles Percentiles::of(std::vector<double> values) {
  if (values.empty())
    return {};
  std::sort(values.begin(), values.end());
  double sum = 0;
  for (double value : values)
    sum += value;
  auto at = [&](double share) { // The smallest value that is not below `share` of all.
    return values[static_cast<size_t>(std::max(0.0, std::ceil(share * static_cast<double>(values.size())) - 1))];
  };
  return {sum / static_cast<double>(values.size()), at(0.5), at(0.9), at(0.99)};
}

namespace {

class Simulation {
public:
  Simulation(const Trace &trace, const SimulationOptions &options)
      : trace(trace), options(options),
        kv({.totalBlocks = options.pages + 1, .pageTokens = options.pageTokens, .prefixCache = options.prefixCache}),
        scheduler(kv, options.scheduler), progress(trace.requests.size()) {}

  SimulationReport run();

private:
  struct Progress {
    double first = 0;
    int64_t generated = 0;
  };

  double arrival(size_t index) const { return trace.requests[index].arrival / options.speed; }
  void admitArrived();
  Step plan();
  void account(const Step &step, double seconds);
  void take(const Step &step);
  void finished(size_t index);
  void summarize();

  const Trace &trace;
  const SimulationOptions &options;
  KvManager kv;
  Scheduler scheduler;
  std::vector<Progress> progress;
  std::vector<double> firstTokens, perTokens, endToEnds;
  SimulationReport report;
  size_t nextArrival = 0;
  double now = 0, busy = 0, planning = 0, waitingTime = 0, runningTime = 0;
  double liveTime = 0, cachedTime = 0, freeTime = 0, wasteTime = 0;
  int64_t outputTokens = 0, promptTokens = 0;
};

void Simulation::admitArrived() {
  for (; nextArrival < trace.requests.size() && arrival(nextArrival) <= now; ++nextArrival) {
    const TraceRequest &request = trace.requests[nextArrival];
    ScheduledRequest scheduled;
    scheduled.id = RequestId{nextArrival};
    scheduled.prompt = promptOf(trace, nextArrival);
    scheduled.maxTokens = std::max<int64_t>(request.outputTokens, 1);
    if (!scheduler.admit(std::move(scheduled)).ok())
      ++report.refused;
  }
}

Step Simulation::plan() {
  auto start = std::chrono::steady_clock::now();
  Step step = scheduler.next();
  planning += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return step;
}

void Simulation::account(const Step &step, double seconds) {
  const StepSummary &summary = step.summary;
  const Ledger &ledger = summary.ledger;
  busy += seconds;
  waitingTime += seconds * static_cast<double>(summary.waiting);
  runningTime += seconds * static_cast<double>(summary.running);
  liveTime += seconds * ledger.live;
  cachedTime += seconds * ledger.cached;
  freeTime += seconds * ledger.free;
  wasteTime += seconds * ledger.waste();
  report.mostWaiting = std::max(report.mostWaiting, summary.waiting);
}

void Simulation::finished(size_t index) {
  const Progress &done = progress[index];
  endToEnds.push_back(now - arrival(index));
  if (done.generated > 1)
    perTokens.push_back((now - done.first) / static_cast<double>(done.generated - 1));
  outputTokens += done.generated;
  promptTokens += trace.requests[index].promptTokens;
  scheduler.finish(RequestId{index});
  ++report.requests;
}

void Simulation::take(const Step &step) {
  std::vector<TokenId> tokens;
  for (const Step::Item &item : step.items) {
    size_t index = static_cast<size_t>(item.request);
    tokens.push_back(answerToken(index, progress[index].generated));
  }
  scheduler.commit(step, tokens);
  for (const Step::Item &item : step.items) {
    if (!item.sample)
      continue;
    size_t index = static_cast<size_t>(item.request);
    if (progress[index].generated++ == 0) {
      progress[index].first = now;
      firstTokens.push_back(now - arrival(index));
    }
    if (progress[index].generated >= trace.requests[index].outputTokens)
      finished(index);
  }
}

void Simulation::summarize() {
  SchedulerStats stats = scheduler.stats();
  report.policy = policyRow(options.scheduler.policy).name;
  report.seconds = now;
  report.firstToken = Percentiles::of(std::move(firstTokens));
  report.perToken = Percentiles::of(std::move(perTokens));
  report.endToEnd = Percentiles::of(std::move(endToEnds));
  auto per = [](double sum, double by) { return by > 0 ? sum / by : 0; };
  report.outputPerSecond = per(static_cast<double>(outputTokens), now);
  report.totalPerSecond = per(static_cast<double>(outputTokens + promptTokens), now);
  report.meanWaiting = per(waitingTime, busy);
  report.meanRunning = per(runningTime, busy);
  report.steps = stats.steps;
  report.preemptions = stats.preemptions;
  report.recomputedTokens = stats.recomputedTokens;
  report.live = per(liveTime, busy * options.pages);
  report.cached = per(cachedTime, busy * options.pages);
  report.free = per(freeTime, busy * options.pages);
  report.waste = per(wasteTime, busy);
  report.prefixHits = per(static_cast<double>(stats.cachedPromptTokens), static_cast<double>(stats.promptTokens));
  report.busy = per(busy, now);
  report.plannerMicroseconds = per(planning * 1e6, static_cast<double>(stats.steps));
}

SimulationReport Simulation::run() {
  while (nextArrival < trace.requests.size() || scheduler.hasWork()) {
    admitArrived();
    Step step = plan();
    if (step.empty()) {
      if (nextArrival == trace.requests.size())
        break;
      now = std::max(now, arrival(nextArrival));
      continue;
    }
    double seconds = options.cost.seconds(step) + options.stepOverhead;
    now += seconds;
    account(step, seconds);
    take(step);
  }
  summarize();
  return std::move(report);
}

} // namespace

SimulationReport simulate(const Trace &trace, const SimulationOptions &options) {
  return Simulation(trace, options).run();
}

} // namespace fusec::load
