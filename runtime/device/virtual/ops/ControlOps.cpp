//===- ControlOps.cpp - branches, exit, trap ---------------------------------===//

#include "runtime/device/virtual/exec/Block.h"
#include "runtime/device/virtual/exec/FunctionDecoder.h"
#include "runtime/device/virtual/exec/InstructionDecoder.h"
#include "runtime/device/virtual/ops/Control.h"
#include "runtime/device/virtual/ops/OpcodeTable.h"

namespace fusec::virtualgpu {
namespace {

void runBranch(Warp &warp, const Instr &instr) { warp.jump(warp.mask, static_cast<uint32_t>(instr.immediate)); }

/// brx.idx: each lane chooses a label of the table.
void runIndexedBranch(Warp &warp, const Instr &instr) {
  const uint32_t *index = warp.lanes<uint32_t>(instr.src[0]);
  uint32_t left = warp.mask;
  while (left) {
    uint32_t chosen = index[std::countr_zero(left)], same = 0;
    if (chosen >= instr.count)
      return warp.fault(FaultKind::BadOperand,
                        "branch index " + std::to_string(chosen) + " of a table of " + std::to_string(instr.count));
    for (uint32_t m = left; m; m &= m - 1)
      if (index[std::countr_zero(m)] == chosen)
        same |= 1u << std::countr_zero(m);
    left &= ~same;
    warp.jump(same, warp.program.lists[instr.list + chosen]);
  }
}

void runExit(Warp &warp, const Instr &) { warp.exit(); }

void runTrap(Warp &warp, const Instr &) { warp.fault(FaultKind::Trap, "the kernel executed a trap"); }

/// The text at a device address, as far as it is readable.
std::string textAt(const DeviceMemory &memory, uint64_t at) {
  std::string text;
  while (memory.contains(at, 1) && *memory.host(at) && text.size() < 400)
    text += static_cast<char>(*memory.host(at++));
  return text;
}

void runAssert(Warp &warp, const Instr &instr) {
  std::string message;
  if (instr.src[0] != noSlot)
    message = textAt(warp.block.grid.memory, warp.lanes<uint64_t>(instr.src[0])[std::countr_zero(warp.mask)]);
  warp.fault(FaultKind::Trap, "assertion failed: " + message);
}

void runNothing(Warp &, const Instr &) {}

Status decodeBranch(InstructionDecoder &d) {
  d.take("uni");
  FUSEC_RETURN_IF_ERROR(d.finish());
  FUSEC_RETURN_IF_ERROR(d.expectOperands(1, 1));
  FUSEC_RETURN_IF_ERROR(d.labelTarget(0));
  d.out.run = runBranch;
  return {};
}

Status decodeIndexedBranch(InstructionDecoder &d) {
  d.take("uni");
  FUSEC_RETURN_IF_ERROR(d.finish());
  FUSEC_RETURN_IF_ERROR(d.expectOperands(2, 2));
  FUSEC_RETURN_IF_ERROR(d.source(0, 0, {4, false}));
  FUSEC_RETURN_IF_ERROR(d.function.branchTableTo(d.operand(1).name, d.in.scope, d.in.line, d.out));
  d.out.run = runIndexedBranch;
  return {};
}

Status decodeReturn(InstructionDecoder &d) {
  d.take("uni");
  FUSEC_RETURN_IF_ERROR(d.finish());
  d.out.run = d.function.branchToReturn() ? runBranch : runExit;
  return {};
}

template <Handler Run> Status decodePlain(InstructionDecoder &d) {
  FUSEC_RETURN_IF_ERROR(d.finish());
  d.out.run = Run;
  return {};
}
/// Hints: operands and modifiers do not matter.
Status decodeHint(InstructionDecoder &d) {
  d.out.run = runNothing;
  return {};
}

} // namespace

Handler exitHandler() { return runExit; }
Handler assertHandler() { return runAssert; }

void addControlOps(OpcodeTable &table) {
  table.root("bra", decodeBranch);
  table.root("brx.idx", decodeIndexedBranch);
  table.root("ret", decodeReturn);
  table.root("exit", decodePlain<runExit>);
  table.root("trap", decodePlain<runTrap>);
  for (const char *hint : {"brkpt", "pmevent", "nanosleep", "prefetch", "prefetchu", "griddepcontrol", "discard",
                           "applypriority", "setmaxnreg"})
    table.root(hint, decodeHint);
}

} // namespace fusec::virtualgpu
