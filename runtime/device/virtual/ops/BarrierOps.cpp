//===- BarrierOps.cpp - bar, barrier, membar, fence --------------------------===//

#include "runtime/device/virtual/exec/Block.h"
#include "runtime/device/virtual/exec/InstructionDecoder.h"
#include "runtime/device/virtual/ops/MemoryOps.h"
#include "runtime/device/virtual/ops/OpcodeTable.h"

namespace fusec::virtualgpu {
namespace {

/// Instr::flags: all threads of the warp must come together.
enum Flag : uint16_t { aligned = 1 };

uint32_t firstLane(Warp &warp, uint32_t slot) { return warp.lanes<uint32_t>(slot)[std::countr_zero(warp.mask)]; }

/// For aligned barriers: waits until the warp is together. False: not yet, or a fault.
bool together(Warp &warp, const Instr &instr) {
  if (!(instr.flags & aligned))
    return true;
  if (!warp.converged(warp.alive))
    return false;
  if (warp.mask == warp.alive)
    return true;
  warp.fault(FaultKind::BarrierMisuse, "only " + Warp::describeLanes(warp.mask) + " of " +
                                           Warp::describeLanes(warp.alive) + " execute this aligned barrier");
  return false;
}

/// src[0] = barrier, src[1] = thread count or none.
template <bool Wait> void runBarrier(Warp &warp, const Instr &instr) {
  if (!together(warp, instr))
    return;
  uint32_t threads = instr.src[1] == noSlot ? 0 : firstLane(warp, instr.src[1]);
  warp.block.barriers.arrive(warp, firstLane(warp, instr.src[0]), threads, Wait);
}

template <Barriers::Reduce Kind> void runReduceBarrier(Warp &warp, const Instr &instr) {
  if (!together(warp, instr))
    return;
  uint32_t threads = instr.src[1] == noSlot ? 0 : firstLane(warp, instr.src[1]);
  uint32_t values = LaneReader<bool>(warp, instr, 2).bits;
  warp.block.barriers.reduce(warp, firstLane(warp, instr.src[0]), threads, values, Kind, instr.dst[0]);
}

/// bar.warp.sync: src[0] = the lanes.
void runWarpSync(Warp &warp, const Instr &instr) {
  const uint32_t wanted = firstLane(warp, instr.src[0]), live = wanted & warp.alive;
  if ((warp.mask & ~wanted) != 0)
    return warp.fault(FaultKind::Divergence, "the member mask names " + Warp::describeLanes(wanted) + ", but " +
                                                 Warp::describeLanes(warp.mask) + " execute it");
  if (!warp.meet(wanted) || !warp.block.checker)
    return;
  Published all;
  warp.block.checker->clocks.publish(warp.firstThread(), live, all);
  warp.block.checker->clocks.acquire(warp.firstThread(), live, all);
}

void runFence(Warp &warp, const Instr &) {
  if (warp.block.checker)
    warp.block.checker->fence(warp);
}

Status decodeBarrierOperands(InstructionDecoder &d, size_t first, bool needsCount) {
  FUSEC_RETURN_IF_ERROR(d.source(first, 0, {4, false}));
  if (d.operandCount() > first + 1)
    return d.source(first + 1, 1, {4, false});
  return needsCount ? d.error("expected a thread count") : Status();
}

/// bar.* is barrier.*.aligned.
template <bool IsBar> Status decodeBarrier(InstructionDecoder &d) {
  d.take("cta");
  d.out.flags = d.take("aligned") || IsBar ? aligned : 0;
  int kind = d.takeOne({"sync", "arrive"});
  if (kind >= 0) {
    FUSEC_RETURN_IF_ERROR(d.finish());
    FUSEC_RETURN_IF_ERROR(d.expectOperands(1, 2));
    d.out.run = kind == 0 ? runBarrier<true> : runBarrier<false>;
    return decodeBarrierOperands(d, 0, kind == 1);
  }
  if (!d.take("red"))
    return d.error("expected .sync, .arrive or .red");
  int reduce = d.takeOne({"popc", "and", "or"});
  d.takeOne({"u32", "pred"});
  FUSEC_RETURN_IF_ERROR(d.finish());
  FUSEC_RETURN_IF_ERROR(d.expectOperands(3, 4));
  d.out.run = reduce == 0   ? runReduceBarrier<Barriers::Reduce::Popc>
              : reduce == 1 ? runReduceBarrier<Barriers::Reduce::And>
                            : runReduceBarrier<Barriers::Reduce::Or>;
  FUSEC_RETURN_IF_ERROR(d.destination(0, 0, {static_cast<uint8_t>(reduce == 0 ? 4 : 0), false}));
  FUSEC_RETURN_IF_ERROR(d.source(1, 0, {4, false}));
  if (d.operandCount() == 4)
    FUSEC_RETURN_IF_ERROR(d.source(2, 1, {4, false}));
  return d.source(d.operandCount() - 1, 2, {0, false});
}

Status decodeWarpSync(InstructionDecoder &d) {
  FUSEC_RETURN_IF_ERROR(d.finish());
  FUSEC_RETURN_IF_ERROR(d.expectOperands(1, 1));
  d.out.run = runWarpSync;
  return d.source(0, 0, {4, false});
}

Status decodeFence(InstructionDecoder &d) {
  takeMemoryHints(d);
  d.takeOne({"sc", "acq_rel", "gl"});
  FUSEC_RETURN_IF_ERROR(d.finish());
  d.out.run = runFence;
  return {};
}

} // namespace

void addBarrierOps(OpcodeTable &table) {
  table.root("bar", decodeBarrier<true>);
  table.root("barrier", decodeBarrier<false>);
  table.root("bar.warp.sync", decodeWarpSync);
  table.root("membar", decodeFence);
  table.root("fence", decodeFence);
}

} // namespace fusec::virtualgpu
