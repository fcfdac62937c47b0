//===- ThreadTeam.cpp --------------------------------------------------------===//

#include "runtime/device/host/ThreadTeam.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <fstream>
#include <sched.h>
#include <set>
#include <string>
#include <system_error>
#include <utility>

namespace fusec::runtime {

namespace {

/// Enough chunks that a late thread does not hold up the others, few enough that a chunk stays contiguous work.
constexpr int64_t chunksPerThread = 4;
/// A barrier inside a step is short; after about this many pauses another process probably has our core.
constexpr int spinsBeforeYield = 4000;
/// Yields before a waiting thread sleeps: long inside a step, where the next launch is microseconds away.
constexpr int yieldsInStep = 2000;
constexpr int yieldsBetweenSteps = 50;

void spinPause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// Waits until `word` differs from `old`: spins, then yields, then sleeps on a futex.
void waitWhileEqual(const std::atomic<uint32_t> &word, uint32_t old, int yields) {
  for (int i = 0; i < spinsBeforeYield; ++i) {
    if (word.load(std::memory_order_acquire) != old)
      return;
    spinPause();
  }
  for (int i = 0; i < yields; ++i) {
    if (word.load(std::memory_order_acquire) != old)
      return;
    sched_yield();
  }
  word.wait(old, std::memory_order_acquire);
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int readTopology(int cpu, const char *file) {
  std::ifstream stream("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/" + file);
  int value = -1;
  stream >> value;
  return value;
}

} // namespace

int physicalCores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
    return std::max(1u, std::thread::hardware_concurrency());
  std::set<std::pair<int, int>> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed))
      continue;
    int core = readTopology(cpu, "core_id");
    // Unknown topology: count every CPU as a core of its own.
    cores.insert(core < 0 ? std::pair(-1, cpu) : std::pair(readTopology(cpu, "physical_package_id"), core));
  }
  return std::max<int>(1, static_cast<int>(cores.size()));
}

Result<std::unique_ptr<ThreadTeam>> ThreadTeam::create(int threads) {
  std::unique_ptr<ThreadTeam> team(new ThreadTeam(std::max(1, threads)));
  try { // The standard library reports a refused thread by an exception only.
    for (int thread = 1; thread < team->numThreads; ++thread)
      team->workers.emplace_back([self = team.get(), thread] { self->workerLoop(thread); });
  } catch (const std::system_error &error) {
    return resourceExhausted("cannot start " + std::to_string(threads) + " threads: " + error.what());
  }
  return team;
}

ThreadTeam::~ThreadTeam() {
  stopping.store(true, std::memory_order_relaxed);
  regionNumber.fetch_add(1, std::memory_order_release);
  regionNumber.notify_all();
}

void ThreadTeam::run(std::span<const Launch> launches, const int64_t *symbols, std::span<void *const> scratch,
                     double *seconds) {
  assert(scratch.size() >= static_cast<size_t>(numThreads) && "one scratch address per thread");
  if (launches.empty())
    return;
  // The workers left the last region through its closing barrier, so nothing below races with them.
  region = {launches, symbols, scratch, seconds};
  if (nextProgram.size() < launches.size())
    nextProgram = std::vector<Counter>(launches.size());
  for (size_t i = 0; i < launches.size(); ++i)
    nextProgram[i].value.store(0, std::memory_order_relaxed);
  if (numThreads > 1) {
    regionNumber.fetch_add(1, std::memory_order_release);
    regionNumber.notify_all();
  }
  runRegion(0);
}

void ThreadTeam::workerLoop(int thread) {
  uint32_t seen = 0;
  while (true) {
    waitWhileEqual(regionNumber, seen, yieldsBetweenSteps);
    ++seen; // Not a load: the closing barrier keeps regions from running ahead of a worker.
    if (stopping.load(std::memory_order_relaxed))
      return;
    runRegion(thread);
  }
}

void ThreadTeam::runRegion(int thread) {
  double last = thread == 0 && region.seconds ? now() : 0;
  for (size_t i = 0; i < region.launches.size(); ++i) {
    const Launch &launch = region.launches[i];
    if (launch.programs == 0)
      continue;
    runPrograms(launch, nextProgram[i], region.scratch[thread]);
    barrier();
    if (thread == 0 && region.seconds) {
      double time = now();
      region.seconds[i] += time - last;
      last = time;
    }
  }
  // A region whose launches are all empty has met no barrier yet, and thread 0 may not reuse `region` before.
  barrier();
}

void ThreadTeam::runPrograms(const Launch &launch, Counter &next, void *scratch) const {
  if (numThreads == 1)
    return launch.entry(launch.args, region.symbols, 0, launch.programs, scratch);
  int64_t chunk = std::max<int64_t>(1, launch.programs / (numThreads * chunksPerThread));
  while (true) {
    int64_t begin = next.value.fetch_add(chunk, std::memory_order_relaxed);
    if (begin >= launch.programs)
      return;
    launch.entry(launch.args, region.symbols, begin, std::min(begin + chunk, launch.programs), scratch);
  }
}

void ThreadTeam::barrier() {
  if (numThreads == 1)
    return;
  uint32_t phase = barrierPhase.load(std::memory_order_relaxed);
  if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == numThreads) {
    arrived.store(0, std::memory_order_relaxed);
    barrierPhase.store(phase + 1, std::memory_order_release);
    barrierPhase.notify_all();
    return;
  }
  waitWhileEqual(barrierPhase, phase, yieldsInStep);
}

} // namespace fusec::runtime
