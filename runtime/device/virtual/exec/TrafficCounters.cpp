//===- TrafficCounters.cpp - sectors and bank conflicts ----------------------===//

#include "runtime/device/virtual/exec/TrafficCounters.h"

#include <algorithm>

namespace fusec::virtualgpu {
namespace {

constexpr uint64_t sectorBytes = 32;
constexpr uint32_t banks = 32, bankBytes = 4;

void countBytes(InstrCounters &counters, uint32_t lanes, uint32_t bytes, AccessKind kind) {
  const uint64_t active = static_cast<uint64_t>(std::popcount(lanes));
  counters.bytes += active * bytes;
  if (kind == AccessKind::Atomic || kind == AccessKind::AtomicRelease)
    counters.atomics += active;
}

/// Different sectors the lanes touch; neighbours usually repeat the previous one.
uint64_t distinctSectors(const LaneAccess &access, uint32_t lanes) {
  uint64_t seen[warpLanes];
  uint64_t count = 0;
  for (uint32_t m = lanes; m; m &= m - 1) {
    const uint64_t sector = access.at[std::countr_zero(m)] / sectorBytes;
    bool known = false;
    for (uint64_t i = count; i > 0 && !known; --i)
      known = seen[i - 1] == sector;
    if (!known)
      seen[count++] = sector;
  }
  return count;
}

/// Passes one phase takes: the most different units that fall into one bank group. A unit is the lane's
/// bytes (at least a bank); lanes with the same unit share a pass.
uint32_t phasePasses(const uint64_t *units, uint32_t count, uint32_t groups) {
  uint64_t used = 0;
  for (uint32_t i = 0; i < count; ++i)
    used |= uint64_t(1) << (units[i] & (groups - 1));
  if (static_cast<uint32_t>(std::popcount(used)) == count)
    return 1;
  uint32_t perGroup[banks] = {}, worst = 0;
  for (uint32_t i = 0; i < count; ++i) {
    bool known = false;
    for (uint32_t j = 0; j < i && !known; ++j)
      known = units[j] == units[i];
    if (!known)
      worst = std::max(worst, ++perGroup[units[i] & (groups - 1)]);
  }
  return worst;
}

} // namespace

void countGlobal(Warp &warp, const LaneAccess &access, uint32_t lanes, uint32_t bytes, AccessKind kind) {
  InstrCounters &counters = warp.counters();
  ++counters.requests;
  countBytes(counters, lanes, bytes, kind);
  if (access.pattern == LaneAccess::Pattern::Adjacent)
    counters.sectors += (access.at[31] + bytes - 1) / sectorBytes - access.at[0] / sectorBytes + 1;
  else if (access.pattern == LaneAccess::Pattern::Uniform)
    ++counters.sectors;
  else
    counters.sectors += distinctSectors(access, lanes);
}

void countShared(Warp &warp, const LaneAccess &access, uint32_t lanes, uint32_t bytes, AccessKind kind) {
  InstrCounters &counters = warp.counters();
  countBytes(counters, lanes, bytes, kind);
  const uint32_t unit = std::max(bytes, bankBytes), perPhase = banks * bankBytes / unit;
  if (access.pattern != LaneAccess::Pattern::Scattered) { // No conflicts; every phase has its lanes.
    counters.sharedWavefronts += warpLanes / perPhase;
    counters.sharedIdeal += warpLanes / perPhase;
    return;
  }
  for (uint32_t first = 0; first < warpLanes; first += perPhase) {
    uint64_t units[warpLanes];
    uint32_t count = 0;
    for (uint32_t lane = first; lane < first + perPhase; ++lane)
      if (lanes >> lane & 1)
        units[count++] = access.at[lane] / unit;
    if (count == 0)
      continue;
    counters.sharedWavefronts += phasePasses(units, count, perPhase);
    ++counters.sharedIdeal;
  }
}

} // namespace fusec::virtualgpu
