//===- MemoryAccess.cpp - addresses of 32 lanes to host memory ---------------===//

#include "runtime/device/virtual/exec/MemoryAccess.h"
#include "runtime/device/virtual/exec/Block.h"
#include "runtime/device/virtual/exec/TrafficCounters.h"

namespace fusec::virtualgpu {
namespace {

using ptx::Space;

std::string accessText(AccessKind kind, uint32_t bytes, const char *where) {
  return std::string(accessVerb(kind)) + " of " + std::to_string(bytes) + " bytes " + where;
}

/// Lanes whose [offset, offset + bytes) is not inside [0, size) or not aligned.
uint32_t badLanes(const uint64_t *offset, uint64_t size, uint32_t bytes, LaneAccess::Pattern pattern) {
  uint32_t bad = 0;
  if (pattern != LaneAccess::Pattern::Scattered) {
    const uint64_t end = pattern == LaneAccess::Pattern::Uniform ? bytes : uint64_t(bytes) * warpLanes;
    if (offset[0] < size && size - offset[0] >= end && (offset[0] & (bytes - 1)) == 0)
      return 0;
  }
  const uint64_t last = size >= bytes ? size - bytes : 0;
  for (int lane = 0; lane < warpLanes; ++lane)
    bad |= static_cast<uint32_t>(offset[lane] > last || (offset[lane] & (bytes - 1)) != 0) << lane;
  return size >= bytes ? bad : fullMask;
}

bool faultAlignment(Warp &warp, int lane, uint64_t at, uint32_t bytes, AccessKind kind) {
  if (at % bytes == 0)
    return false;
  warp.fault(FaultKind::Misaligned,
             accessText(kind, bytes, "at an address that is not a multiple of ") + std::to_string(bytes), lane, at);
  return true;
}

} // namespace

const char *accessVerb(AccessKind kind) {
  return !writesMemory(kind) ? "read" : readsMemory(kind) ? "atomic" : "write";
}

void LaneAccess::address(Warp &warp, const Instr &instr, int source) {
  const uint64_t offset = static_cast<uint64_t>(instr.immediate);
  if (instr.width == 4) {
    const uint32_t *from = warp.lanes<uint32_t>(instr.src[source]);
    for (int lane = 0; lane < warpLanes; ++lane)
      at[lane] = static_cast<uint32_t>(from[lane] + static_cast<uint32_t>(offset));
    return;
  }
  const uint64_t *from = warp.lanes<uint64_t>(instr.src[source]);
  for (int lane = 0; lane < warpLanes; ++lane)
    at[lane] = from[lane] + offset;
}

void LaneAccess::classify(uint32_t bytes) {
  pattern = Pattern::Scattered;
  if (mask != fullMask)
    return;
  uint64_t apart = 0, different = 0;
  for (int lane = 0; lane < warpLanes; ++lane) {
    apart |= at[lane] - (at[0] + static_cast<uint64_t>(lane) * bytes);
    different |= at[lane] - at[0];
  }
  pattern = apart == 0 ? Pattern::Adjacent : different == 0 ? Pattern::Uniform : Pattern::Scattered;
}

/// host = base + offset; of lanes that are off nothing is kept, except that a full warp needs no test.
void LaneAccess::setHosts(uint32_t lanes, uint8_t *base, const uint64_t *offset) {
  const uint64_t from = reinterpret_cast<uint64_t>(base);
  if (lanes == fullMask) {
    for (int lane = 0; lane < warpLanes; ++lane)
      host[lane] = reinterpret_cast<uint8_t *>(from + offset[lane]);
    return;
  }
  for (uint32_t m = lanes; m; m &= m - 1)
    host[std::countr_zero(m)] = base + offset[std::countr_zero(m)];
}

bool LaneAccess::resolve(Warp &warp, Space space, uint32_t bytes, AccessKind kind) {
  // A local address is another place in every lane, and a generic one may be.
  if (space != Space::Generic && space != Space::Local)
    classify(bytes);
  switch (space) {
  case Space::Shared:
    return resolveShared(warp, mask, bytes, kind);
  case Space::Local:
    return resolveLocal(warp, mask, bytes, kind);
  case Space::Param:
    return resolveParameter(warp, mask, bytes, kind);
  case Space::Generic:
    return resolveGeneric(warp, bytes, kind);
  default:
    return resolveGlobal(warp, mask, bytes, kind);
  }
}

uint32_t LaneAccess::checkedBytes(uint32_t bytes) {
  if (unusedBytes)
    pattern = Pattern::Scattered; // what is looked at is no longer one range
  return bytes - unusedBytes;
}

bool LaneAccess::resolveGlobal(Warp &warp, uint32_t lanes, uint32_t bytes, AccessKind kind) {
  DeviceMemory &memory = warp.block.grid.memory;
  alignas(64) uint64_t offset[warpLanes];
  for (int lane = 0; lane < warpLanes; ++lane)
    offset[lane] = at[lane] - deviceBase;
  uint32_t bad = badLanes(offset, static_cast<uint64_t>(memory.bytes()), bytes, pattern) & lanes;
  if (bad) {
    int lane = std::countr_zero(bad);
    if (!faultAlignment(warp, lane, at[lane], bytes, kind))
      warp.fault(FaultKind::WildAccess, accessText(kind, bytes, "outside the device's memory"), lane, at[lane]);
    return false;
  }
  uint8_t *base = memory.host(deviceBase);
  setHosts(lanes, base, offset);
  countGlobal(warp, *this, lanes, bytes, kind);
  BlockChecker *checker = warp.block.checker.get();
  return !checker || checker->global(warp, *this, lanes, checkedBytes(bytes), kind);
}

bool LaneAccess::resolveShared(Warp &warp, uint32_t lanes, uint32_t bytes, AccessKind kind) {
  std::vector<uint8_t> &shared = warp.block.shared;
  uint32_t bad = badLanes(at, shared.size(), bytes, pattern) & lanes;
  if (bad) {
    int lane = std::countr_zero(bad);
    if (!faultAlignment(warp, lane, at[lane], bytes, kind))
      warp.fault(FaultKind::OutOfBounds,
                 accessText(kind, bytes, "past the end of the block's ") + std::to_string(shared.size()) +
                     " bytes of shared memory",
                 lane, at[lane]);
    return false;
  }
  setHosts(lanes, shared.data(), at);
  countShared(warp, *this, lanes, bytes, kind);
  BlockChecker *checker = warp.block.checker.get();
  return !checker || checker->shared(warp, *this, lanes, checkedBytes(bytes), kind);
}

bool LaneAccess::resolveLocal(Warp &warp, uint32_t lanes, uint32_t bytes, AccessKind kind) {
  const uint64_t size = static_cast<uint64_t>(warp.program.localBytes);
  uint32_t bad = badLanes(at, size, bytes, pattern) & lanes;
  if (bad) {
    int lane = std::countr_zero(bad);
    if (!faultAlignment(warp, lane, at[lane], bytes, kind))
      warp.fault(FaultKind::OutOfBounds,
                 accessText(kind, bytes, "past the end of the thread's ") + std::to_string(size) +
                     " bytes of local memory",
                 lane, at[lane]);
    return false;
  }
  for (int lane = 0; lane < warpLanes; ++lane)
    if (lanes >> lane & 1)
      host[lane] = warp.block.localMemory(warp.firstThread() + static_cast<uint32_t>(lane)) + at[lane];
  BlockChecker *checker = warp.block.checker.get();
  return !checker || checker->local(warp, *this, lanes, checkedBytes(bytes), kind);
}

bool LaneAccess::resolveParameter(Warp &warp, uint32_t lanes, uint32_t bytes, AccessKind kind) {
  std::vector<uint8_t> &parameters = warp.block.grid.parameters;
  for (uint32_t m = lanes; m; m &= m - 1) {
    int lane = std::countr_zero(m);
    uint64_t offset = at[lane] - parameterBase;
    if (faultAlignment(warp, lane, at[lane], bytes, kind))
      return false;
    if (offset > parameters.size() || parameters.size() - offset < bytes || writesMemory(kind)) {
      warp.fault(FaultKind::OutOfBounds, accessText(kind, bytes, "outside the kernel's parameters"), lane, at[lane]);
      return false;
    }
    host[lane] = parameters.data() + offset;
  }
  return true;
}

/// Each lane's window decides; shared and local addresses become offsets.
bool LaneAccess::resolveGeneric(Warp &warp, uint32_t bytes, AccessKind kind) {
  uint32_t shared = 0, local = 0, parameter = 0;
  for (uint32_t m = mask; m; m &= m - 1) {
    int lane = std::countr_zero(m);
    uint32_t bit = 1u << lane;
    if (at[lane] - sharedBase < windowBytes)
      shared |= bit, at[lane] -= sharedBase;
    else if (at[lane] - localBase < windowBytes)
      local |= bit, at[lane] -= localBase;
    else if (at[lane] - parameterBase < windowBytes)
      parameter |= bit;
  }
  uint32_t global = mask & ~(shared | local | parameter);
  return (!global || resolveGlobal(warp, global, bytes, kind)) &&
         (!shared || resolveShared(warp, shared, bytes, kind)) && (!local || resolveLocal(warp, local, bytes, kind)) &&
         (!parameter || resolveParameter(warp, parameter, bytes, kind));
}

} // namespace fusec::virtualgpu
