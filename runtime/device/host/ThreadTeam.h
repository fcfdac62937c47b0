//===- ThreadTeam.h - the persistent threads that run a step -----------------===//
//
// A step is one parallel region: every thread goes through the launches in
// order, takes chunks of programs from a counter, and meets the others at a
// barrier before the next launch. Workers spin briefly between launches and
// sleep when no step comes.
//
//   FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<ThreadTeam> team, ThreadTeam::create(4));
//   team->run(launches, symbols, scratch, nullptr);
//
// The calling thread is thread 0 of the team. Threading: one run at a time.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/device/Launch.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <vector>

namespace fusec::runtime {

/// Physical cores among the CPUs this process may use; at least 1.
int physicalCores();

class ThreadTeam {
public:
  /// `threads` >= 1, the caller included. ResourceExhausted when the system
  /// refuses one of the threads - 1 workers.
  static Result<std::unique_ptr<ThreadTeam>> create(int threads);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam &) = delete;
  ThreadTeam &operator=(const ThreadTeam &) = delete;

  int size() const { return numThreads; }

  /// Runs all launches in order; returns when the last program is done.
  /// `scratch`: one address per thread. `seconds`: null, or one slot per launch
  /// to which its wall time, closing barrier included, is added.
  void run(std::span<const Launch> launches, const int64_t *symbols, std::span<void *const> scratch, double *seconds);

private:
  /// What the threads work on now; written by thread 0 between regions.
  struct Region {
    std::span<const Launch> launches;
    const int64_t *symbols = nullptr;
    std::span<void *const> scratch;
    double *seconds = nullptr;
  };
  /// Own cache line each: threads hammer different launches' counters and the barrier.
  struct alignas(64) Counter {
    std::atomic<int64_t> value{0};
  };

  explicit ThreadTeam(int threads) : numThreads(threads) {}
  void workerLoop(int thread);
  void runRegion(int thread);
  void runPrograms(const Launch &launch, Counter &next, void *scratch) const;
  void barrier();

  int numThreads;
  Region region;
  std::vector<Counter> nextProgram; ///< Per launch of the region.
  alignas(64) std::atomic<uint32_t> regionNumber{0};
  alignas(64) std::atomic<int> arrived{0};
  alignas(64) std::atomic<uint32_t> barrierPhase{0};
  std::atomic<bool> stopping{false};
  std::vector<std::jthread> workers;
};

} // namespace fusec::runtime
