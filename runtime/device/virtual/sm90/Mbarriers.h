//===- Mbarriers.h - the mbarriers of a block --------------------------------===//
//
// Barriers that live in shared memory: a phase completes when all expected
// threads have arrived and all announced bytes were copied. Their state is kept
// here; the 8 bytes in shared memory mean nothing to a kernel.
//
// Errors: use before init (or before it is visible), init of a live barrier, more arrivals than expected,
// a wait for a phase that is two ahead or behind.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/virtual/check/Clocks.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace fusec::virtualgpu {

class Warp;

class Mbarriers {
public:
  void reset() { barriers.clear(); }
  void init(Warp &warp, int lane, uint32_t at, uint32_t arrivals);
  void invalidate(Warp &warp, int lane, uint32_t at);
  /// One thread arrives `count` times, after announcing `bytes`.
  void arrive(Warp &warp, int lane, uint32_t at, uint32_t count, int64_t bytes);
  void expect(Warp &warp, int lane, uint32_t at, int64_t bytes);
  /// A copy delivered bytes to `to`.
  void deliver(Warp &warp, int lane, uint32_t at, int64_t bytes, uint32_t to);
  /// True when the phase of this parity is complete; the thread then comes after its arrivals.
  bool isComplete(Warp &warp, int lane, uint32_t at, uint32_t parity);
  bool isLive(uint32_t at) const { return barriers.count(at) != 0; }
  /// "mbarrier at 64: phase 3, 1 of 128 arrivals and 2048 bytes missing" for those that somebody may wait for.
  std::string describe() const;

private:
  struct Barrier {
    uint32_t expected = 0, missing = 0;
    int64_t bytes = 0; ///< Announced and not delivered; negative: delivered before they were announced.
    uint32_t phase = 0;
    uint32_t initThread = 0, initTick = 0; ///< Checked mode: who initialised it, and when.
    Published arrived;                     ///< Checked mode: what came before this phase's arrivals.
    Published completed;                   ///< Checked mode: what those who see the last phase come after.
  };
  bool checkInitialised(Warp &warp, int lane, uint32_t at, const Barrier &barrier);
  Barrier *find(Warp &warp, int lane, uint32_t at);
  static void completeIfFull(Barrier &barrier);

  std::map<uint32_t, Barrier> barriers; ///< By offset in shared memory.
};

} // namespace fusec::virtualgpu
