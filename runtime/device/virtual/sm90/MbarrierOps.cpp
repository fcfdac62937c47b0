//===- MbarrierOps.cpp - mbarrier, proxy fences, setmaxnreg ------------------===//

#include "runtime/device/virtual/exec/Block.h"
#include "runtime/device/virtual/exec/InstructionDecoder.h"
#include "runtime/device/virtual/ops/MemoryOps.h"
#include "runtime/device/virtual/ops/OpcodeTable.h"

namespace fusec::virtualgpu {
namespace {

/// f(lane, offset in shared memory) for the lanes of the mask; src[0] is the address.
template <typename F> void forBarriers(Warp &warp, const Instr &instr, F f) {
  for (uint32_t m = warp.mask; m && !warp.faulted(); m &= m - 1) {
    const int lane = std::countr_zero(m);
    const uint64_t at = instr.width == 4 ? warp.lanes<uint32_t>(instr.src[0])[lane]
                                         : warp.lanes<uint64_t>(instr.src[0])[lane] - sharedBase;
    f(lane, static_cast<uint32_t>(at + static_cast<uint64_t>(instr.immediate)));
  }
}

uint32_t valueOf(Warp &warp, const Instr &instr, int source, int lane, uint32_t otherwise) {
  return instr.src[source] == noSlot ? otherwise : warp.lanes<uint32_t>(instr.src[source])[lane];
}

/// src[1] = count.
void runInit(Warp &warp, const Instr &instr) {
  forBarriers(warp, instr, [&](int lane, uint32_t at) {
    warp.block.mbarriers.init(warp, lane, at, valueOf(warp, instr, 1, lane, 1));
  });
}
void runInvalidate(Warp &warp, const Instr &instr) {
  forBarriers(warp, instr, [&](int lane, uint32_t at) { warp.block.mbarriers.invalidate(warp, lane, at); });
}
/// src[1] = count or none.
void runArrive(Warp &warp, const Instr &instr) {
  forBarriers(warp, instr, [&](int lane, uint32_t at) {
    warp.block.mbarriers.arrive(warp, lane, at, valueOf(warp, instr, 1, lane, 1), 0);
  });
}
/// src[1] = bytes.
void runArriveExpecting(Warp &warp, const Instr &instr) {
  forBarriers(warp, instr, [&](int lane, uint32_t at) {
    warp.block.mbarriers.arrive(warp, lane, at, 1, valueOf(warp, instr, 1, lane, 0));
  });
}
void runExpect(Warp &warp, const Instr &instr) {
  forBarriers(warp, instr, [&](int lane, uint32_t at) {
    warp.block.mbarriers.expect(warp, lane, at, valueOf(warp, instr, 1, lane, 0));
  });
}

/// src[1] = parity. A potentially blocking wait lets the others act until the phase is complete.
template <bool Blocks> void runWait(Warp &warp, const Instr &instr) {
  uint32_t complete = 0;
  forBarriers(warp, instr, [&](int lane, uint32_t at) {
    const uint32_t parity = valueOf(warp, instr, 1, lane, 0);
    Mbarriers &barriers = warp.block.mbarriers;
    bool done = barriers.isComplete(warp, lane, at, parity);
    if (!done && !warp.faulted() && warp.block.bulkCopies.finish(warp, at))
      done = barriers.isComplete(warp, lane, at, parity);
    complete |= static_cast<uint32_t>(done) << lane;
  });
  if (warp.faulted())
    return;
  if (Blocks && complete != warp.mask)
    return warp.poll();
  uint32_t &to = warp.predicate(instr.dst[0]);
  to = (to & ~warp.mask) | complete;
}

/// All four warps of a warpgroup execute it; how many registers a thread has is not modelled.
void runSetRegisters(Warp &warp, const Instr &instr) {
  if (!warp.converged(warp.alive))
    return;
  const int64_t registers = warp.lanes<uint32_t>(instr.src[0])[std::countr_zero(warp.mask)];
  if (registers < 24 || registers > 256 || registers % 8 != 0)
    warp.fault(FaultKind::BadOperand,
               "setmaxnreg to " + std::to_string(registers) + " registers: expected a multiple of 8 from 24 to 256");
}

void runInitFence(Warp &, const Instr &) {}
void runProxyFence(Warp &warp, const Instr &) {
  if (warp.block.checker)
    warp.block.checker->proxyFence(warp);
}

/// The space and the type, which are always the same.
void takeFixed(InstructionDecoder &d) {
  takeSpace(d);
  takeMemoryHints(d);
  d.take("b64");
}

template <Handler Run, bool NeedsValue> Status decodeOnBarrier(InstructionDecoder &d) {
  takeFixed(d);
  FUSEC_RETURN_IF_ERROR(d.finish());
  FUSEC_RETURN_IF_ERROR(d.expectOperands(NeedsValue ? 2 : 1, 2));
  d.out.run = Run;
  FUSEC_RETURN_IF_ERROR(d.address(0, 0));
  return d.operandCount() > 1 ? d.source(1, 1, {4, false}) : Status();
}

/// mbarrier.arrive[.expect_tx] state, [barrier] {, value}; the state is not kept.
Status decodeArrive(InstructionDecoder &d) {
  const bool expects = d.take("expect_tx");
  takeFixed(d);
  FUSEC_RETURN_IF_ERROR(d.finish());
  FUSEC_RETURN_IF_ERROR(d.expectOperands(expects ? 3 : 2, 3));
  FUSEC_ASSIGN_OR_RETURN(uint32_t state, d.destinationSlot(d.operand(0), {8, false}));
  if (state != noSlot)
    return d.error("a state that is kept; only _ is supported");
  d.out.run = expects ? runArriveExpecting : runArrive;
  FUSEC_RETURN_IF_ERROR(d.address(1, 0));
  return d.operandCount() > 2 ? d.source(2, 1, {4, false}) : Status();
}

template <bool Blocks> Status decodeWait(InstructionDecoder &d) {
  if (!d.take("parity"))
    return d.error("expected .parity; waits on a state are not supported");
  takeFixed(d);
  FUSEC_RETURN_IF_ERROR(d.finish());
  FUSEC_RETURN_IF_ERROR(d.expectOperands(3, 4));
  d.out.run = runWait<Blocks>;
  FUSEC_RETURN_IF_ERROR(d.destination(0, 0, {0, false}));
  FUSEC_RETURN_IF_ERROR(d.address(1, 0));
  return d.source(2, 1, {4, false});
}

Status decodeSetRegisters(InstructionDecoder &d) {
  d.takeOne({"inc", "dec"});
  d.take("sync");
  d.take("aligned");
  d.take("u32");
  FUSEC_RETURN_IF_ERROR(d.finish());
  FUSEC_RETURN_IF_ERROR(d.expectOperands(1, 1));
  d.out.run = runSetRegisters;
  return d.source(0, 0, {4, false});
}

template <Handler Run> Status decodeFence(InstructionDecoder &d) {
  d.takeOne({"async"});
  takeSpace(d);
  takeMemoryHints(d);
  FUSEC_RETURN_IF_ERROR(d.finish());
  d.out.run = Run;
  return {};
}

} // namespace

void addMbarrierOps(OpcodeTable &table) {
  table.root("mbarrier.init", decodeOnBarrier<runInit, true>);
  table.root("mbarrier.inval", decodeOnBarrier<runInvalidate, false>);
  table.root("mbarrier.expect_tx", decodeOnBarrier<runExpect, true>);
  table.root("mbarrier.arrive", decodeArrive);
  table.root("mbarrier.try_wait", decodeWait<true>);
  table.root("mbarrier.test_wait", decodeWait<false>);
  table.root("setmaxnreg", decodeSetRegisters);
  table.root("fence.proxy", decodeFence<runProxyFence>);
  table.root("fence.mbarrier_init", decodeFence<runInitFence>);
}

} // namespace fusec::virtualgpu
