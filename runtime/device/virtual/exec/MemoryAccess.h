//===- MemoryAccess.h - addresses of 32 lanes to host memory -----------------===//
//
// Every load, store, atomic and copy goes through resolve(), which finds the
// memory behind each lane's address, checks bounds and alignment, asks the
// checker, and counts.
//
//   LaneAccess access(warp.mask);
//   access.address(warp, instr, 0);
//   if (!access.resolve(warp, Space::Global, 4, AccessKind::Read))
//     return;  // A fault is reported.
//   ... access.host[lane] ...
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/virtual/exec/Warp.h"

#include <cstdint>

namespace fusec::virtualgpu {

enum class AccessKind : uint8_t {
  Read,
  Write,
  StrongRead,    ///< volatile, relaxed, acquire
  StrongWrite,   ///< volatile, relaxed
  ReleaseWrite,  ///< st.release
  Atomic,        ///< atom, red: relaxed
  AtomicRelease, ///< .release, .acq_rel
};
constexpr bool readsMemory(AccessKind kind) {
  return kind != AccessKind::Write && kind != AccessKind::StrongWrite && kind != AccessKind::ReleaseWrite;
}
constexpr bool writesMemory(AccessKind kind) { return kind != AccessKind::Read && kind != AccessKind::StrongRead; }
/// Never races with another strong access.
constexpr bool isStrong(AccessKind kind) { return kind >= AccessKind::StrongRead; }
constexpr bool releases(AccessKind kind) {
  return kind == AccessKind::ReleaseWrite || kind == AccessKind::AtomicRelease;
}
/// "read", "write" or "atomic".
const char *accessVerb(AccessKind kind);

struct LaneAccess {
  explicit LaneAccess(uint32_t mask) : mask(mask) {}

  /// How the addresses of a full warp lie; known after resolve(). Scattered when lanes are off.
  enum class Pattern : uint8_t { Scattered, Adjacent, Uniform };

  uint32_t mask;
  Pattern pattern = Pattern::Scattered;
  bool isCached = true;     ///< False where the access passes the first-level cache by.
  uint32_t unusedBytes = 0; ///< Of each lane's load: high bytes that nobody looks at, so that they are not checked.
  alignas(64) uint64_t at[warpLanes];
  alignas(64) uint8_t *host[warpLanes];

  /// at = the 32- or 64-bit register src[source] plus the instruction's offset.
  void address(Warp &warp, const Instr &instr, int source);
  /// Fills `host` for the lanes of the mask; `bytes` <= 16, a power of two. False after a fault.
  bool resolve(Warp &warp, ptx::Space space, uint32_t bytes, AccessKind kind);

private:
  /// What the checker looks at, of `bytes` per lane.
  uint32_t checkedBytes(uint32_t bytes);
  void classify(uint32_t bytes);
  void setHosts(uint32_t lanes, uint8_t *base, const uint64_t *offset);
  bool resolveGlobal(Warp &warp, uint32_t lanes, uint32_t bytes, AccessKind kind);
  bool resolveShared(Warp &warp, uint32_t lanes, uint32_t bytes, AccessKind kind);
  bool resolveLocal(Warp &warp, uint32_t lanes, uint32_t bytes, AccessKind kind);
  bool resolveParameter(Warp &warp, uint32_t lanes, uint32_t bytes, AccessKind kind);
  bool resolveGeneric(Warp &warp, uint32_t bytes, AccessKind kind);
};

} // namespace fusec::virtualgpu
