//===- ThreadTeam.h - the persistent threads that run a step -----------------===//
//
// A step is one parallel region: every thread goes through the launches in
// order and takes chunks of its own share of the programs, then of the others'. A launch is over when its
// programs are done, not when every thread has come by: on a busy machine a
// thread that lost its core holds nobody up unless it is in the middle of a
// chunk. Waiting threads spin briefly, then yield; between steps they sleep.
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
  static constexpr uint32_t regionClosed = 1u << 31;

  /// What the threads work on now; written by thread 0 while the region is closed and empty.
  struct Region {
    std::span<const Launch> launches;
    const int64_t *symbols = nullptr;
    std::span<void *const> scratch;
    double *seconds = nullptr;
  };
  /// A counter on a cache line of its own: threads hammer several at once.
  struct alignas(64) Counter {
    std::atomic<int64_t> value{0};
  };
  /// The programs of a launch that one thread takes first.
  struct Share {
    int64_t begin = 0, end = 0;
  };

  explicit ThreadTeam(int threads) : numThreads(threads) {}
  void workerLoop(int thread);
  bool joinRegion();
  void closeRegion();
  void runRegion(int thread);
  void runPrograms(size_t number, int thread, void *scratch);
  void drain(size_t number, int owner, void *scratch);
  Share shareOf(const Launch &launch, int owner) const;
  Counter &taken(size_t number, int owner) { return takenOf[number * static_cast<size_t>(numThreads) + owner]; }

  int numThreads;
  Region region;
  std::vector<Counter> takenOf; ///< Per launch and thread: programs taken from its share.
  std::vector<Counter> doneOf;  ///< Per launch: programs finished.
  alignas(64) std::atomic<uint32_t> regionNumber{0};
  /// Workers inside the region, and a bit that says nobody may enter any more.
  alignas(64) std::atomic<uint32_t> members{regionClosed};
  std::atomic<bool> stopping{false};
  std::vector<std::jthread> workers;
};

} // namespace fusec::runtime
