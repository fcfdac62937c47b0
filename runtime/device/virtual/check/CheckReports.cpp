//===- CheckReports.cpp - what the checker says ------------------------------===//

#include "runtime/device/virtual/check/BlockChecker.h"
#include "runtime/device/virtual/exec/Block.h"

namespace fusec::virtualgpu {
namespace {

std::string describe(AccessKind kind, uint32_t bytes) {
  return std::string(accessVerb(kind)) + " of " + std::to_string(bytes) + " bytes";
}

std::string threadText(const Block &block, uint32_t thread) {
  const uint32_t *size = block.grid.blockSize;
  return std::to_string(thread % size[0]) + "," + std::to_string(thread / size[0] % size[1]) + "," +
         std::to_string(thread / size[0] / size[1]);
}

} // namespace

bool BlockChecker::reportFlags(const Access &access, const uint8_t *flags, const char *space) {
  const bool device = std::string_view(space) == "device memory";
  std::string what = describe(access.kind, access.bytes);
  for (uint32_t i = 0; i < access.bytes; ++i) {
    const uint8_t flag = flags[i];
    if (flag & shadowInFlight) {
      access.warp.fault(FaultKind::AsyncHazard,
                        what + " of " + space + " that a copy nobody waited for is still writing" +
                            block.copies.describe(static_cast<uint32_t>(access.address) + i),
                        access.lane, access.address);
      return false;
    }
    if (flag & shadowBarrier) {
      access.warp.fault(FaultKind::BarrierMisuse, what + " of an mbarrier that is in use", access.lane, access.address);
      return false;
    }
    if (device && !(flag & shadowValid)) {
      access.warp.fault(FaultKind::OutOfBounds, what + " of " + space + " outside any buffer", access.lane,
                        access.address);
      return false;
    }
    if (!(flag & shadowInitialised) && readsMemory(access.kind)) {
      access.warp.fault(FaultKind::Uninitialised,
                        what + " of " + space + "; byte " + std::to_string(i) + " was never written" +
                            block.sharedOwner(access.address, device),
                        access.lane, access.address);
      return false;
    }
  }
  return true;
}

bool BlockChecker::reportRace(const Access &access, Epoch other, uint32_t mask, bool otherWrites) {
  if (clocks.isAgent(epoch::thread(other))) {
    access.warp.fault(FaultKind::RaceInBlock,
                      describe(access.kind, access.bytes) +
                          " that a bulk copy wrote, without a wait for the mbarrier it reports to",
                      access.lane, access.address);
    return false;
  }
  uint32_t thread = epoch::thread(other);
  for (uint32_t m = mask & epoch::mask(other); m; m &= m - 1) {
    uint32_t candidate = epoch::threadOfByte(other, static_cast<uint32_t>(std::countr_zero(m)));
    if (!clocks.knows(access.thread, candidate, epoch::tick(other)))
      thread = candidate;
  }
  access.warp.fault(FaultKind::RaceInBlock,
                    describe(access.kind, access.bytes) + " that thread " + threadText(block, thread) +
                        (otherWrites ? " wrote" : " read") + ", with no barrier between the two",
                    access.lane, access.address);
  return false;
}

bool BlockChecker::reportBlockRace(const Access &access, uint32_t serial, bool otherWrites) {
  const uint32_t number = serial - block.grid.firstSerial;
  access.warp.fault(FaultKind::RaceBetweenBlocks,
                    describe(access.kind, access.bytes) + " that block number " + std::to_string(number) +
                        " of this launch " + (otherWrites ? "wrote" : "read") + "; blocks are not ordered",
                    access.lane, access.address);
  return false;
}

} // namespace fusec::virtualgpu
