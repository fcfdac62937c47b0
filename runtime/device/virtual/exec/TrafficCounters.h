//===- TrafficCounters.h - sectors and bank conflicts ------------------------===//
//
// A model of how a warp's access is served: global memory in sectors of 32
// bytes, shared memory in passes over 32 banks of 4 bytes. Accesses of 8 and 16
// bytes per lane take 2 and 4 passes, each for a half and a quarter of the warp.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/virtual/exec/MemoryAccess.h"

namespace fusec::virtualgpu {

/// Adds one warp access to the counters of the running instruction.
void countGlobal(Warp &warp, const LaneAccess &access, uint32_t lanes, uint32_t bytes, AccessKind kind);
void countShared(Warp &warp, const LaneAccess &access, uint32_t lanes, uint32_t bytes, AccessKind kind);

} // namespace fusec::virtualgpu
