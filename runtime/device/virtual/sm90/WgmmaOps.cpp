//===- WgmmaOps.cpp - wgmma --------------------------------------------------===//
//
// wgmma.mma_async.m64nNk16 with f16 or bf16 operands and f32 sums, A from
// registers or shared memory.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/virtual/exec/Block.h"
#include "runtime/device/virtual/exec/InstructionDecoder.h"
#include "runtime/device/virtual/ops/OpcodeTable.h"

#include <charconv>

namespace fusec::virtualgpu {
namespace {

enum Flag : uint16_t { isHalf = 1, aInRegisters = 2, aTransposed = 4, bTransposed = 8, negatesA = 16, negatesB = 32 };

bool wholeWarp(Warp &warp) {
  if (!warp.converged(warp.alive))
    return false;
  if (warp.mask == fullMask)
    return true;
  warp.fault(FaultKind::Divergence, "needs all 32 lanes, but only " + Warp::describeLanes(warp.mask) + " execute it");
  return false;
}

uint64_t uniform(Warp &warp, uint32_t slot) { return warp.lanes<uint64_t>(slot)[0]; }

/// src = descriptor of B, predicate (keep D), descriptor of A or none; list = D, then A; count = N.
void runMma(Warp &warp, const Instr &instr) {
  if (!wholeWarp(warp))
    return;
  if (warp.index / 4 * 4 + 4 > warp.block.warps.size())
    return warp.fault(FaultKind::BarrierMisuse,
                      "the warps from " + std::to_string(warp.index / 4 * 4) + " on are no whole warpgroup");
  WarpgroupProducts::Product p;
  p.list = instr.list;
  p.columns = instr.count;
  p.b = MatrixDescriptor::parse(uniform(warp, instr.src[0]));
  p.aInRegisters = instr.flags & aInRegisters;
  if (!p.aInRegisters)
    p.a = MatrixDescriptor::parse(uniform(warp, instr.src[2]));
  p.isHalf = instr.flags & isHalf;
  p.aKMajor = !(instr.flags & aTransposed);
  p.bKMajor = !(instr.flags & bTransposed);
  p.negatesA = instr.flags & negatesA;
  p.negatesB = instr.flags & negatesB;
  p.keeps = LaneReader<bool>(warp, instr, 1)[0];
  warp.block.products.issue(warp, std::move(p));
  ++warp.counters().mma;
}

void runFence(Warp &warp, const Instr &) { wholeWarp(warp); }
void runCommit(Warp &warp, const Instr &) {
  if (wholeWarp(warp))
    warp.block.products.commit(warp);
}
void runWait(Warp &warp, const Instr &instr) {
  if (wholeWarp(warp))
    warp.block.products.wait(warp, static_cast<uint32_t>(instr.immediate));
}

Status appendRegisters(InstructionDecoder &d, size_t operand, size_t count, bool isFloat,
                       std::vector<uint32_t> &slots) {
  const ptx::Operand &fragment = d.operand(operand);
  if (fragment.kind != ptx::Operand::Kind::Vector || fragment.parts.size() != count)
    return d.error("operand " + std::to_string(operand + 1) + " must have " + std::to_string(count) + " registers");
  for (const ptx::Operand &part : fragment.parts) {
    FUSEC_ASSIGN_OR_RETURN(uint32_t slot, d.destinationSlot(part, {4, isFloat}));
    if (slot == noSlot)
      return d.error("'_' in a fragment");
    slots.push_back(slot);
  }
  return {};
}

/// N of "m64n128k16"; 0 when it is another shape.
uint16_t columnsOf(std::string_view shape) {
  if (!shape.starts_with("m64n") || !shape.ends_with("k16"))
    return 0;
  uint16_t columns = 0;
  std::from_chars(shape.data() + 4, shape.data() + shape.size() - 3, columns);
  return columns % 8 == 0 && columns <= 256 ? columns : 0;
}

/// d, a or its descriptor, descriptor of b, keep, scale of a, scale of b, {transpose a,} transpose b
Status decodeMma(InstructionDecoder &d) {
  std::string_view shape;
  for (std::string_view word : d.modifiers())
    if (word.starts_with("m64n"))
      shape = word;
  const uint16_t columns = columnsOf(shape);
  const std::optional<ptx::Type> sum = d.takeType(), a = d.takeType(), b = d.takeType();
  if (columns == 0 || sum != ptx::Type::F32 || a != b || (a != ptx::Type::F16 && a != ptx::Type::BF16))
    return d.error("the virtual device does not know this shape and these types");
  d.take(shape);
  FUSEC_RETURN_IF_ERROR(d.finish());
  FUSEC_RETURN_IF_ERROR(d.expectOperands(7, 8));
  const bool inRegisters = d.operand(1).kind == ptx::Operand::Kind::Vector;
  if (d.operandCount() != (inRegisters ? 7u : 8u))
    return d.error("expected " + std::to_string(inRegisters ? 7 : 8) + " operands");
  std::vector<uint32_t> slots;
  FUSEC_RETURN_IF_ERROR(appendRegisters(d, 0, columns / 2, true, slots));
  if (inRegisters)
    FUSEC_RETURN_IF_ERROR(appendRegisters(d, 1, 4, false, slots));
  else
    FUSEC_RETURN_IF_ERROR(d.source(1, 2, {8, false}));
  FUSEC_RETURN_IF_ERROR(d.source(2, 0, {8, false}));
  FUSEC_RETURN_IF_ERROR(d.source(3, 1, {0, false}));
  const size_t last = d.operandCount() - 1;
  d.out.flags = static_cast<uint16_t>(
      (a == ptx::Type::F16 ? isHalf : 0) | (inRegisters ? aInRegisters : 0) |
      (!inRegisters && d.operand(6).integer ? aTransposed : 0) | (d.operand(last).integer ? bTransposed : 0) |
      (d.operand(4).integer < 0 ? negatesA : 0) | (d.operand(5).integer < 0 ? negatesB : 0));
  d.out.count = columns;
  d.out.list = d.addList(slots);
  d.out.run = runMma;
  return {};
}

template <Handler Run> Status decodePlain(InstructionDecoder &d) {
  FUSEC_RETURN_IF_ERROR(d.finish());
  FUSEC_RETURN_IF_ERROR(d.expectOperands(0, 0));
  d.out.run = Run;
  return {};
}

Status decodeWait(InstructionDecoder &d) {
  FUSEC_RETURN_IF_ERROR(d.finish());
  FUSEC_RETURN_IF_ERROR(d.expectOperands(1, 1));
  d.out.immediate = d.operand(0).integer;
  d.out.run = runWait;
  return {};
}

} // namespace

void addWgmmaOps(OpcodeTable &table) {
  table.root("wgmma.mma_async.sync.aligned", decodeMma);
  table.root("wgmma.fence.sync.aligned", decodePlain<runFence>);
  table.root("wgmma.commit_group.sync.aligned", decodePlain<runCommit>);
  table.root("wgmma.wait_group.sync.aligned", decodeWait);
}

} // namespace fusec::virtualgpu
