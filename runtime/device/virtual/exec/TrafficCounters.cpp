//===- TrafficCounters.cpp - sectors and bank conflicts ----------------------===//

#include "runtime/device/virtual/exec/TrafficCounters.h"
#include "runtime/device/virtual/exec/Block.h"

#include <algorithm>

namespace fusec::virtualgpu {
namespace {

constexpr uint64_t sectorBytes = FirstLevelCache::sectorBytes;
constexpr uint32_t banks = 32, bankBytes = 4;

void countBytes(InstrCounters &counters, uint32_t lanes, uint32_t bytes, AccessKind kind) {
  const uint64_t active = static_cast<uint64_t>(std::popcount(lanes));
  counters.bytes += active * bytes;
  if (kind == AccessKind::Atomic || kind == AccessKind::AtomicRelease)
    counters.atomics += active;
}

/// Lanes of 16 bytes touch at most one sector each.
struct Sectors {
  uint64_t at[warpLanes];
  uint64_t count = 0;
};

/// Different sectors the lanes touch; neighbours usually repeat the previous one.
Sectors sectorsOf(const LaneAccess &access, uint32_t lanes, uint32_t bytes) {
  Sectors seen;
  if (access.pattern == LaneAccess::Pattern::Adjacent) {
    const uint64_t first = access.at[0] / sectorBytes, last = (access.at[31] + bytes - 1) / sectorBytes;
    for (uint64_t sector = first; sector <= last; ++sector)
      seen.at[seen.count++] = sector;
    return seen;
  }
  if (access.pattern == LaneAccess::Pattern::Uniform)
    lanes = 1;
  for (uint32_t m = lanes; m; m &= m - 1) {
    const uint64_t sector = access.at[std::countr_zero(m)] / sectorBytes;
    bool known = false;
    for (uint64_t i = seen.count; i > 0 && !known; --i)
      known = seen.at[i - 1] == sector;
    if (!known)
      seen.at[seen.count++] = sector;
  }
  return seen;
}

/// How many of them move.
uint64_t movedOf(Warp &warp, const Sectors &sectors, AccessKind kind, bool isCached) {
  if (isStrong(kind) || !isCached)
    return sectors.count;
  FirstLevelCache &cache = writesMemory(kind) ? warp.block.stores : warp.block.loads;
  uint64_t moved = 0;
  for (uint64_t i = 0; i < sectors.count; ++i)
    moved += cache.add(sectors.at[i]);
  return moved;
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
  const Sectors sectors = sectorsOf(access, lanes, bytes);
  counters.sectors += sectors.count;
  counters.movedSectors += movedOf(warp, sectors, kind, access.isCached);
}

void countBulk(Warp &warp, uint64_t address, uint32_t bytes) {
  InstrCounters &counters = warp.counters();
  ++counters.requests;
  counters.bytes += bytes;
  const uint64_t sectors = (address + bytes + sectorBytes - 1) / sectorBytes - address / sectorBytes;
  counters.sectors += sectors;
  counters.movedSectors += sectors;
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
