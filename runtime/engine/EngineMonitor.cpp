//===- EngineMonitor.cpp -------------------------------------------------------===//

#include "runtime/engine/EngineMonitor.h"

#include <algorithm>

namespace fusec::runtime {

namespace {
/// What a live view shows: some seconds of steps.
constexpr size_t keptSteps = 256;
} // namespace

EngineMonitor::EngineMonitor() { stats.recent.reserve(keptSteps); }

void EngineMonitor::record(const StepRecord &step) {
  std::lock_guard lock(mutex);
  ++stats.counters[Counter::Steps];
  stats.histograms.observe(Measure::StepTokens, step.tokens);
  stats.stepSeconds += step.seconds;
  stats.executorSeconds += step.executorSeconds;
  stats.gapSeconds += step.gapSeconds;
  stats.lastStepAt = step.at + step.seconds;
  if (stats.recent.size() < keptSteps) {
    stats.recent.push_back(step);
    return;
  }
  stats.recent[oldest] = step;
  oldest = (oldest + 1) % keptSteps;
}

EngineStats EngineMonitor::snapshot() const {
  std::lock_guard lock(mutex);
  EngineStats copy = stats;
  std::rotate(copy.recent.begin(), copy.recent.begin() + static_cast<std::ptrdiff_t>(oldest), copy.recent.end());
  copy.now = secondsAt(Clock::now());
  return copy;
}

} // namespace fusec::runtime
