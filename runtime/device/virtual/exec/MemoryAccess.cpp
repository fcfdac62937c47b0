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
uint32_t badLanes(const uint64_t *offset, uint64_t size, uint32_t bytes) {
  uint32_t bad = 0;
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

bool LaneAccess::adjacent(uint32_t bytes) const {
  uint64_t different = 0;
  for (int lane = 0; lane < warpLanes; ++lane)
    different |= at[lane] - (at[0] + static_cast<uint64_t>(lane) * bytes);
  return different == 0;
}

bool LaneAccess::contiguous(uint32_t bytes) const {
  if (mask != fullMask)
    return false;
  uint64_t different = 0;
  for (int lane = 0; lane < warpLanes; ++lane)
    different |= reinterpret_cast<uint64_t>(host[lane]) -
                 (reinterpret_cast<uint64_t>(host[0]) + static_cast<uint64_t>(lane) * bytes);
  return different == 0;
}

bool LaneAccess::resolve(Warp &warp, Space space, uint32_t bytes, AccessKind kind) {
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

bool LaneAccess::resolveGlobal(Warp &warp, uint32_t lanes, uint32_t bytes, AccessKind kind) {
  DeviceMemory &memory = warp.block.grid.memory;
  alignas(64) uint64_t offset[warpLanes];
  for (int lane = 0; lane < warpLanes; ++lane)
    offset[lane] = at[lane] - deviceBase;
  uint32_t bad = badLanes(offset, static_cast<uint64_t>(memory.bytes()), bytes) & lanes;
  if (bad) {
    int lane = std::countr_zero(bad);
    if (!faultAlignment(warp, lane, at[lane], bytes, kind))
      warp.fault(FaultKind::WildAccess, accessText(kind, bytes, "outside the device's memory"), lane, at[lane]);
    return false;
  }
  uint8_t *base = memory.host(deviceBase);
  for (int lane = 0; lane < warpLanes; ++lane)
    if (lanes >> lane & 1)
      host[lane] = base + offset[lane];
  countGlobal(warp, *this, lanes, bytes, kind);
  BlockChecker *checker = warp.block.checker.get();
  return !checker || checker->global(warp, *this, lanes, bytes, kind);
}

bool LaneAccess::resolveShared(Warp &warp, uint32_t lanes, uint32_t bytes, AccessKind kind) {
  std::vector<uint8_t> &shared = warp.block.shared;
  uint32_t bad = badLanes(at, shared.size(), bytes) & lanes;
  if (bad) {
    int lane = std::countr_zero(bad);
    if (!faultAlignment(warp, lane, at[lane], bytes, kind))
      warp.fault(FaultKind::OutOfBounds,
                 accessText(kind, bytes, "past the end of the block's ") + std::to_string(shared.size()) +
                     " bytes of shared memory",
                 lane, at[lane]);
    return false;
  }
  for (int lane = 0; lane < warpLanes; ++lane)
    if (lanes >> lane & 1)
      host[lane] = shared.data() + at[lane];
  countShared(warp, *this, lanes, bytes, kind);
  BlockChecker *checker = warp.block.checker.get();
  return !checker || checker->shared(warp, *this, lanes, bytes, kind);
}

bool LaneAccess::resolveLocal(Warp &warp, uint32_t lanes, uint32_t bytes, AccessKind kind) {
  const uint64_t size = static_cast<uint64_t>(warp.program.localBytes);
  uint32_t bad = badLanes(at, size, bytes) & lanes;
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
  return !checker || checker->local(warp, *this, lanes, bytes, kind);
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
