//===- EngineMonitor.h - the numbers of an engine, shared between threads ---------===//
//
// The engine's thread writes, any thread takes a snapshot. The lock is held for
// the time of a few additions or of one copy, never for a step.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/engine/EngineStats.h"

#include <chrono>
#include <mutex>

namespace fusec::runtime {

class EngineMonitor {
public:
  using Clock = std::chrono::steady_clock;

  EngineMonitor();

  /// Adds to the numbers: `change` is given them, under the lock.
  template <typename Change> void update(Change change) {
    std::lock_guard lock(mutex);
    change(stats);
  }
  /// Keeps a step among the last ones and counts it.
  void record(const StepRecord &step);

  EngineStats snapshot() const;
  double secondsAt(Clock::time_point time) const { return std::chrono::duration<double>(time - start).count(); }

private:
  const Clock::time_point start = Clock::now();
  mutable std::mutex mutex;
  EngineStats stats; ///< `recent` is a ring, whose oldest entry is at `oldest`.
  size_t oldest = 0;
};

} // namespace fusec::runtime
