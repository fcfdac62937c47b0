//===- AsyncCopyOps.cpp - cp.async of sm_80 ----------------------------------===//

#include "runtime/device/virtual/exec/Block.h"
#include "runtime/device/virtual/exec/InstructionDecoder.h"
#include "runtime/device/virtual/exec/MemoryAccess.h"
#include "runtime/device/virtual/ops/OpcodeTable.h"

namespace fusec::virtualgpu {
namespace {

/// Instr::flags.
enum Flag : uint16_t { hasIgnorePredicate = 1, passesCache = 2 };

/// src: to, from, and the source's bytes or (hasIgnorePredicate) a predicate that ignores it. immediate: offset of
/// `to`; list: offset and register width of `from`, register width of `to`; count: bytes.
void runCopy(Warp &warp, const Instr &instr) {
  const uint32_t *list = warp.program.lists.data() + instr.list;
  LaneAccess to(warp.mask), from(warp.mask);
  Instr address = instr;
  address.width = static_cast<uint8_t>(list[2]);
  to.address(warp, address, 0);
  address.width = static_cast<uint8_t>(list[1]);
  address.immediate = static_cast<int32_t>(list[0]);
  from.address(warp, address, 1);
  uint32_t fromBytes[warpLanes], reading = 0;
  for (uint32_t m = warp.mask; m; m &= m - 1) {
    int lane = std::countr_zero(m);
    fromBytes[lane] = instr.count;
    if (instr.src[2] != noSlot)
      fromBytes[lane] = instr.flags & hasIgnorePredicate ? (warp.predicate(instr.src[2]) >> lane & 1 ? 0u : instr.count)
                                                         : warp.lanes<uint32_t>(instr.src[2])[lane];
    if (fromBytes[lane] > instr.count)
      return warp.fault(FaultKind::BadOperand,
                        "copies " + std::to_string(fromBytes[lane]) + " of " + std::to_string(instr.count) + " bytes",
                        lane);
    reading |= static_cast<uint32_t>(fromBytes[lane] != 0) << lane;
  }
  from.mask = reading;
  from.isCached = !(instr.flags & passesCache);
  if (!to.resolve(warp, ptx::Space::Shared, instr.count, AccessKind::Write) ||
      (reading && !from.resolve(warp, ptx::Space::Global, instr.count, AccessKind::Read)))
    return;
  for (uint32_t m = warp.mask; m; m &= m - 1) {
    int lane = std::countr_zero(m);
    AsyncCopies::Copy copy;
    copy.from = from.at[lane];
    copy.to = static_cast<uint32_t>(to.at[lane]);
    copy.bytes = static_cast<uint8_t>(instr.count);
    copy.fromBytes = static_cast<uint8_t>(fromBytes[lane]);
    warp.block.copies.issue(warp, lane, copy);
  }
}

void runCommit(Warp &warp, const Instr &) { warp.block.copies.commit(warp); }
void runWait(Warp &warp, const Instr &instr) {
  warp.block.copies.wait(warp, static_cast<uint32_t>(instr.immediate), false);
}
void runWaitAll(Warp &warp, const Instr &) { warp.block.copies.wait(warp, 0, true); }

/// Both addresses; each may be a 32- or a 64-bit register.
Status decodeAddresses(InstructionDecoder &d) {
  FUSEC_RETURN_IF_ERROR(d.address(1, 1));
  uint32_t fromOffset = static_cast<uint32_t>(d.out.immediate), fromWidth = d.out.width;
  FUSEC_RETURN_IF_ERROR(d.address(0, 0));
  d.out.list = d.addList({fromOffset, fromWidth, d.out.width});
  return {};
}

Status decodeCopy(InstructionDecoder &d) {
  bool whole = d.take("cg");
  if (!whole && !d.take("ca"))
    return d.error("expected .ca or .cg");
  if (!d.take("shared") && !d.take("shared::cta"))
    return d.error("expected .shared");
  if (!d.take("global"))
    return d.error("expected .global");
  d.takePrefixed("L2::");
  FUSEC_RETURN_IF_ERROR(d.finish());
  FUSEC_RETURN_IF_ERROR(d.expectOperands(3, 5));
  int64_t bytes = d.operand(2).integer;
  if (bytes != 16 && (whole || (bytes != 4 && bytes != 8)))
    return d.error("cannot copy " + std::to_string(bytes) + " bytes");
  FUSEC_RETURN_IF_ERROR(decodeAddresses(d));
  d.out.count = static_cast<uint16_t>(bytes);
  d.out.flags = whole ? passesCache : 0;
  d.out.run = runCopy;
  if (d.operandCount() < 4)
    return {};
  Result<InstructionDecoder::AnyRegister> any = d.anyRegister(d.operand(3));
  if (any && any->bytes == 8)
    return {}; // A cache policy.
  const bool ignores = any && any->bytes == 0;
  d.out.flags = static_cast<uint16_t>(d.out.flags | (ignores ? hasIgnorePredicate : 0));
  return d.source(3, 2, {static_cast<uint8_t>(ignores ? 0 : 4), false});
}

Status decodeWait(InstructionDecoder &d) {
  FUSEC_RETURN_IF_ERROR(d.finish());
  FUSEC_RETURN_IF_ERROR(d.expectOperands(1, 1));
  d.out.immediate = d.operand(0).integer;
  d.out.run = runWait;
  return {};
}

template <Handler Run> Status decodePlain(InstructionDecoder &d) {
  FUSEC_RETURN_IF_ERROR(d.finish());
  FUSEC_RETURN_IF_ERROR(d.expectOperands(0, 0));
  d.out.run = Run;
  return {};
}

} // namespace

void addAsyncCopyOps(OpcodeTable &table) {
  table.root("cp.async", decodeCopy);
  table.root("cp.async.commit_group", decodePlain<runCommit>);
  table.root("cp.async.wait_group", decodeWait);
  table.root("cp.async.wait_all", decodePlain<runWaitAll>);
}

} // namespace fusec::virtualgpu
