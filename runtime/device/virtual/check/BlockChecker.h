//===- BlockChecker.h - checks every access of a block -----------------------===//
//
// Called by LaneAccess::resolve() after bounds and alignment. Three questions
// per access: may these bytes be touched and are they initialised (byte flags),
// is a copy in flight there, and is the access ordered after the conflicting
// ones (one record of the last writer and of recent readers per word).
//
// What it can miss: a race with a reader older than those kept, and stores
// narrower than a word by threads that are not neighbours.
//
// Threading: one host thread per device in checked mode.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/virtual/check/Clocks.h"
#include "runtime/device/virtual/exec/MemoryAccess.h"
#include "runtime/device/virtual/memory/DeviceMemory.h"

#include <cstdint>
#include <vector>

namespace fusec::virtualgpu {

class Block;

class BlockChecker {
public:
  explicit BlockChecker(Block &block);
  /// A new block starts: shared and local memory are unwritten, clocks are zero.
  void reset();

  /// True when the lanes may do this; false after a fault.
  bool global(Warp &warp, const LaneAccess &access, uint32_t lanes, uint32_t bytes, AccessKind kind);
  bool shared(Warp &warp, const LaneAccess &access, uint32_t lanes, uint32_t bytes, AccessKind kind);
  bool local(Warp &warp, const LaneAccess &access, uint32_t lanes, uint32_t bytes, AccessKind kind);

  /// A copy into shared memory starts (its destination was checked as a write) and ends.
  void copyStarts(uint32_t to, uint32_t bytes);
  void copyEnds(uint32_t thread, uint32_t to, uint32_t bytes);
  void fence(Warp &warp);

  // --- the asynchronous engine of sm_90 (check/AsyncChecks.cpp) ---
  void proxyFence(Warp &warp);
  /// A bulk copy starts: its destination is written by the asking lane's thread as far as earlier accesses
  /// are concerned, and in flight from now on.
  bool bulkStarts(Warp &warp, int lane, uint32_t to, uint64_t from, uint32_t bytes);
  /// Its bytes are there, for those who acquire `barrier`.
  void bulkEnds(uint32_t to, uint32_t bytes, Published &barrier);
  /// The engine reads 16 bytes of shared memory for a thread of the warp (its lane 0).
  bool asyncRead(Warp &warp, uint32_t at);
  /// The 8 bytes of an mbarrier: no thread may touch them while it lives.
  void barrierLives(uint32_t at, bool lives);

  Clocks clocks;

private:
  struct Access {
    Warp &warp;
    int lane;
    uint32_t thread, bytes;
    AccessKind kind;
    uint64_t address; ///< As the kernel sees it.
  };
  bool globalFlags(Warp &warp, const LaneAccess &access, uint32_t lanes, uint32_t bytes, AccessKind kind);
  bool globalTogether(Warp &warp, const LaneAccess &access, uint32_t bytes, AccessKind kind);
  bool readQuietly(const Access &access, uint32_t first, uint32_t words, uint32_t mask);
  bool globalReadQuietly(const Access &access, GlobalCell *cell, uint32_t words, uint32_t mask);
  bool globalWord(const Access &access, GlobalCell &cell, uint32_t mask);
  bool sharedWord(const Access &access, uint32_t word, uint32_t mask);
  bool orderedAfter(const Access &access, Epoch other, uint32_t mask) const;
  bool orderedAfterForeign(const Access &access, uint32_t serial, Epoch other, uint32_t mask) const;
  void synchronizes(const Access &access, ReleasedAddresses &addresses);
  bool reportFlags(const Access &access, const uint8_t *flags, const char *space);
  bool reportRace(const Access &access, Epoch other, uint32_t mask, bool otherWrites);
  bool reportBlockRace(const Access &access, uint32_t serial, bool otherWrites);
  Epoch epochOf(const Access &access, uint32_t mask) const;

  Block &block;
  std::vector<uint8_t> sharedFlags, localFlags;
  std::vector<Epoch> sharedWriter, sharedReader, sharedReader2; ///< Per word.
  ReleasedAddresses sharedReleases;
};

} // namespace fusec::virtualgpu
