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

/// Chunks per share: enough that others can take over from a late thread.
constexpr int64_t chunksPerShare = 4;
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
  if (doneOf.size() < launches.size()) {
    doneOf = std::vector<Counter>(launches.size());
    takenOf = std::vector<Counter>(launches.size() * static_cast<size_t>(numThreads));
  }
  for (size_t i = 0; i < launches.size(); ++i) {
    doneOf[i].value.store(0, std::memory_order_relaxed);
    for (int owner = 0; owner < numThreads; ++owner)
      taken(i, owner).value.store(0, std::memory_order_relaxed);
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
    runPrograms(i, thread, region.scratch[thread]);
    if (thread == 0 && region.seconds) {
      double time = now();
      region.seconds[i] += time - last;
      last = time;
    }
  }
}

ThreadTeam::Share ThreadTeam::shareOf(const Launch &launch, int owner) const {
  return {launch.programs * owner / numThreads, launch.programs * (owner + 1) / numThreads};
}

/// Takes chunks of a share until nothing is left of it.
void ThreadTeam::drain(size_t number, int owner, void *scratch) {
  const Launch &launch = region.launches[number];
  Share share = shareOf(launch, owner);
  int64_t size = share.end - share.begin, chunk = std::max<int64_t>(1, size / chunksPerShare);
  std::atomic<int64_t> &next = taken(number, owner).value;
  while (next.load(std::memory_order_relaxed) < size) {
    int64_t begin = next.fetch_add(chunk, std::memory_order_relaxed);
    if (begin >= size)
      return;
    int64_t end = std::min(begin + chunk, size);
    launch.entry(launch.args, region.symbols, share.begin + begin, share.begin + end, scratch);
    doneOf[number].value.fetch_add(end - begin, std::memory_order_acq_rel);
  }
}

/// A share is contiguous, so that a thread reads its weights and pages as one stream; with chunks dealt out in
/// turn two threads decoded no faster than one.
void ThreadTeam::runPrograms(size_t number, int thread, void *scratch) {
  const Launch &launch = region.launches[number];
  if (numThreads == 1)
    return launch.entry(launch.args, region.symbols, 0, launch.programs, scratch);
  for (int k = 0; k < numThreads; ++k)
    drain(number, (thread + k) % numThreads, scratch);
  waitUntil([&] { return doneOf[number].value.load(std::memory_order_acquire) == launch.programs; });
}

} // namespace fusec::runtime
