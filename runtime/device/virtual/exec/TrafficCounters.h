//===- TrafficCounters.h - sectors and bank conflicts ------------------------===//
//
// A model of how a warp's access is served: global memory in sectors of 32
// bytes, shared memory in passes over 32 banks of 4 bytes. Accesses of 8 and 16
// bytes per lane take 2 and 4 passes, each for a half and a quarter of the warp.
//
// A sector that the warp asks for need not move: loads find it in the block's
// first-level cache when the block has loaded it before, and L2 merges stores to
// a sector that the block has stored to. Both are FirstLevelCache's. Strong
// accesses, atomics and copies that pass the cache by always move.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/virtual/exec/MemoryAccess.h"

namespace fusec::virtualgpu {

/// Adds one warp access to the counters of the running instruction.
void countGlobal(Warp &warp, const LaneAccess &access, uint32_t lanes, uint32_t bytes, AccessKind kind);
/// Adds `bytes` from `address` that one lane copies past the first-level cache.
void countBulk(Warp &warp, uint64_t address, uint32_t bytes);
void countShared(Warp &warp, const LaneAccess &access, uint32_t lanes, uint32_t bytes, AccessKind kind);

} // namespace fusec::virtualgpu
