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
/// A wait inside a step is short; after about this many pauses another process probably has the core we wait for.
constexpr int spinsBeforeYield = 2000;
/// Yields before an idle worker sleeps.
constexpr int yieldsBetweenSteps = 50;

void spinPause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// Spins until the condition holds or patience ends; says which.
template <typename Condition> bool spinUntil(Condition holds) {
  for (int i = 0; i < spinsBeforeYield; ++i) {
    if (holds())
      return true;
    spinPause();
  }
  return false;
}

/// For what other threads are finishing right now: spins, then gives the core away between looks.
template <typename Condition> void waitUntil(Condition holds) {
  if (spinUntil(holds))
    return;
  while (!holds())
    sched_yield();
}

/// For what may be long in coming: spins, yields, then sleeps on a futex.
void waitForChange(const std::atomic<uint32_t> &word, uint32_t old) {
  auto changed = [&] { return word.load(std::memory_order_acquire) != old; };
  if (spinUntil(changed))
    return;
  for (int i = 0; i < yieldsBetweenSteps; ++i) {
    if (changed())
      return;
    sched_yield();
  }
  word.wait(old, std::memory_order_acquire);
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

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
  // The last region is closed and empty, so nothing below races with a worker.
  region = {launches, symbols, scratch, seconds};
  if (progress.size() < launches.size())
    progress = std::vector<Progress>(launches.size());
  for (size_t i = 0; i < launches.size(); ++i) {
    progress[i].next.store(0, std::memory_order_relaxed);
    progress[i].done.store(0, std::memory_order_relaxed);
  }
  if (numThreads > 1) {
    members.store(0, std::memory_order_release);
    regionNumber.fetch_add(1, std::memory_order_release);
    regionNumber.notify_all();
  }
  runRegion(0);
  if (numThreads > 1)
    closeRegion();
}

void ThreadTeam::workerLoop(int thread) {
  uint32_t seen = 0;
  while (true) {
    waitForChange(regionNumber, seen);
    seen = regionNumber.load(std::memory_order_acquire);
    if (stopping.load(std::memory_order_relaxed))
      return;
    if (!joinRegion())
      continue; // It was over before this thread got a core.
    runRegion(thread);
    members.fetch_sub(1, std::memory_order_release);
  }
}

bool ThreadTeam::joinRegion() {
  uint32_t current = members.load(std::memory_order_relaxed);
  while (!(current & regionClosed))
    if (members.compare_exchange_weak(current, current + 1, std::memory_order_acquire, std::memory_order_relaxed))
      return true;
  return false;
}

void ThreadTeam::closeRegion() {
  members.fetch_or(regionClosed, std::memory_order_acq_rel);
  waitUntil([this] { return members.load(std::memory_order_acquire) == regionClosed; });
}

void ThreadTeam::runRegion(int thread) {
  double last = thread == 0 && region.seconds ? now() : 0;
  for (size_t i = 0; i < region.launches.size(); ++i) {
    const Launch &launch = region.launches[i];
    if (launch.programs == 0)
      continue;
    runPrograms(launch, progress[i], region.scratch[thread]);
    if (thread == 0 && region.seconds) {
      double time = now();
      region.seconds[i] += time - last;
      last = time;
    }
  }
}

void ThreadTeam::runPrograms(const Launch &launch, Progress &state, void *scratch) const {
  if (numThreads == 1)
    return launch.entry(launch.args, region.symbols, 0, launch.programs, scratch);
  int64_t chunk = std::max<int64_t>(1, launch.programs / (numThreads * chunksPerThread));
  while (true) {
    int64_t begin = state.next.fetch_add(chunk, std::memory_order_relaxed);
    if (begin >= launch.programs)
      break;
    int64_t end = std::min(begin + chunk, launch.programs);
    launch.entry(launch.args, region.symbols, begin, end, scratch);
    state.done.fetch_add(end - begin, std::memory_order_acq_rel);
  }
  waitUntil([&] { return state.done.load(std::memory_order_acquire) == launch.programs; });
}

} // namespace fusec::runtime
