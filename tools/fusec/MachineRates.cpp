//===- MachineRates.cpp ------------------------------------------------------===//
#include "tools/fusec/MachineRates.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace fusec {

namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Runs `work(thread)` on every thread at once and returns the seconds until the last is done.
double runOnAll(int threads, const std::function<void(int)> &work) {
  Clock::time_point start = Clock::now();
  std::vector<std::thread> team;
  for (int i = 1; i < threads; ++i)
    team.emplace_back(work, i);
  work(0);
  for (std::thread &thread : team)
    thread.join();
  return secondsSince(start);
}

/// Repeats until a quarter of a second has passed and returns the best rate seen.
double bestRate(const std::function<double()> &measure) {
  double best = 0;
  for (Clock::time_point start = Clock::now(); secondsSince(start) < 0.25;)
    best = std::max(best, measure());
  return best;
}

uint64_t sumOf(const uint64_t *words, size_t count) {
  uint64_t sums[8] = {};
  for (size_t i = 0; i + 8 <= count; i += 8)
    for (size_t lane = 0; lane < 8; ++lane)
      sums[lane] += words[i + lane];
  uint64_t total = 0;
  for (uint64_t sum : sums)
    total += sum;
  return total;
}

double readRate(int threads) {
  constexpr size_t words = size_t(8) << 20; // 64 MiB a thread: more than a core's share of the caches
  std::vector<std::vector<uint64_t>> memory(static_cast<size_t>(threads), std::vector<uint64_t>(words, 1));
  std::vector<uint64_t> sums(static_cast<size_t>(threads));
  return bestRate([&] {
    double seconds = runOnAll(threads, [&](int i) {
      auto slot = static_cast<size_t>(i);
      sums[slot] += sumOf(memory[slot].data(), words);
    });
    return double(threads) * words * sizeof(uint64_t) / seconds;
  });
}

constexpr int64_t fmaRounds = 1 << 20;
constexpr int64_t fmaChains = 12; // enough to hide the latency of one

/// Independent chains of multiply-adds on vectors of 16 (or 8) floats.
#define FUSEC_FMA_LOOP(NAME, TARGET, LANES)                                                                            \
  __attribute__((target(TARGET))) float NAME() {                                                                       \
    typedef float Vector __attribute__((vector_size(LANES * 4)));                                                      \
    Vector chains[fmaChains], factor = {};                                                                             \
    factor += 0.999f;                                                                                                  \
    for (Vector &chain : chains)                                                                                       \
      chain = factor;                                                                                                  \
    for (int64_t i = 0; i < fmaRounds; ++i)                                                                            \
      _Pragma("clang loop unroll(full)") for (Vector &chain : chains) chain = chain * factor + factor;                 \
    Vector sum = {};                                                                                                   \
    for (Vector &chain : chains)                                                                                       \
      sum += chain;                                                                                                    \
    return sum[0];                                                                                                     \
  }
_Pragma("clang fp contract(fast)") FUSEC_FMA_LOOP(fmaLoop512, "avx512f", 16) FUSEC_FMA_LOOP(fmaLoop256, "avx2,fma", 8)
#undef FUSEC_FMA_LOOP

    double fmaRate(int threads) {
  const bool wide = __builtin_cpu_supports("avx512f");
  std::vector<float> sink(static_cast<size_t>(threads));
  return bestRate([&] {
    double seconds =
        runOnAll(threads, [&](int i) { sink[static_cast<size_t>(i)] = wide ? fmaLoop512() : fmaLoop256(); });
    return double(threads) * fmaRounds * fmaChains * (wide ? 16 : 8) * 2 / seconds;
  });
}

} // namespace

MachineRates measureMachine(int threads) { return {readRate(threads), fmaRate(threads)}; }

} // namespace fusec
