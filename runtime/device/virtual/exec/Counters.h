//===- Counters.h - what a kernel did ----------------------------------------===//
#pragma once

#include <cstdint>

namespace fusec::virtualgpu {

/// Of one instruction of a program, over all warps of all launches since the last reset.
struct InstrCounters {
  uint64_t warps = 0;            ///< Warp instructions.
  uint64_t threads = 0;          ///< Thread instructions: lanes that executed it.
  uint64_t requests = 0;         ///< Global memory: warp accesses.
  uint64_t sectors = 0;          ///< 32-byte sectors those touch, repeats included.
  uint64_t movedSectors = 0;     ///< Of those, the ones that pass between the block and L2 (FirstLevelCache.h).
  uint64_t bytes = 0;            ///< Bytes the lanes ask for.
  uint64_t sharedWavefronts = 0; ///< Passes over the 32 banks of shared memory.
  uint64_t sharedIdeal = 0;      ///< The fewest possible for those bytes.
  uint64_t atomics = 0;          ///< Lanes that did an atomic.
  uint64_t mma = 0;              ///< Matrix instructions (one per warp).

  InstrCounters &operator+=(const InstrCounters &other) {
    warps += other.warps;
    threads += other.threads;
    requests += other.requests;
    sectors += other.sectors;
    movedSectors += other.movedSectors;
    bytes += other.bytes;
    sharedWavefronts += other.sharedWavefronts;
    sharedIdeal += other.sharedIdeal;
    atomics += other.atomics;
    mma += other.mma;
    return *this;
  }
};

} // namespace fusec::virtualgpu
