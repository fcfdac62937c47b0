//===- AsyncChecks.cpp - checks of the asynchronous engine of sm_90 ----------===//

#include "runtime/device/virtual/check/BlockChecker.h"
#include "runtime/device/virtual/exec/Block.h"

#include <cstring>

namespace fusec::virtualgpu {
namespace {

constexpr uint32_t wordBytes = 4, unitBytes = 16;

/// All 16 flags have the bits `wanted` of `looked`.
bool flagsAre(const uint8_t *flags, uint8_t looked, uint8_t wanted) {
  uint8_t different = 0;
  for (uint32_t i = 0; i < unitBytes; ++i)
    different |= static_cast<uint8_t>((flags[i] & looked) ^ wanted);
  return different == 0;
}

} // namespace

void BlockChecker::proxyFence(Warp &warp) {
  for (uint32_t m = warp.mask; m; m &= m - 1)
    clocks.proxyFence(warp.firstThread() + static_cast<uint32_t>(std::countr_zero(m)));
}

void BlockChecker::barrierLives(uint32_t at, bool lives) {
  std::memset(sharedFlags.data() + at, lives ? shadowBarrier : 0, 8);
}

bool BlockChecker::bulkStarts(Warp &warp, int lane, uint32_t to, uint64_t from, uint32_t bytes) {
  LaneAccess one(1u << lane);
  one.at[lane] = to;
  if (!shared(warp, one, one.mask, bytes, AccessKind::Write))
    return false;
  one.at[lane] = from;
  if (!global(warp, one, one.mask, bytes, AccessKind::Read))
    return false;
  copyStarts(to, bytes);
  return true;
}

void BlockChecker::bulkEnds(uint32_t to, uint32_t bytes, Published &barrier) {
  std::memset(sharedFlags.data() + to, shadowInitialised, bytes);
  const Epoch made = clocks.agentEpoch(15);
  for (uint32_t word = to / wordBytes; word * wordBytes < to + bytes; ++word)
    sharedWriter[word] = made;
  clocks.publishAgent(made, barrier);
}

bool BlockChecker::asyncRead(Warp &warp, uint32_t at) {
  const Access access{warp, 0, warp.firstThread(), unitBytes, AccessKind::Read, at};
  const uint8_t *flags = sharedFlags.data() + at;
  const bool lax = block.grid.settings.allowUninitialised;
  constexpr uint8_t busy = shadowInFlight | shadowBarrier;
  if (!flagsAre(flags, lax ? busy : busy | shadowInitialised, lax ? 0 : shadowInitialised))
    return reportFlags(access, flags, "shared memory");
  for (uint32_t word = at / wordBytes; word < (at + unitBytes) / wordBytes; ++word) {
    if (!sharedWord(access, word, 15))
      return false;
    const Epoch writer = sharedWriter[word];
    const uint32_t thread = epoch::thread(writer);
    if (writer == 0 || clocks.proxyKnows(access.thread, thread, epoch::tick(writer)))
      continue;
    warp.fault(FaultKind::AsyncHazard,
               "an asynchronous read of shared memory that thread " + std::to_string(thread) +
                   " stored without a fence.proxy.async after it",
               0, at);
    return false;
  }
  return true;
}

} // namespace fusec::virtualgpu
