//===- BulkCopyOps.cpp - cp.async.bulk ---------------------------------------===//

#include "runtime/device/virtual/exec/Block.h"
#include "runtime/device/virtual/exec/InstructionDecoder.h"
#include "runtime/device/virtual/exec/TrafficCounters.h"
#include "runtime/device/virtual/ops/MemoryOps.h"
#include "runtime/device/virtual/ops/OpcodeTable.h"

namespace fusec::virtualgpu {
namespace {

uint64_t pointerAt(Warp &warp, uint32_t slot, uint32_t slotIsNarrow, int lane) {
  return slotIsNarrow ? warp.lanes<uint32_t>(slot)[lane] : warp.lanes<uint64_t>(slot)[lane];
}

/// A shared address as an offset: 32-bit ones are offsets, 64-bit ones lie in the window.
uint64_t sharedOffset(uint64_t at, bool isNarrow) { return isNarrow ? at : at - sharedBase; }

/// src = destination, source, bytes, mbarrier; flags bit i: address i is 32 bits wide (0 destination, 1 mbarrier).
void runCopy(Warp &warp, const Instr &instr) {
  for (uint32_t m = warp.mask; m && !warp.faulted(); m &= m - 1) {
    const int lane = std::countr_zero(m);
    const uint64_t to = sharedOffset(pointerAt(warp, instr.src[0], instr.flags & 1, lane), instr.flags & 1);
    const uint64_t barrier = sharedOffset(pointerAt(warp, instr.src[3], instr.flags & 2, lane), instr.flags & 2);
    const uint64_t from = warp.lanes<uint64_t>(instr.src[1])[lane];
    const uint32_t bytes = warp.lanes<uint32_t>(instr.src[2])[lane];
    const std::string what = "bulk copy of " + std::to_string(bytes) + " bytes ";
    if (bytes % 16 != 0 || bytes == 0)
      return warp.fault(FaultKind::BadOperand, what + ": expected a multiple of 16", lane, from);
    if (to % 16 != 0 || from % 16 != 0)
      return warp.fault(FaultKind::Misaligned, what + "between addresses that are not multiples of 16", lane, from);
    if (to > warp.block.shared.size() || warp.block.shared.size() - to < bytes)
      return warp.fault(FaultKind::OutOfBounds, what + "past the end of the block's shared memory", lane, to);
    if (!warp.block.grid.memory.contains(from, bytes))
      return warp.fault(FaultKind::WildAccess, what + "from outside the device's memory", lane, from);
    countBulk(warp, from, bytes);
    warp.block.bulkCopies.issue(warp, {from, static_cast<uint32_t>(to), bytes, static_cast<uint32_t>(barrier), lane});
  }
}

/// [shared], [global], bytes, [mbarrier]
Status decodeBulkCopy(InstructionDecoder &d) {
  for (const char *word : {"shared::cluster", "shared::cta", "global", "mbarrier::complete_tx::bytes"})
    d.take(word);
  FUSEC_RETURN_IF_ERROR(d.finish());
  FUSEC_RETURN_IF_ERROR(d.expectOperands(4, 4));
  d.out.run = runCopy;
  uint16_t narrow = 0;
  const size_t order[] = {3, 1, 0};
  const int slots[] = {3, 1, 0};
  for (int i = 0; i < 3; ++i) {
    d.out.width = 0;
    FUSEC_RETURN_IF_ERROR(d.address(order[i], slots[i]));
    if (d.out.immediate != 0)
      return d.error("an address with an offset");
    if (d.out.width == 4)
      narrow |= order[i] == 3 ? 2 : order[i] == 0 ? 1 : 4;
  }
  if (narrow & 4)
    return d.error("a 32-bit global address");
  d.out.flags = narrow;
  return d.source(2, 2, {4, false});
}

} // namespace

void addBulkCopyOps(OpcodeTable &table) { table.root("cp.async.bulk", decodeBulkCopy); }

} // namespace fusec::virtualgpu
