//===- MemoryOps.cpp - ld and st ---------------------------------------------===//

#include "runtime/device/virtual/ops/MemoryOps.h"
#include "runtime/device/virtual/exec/FunctionDecoder.h"
#include "runtime/device/virtual/exec/MemoryAccess.h"
#include "runtime/device/virtual/ops/OpcodeTable.h"

#include <algorithm>
#include <cstring>

namespace fusec::virtualgpu {
namespace {

using ptx::Space;

/// Instr::flags of ld and st: bytes of the registers, whether to extend by the sign, and the AccessKind.
enum Flag : uint16_t { registerBytes = 15, extendsSign = 16, kindShift = 8 };
AccessKind kindOf(const Instr &instr) { return static_cast<AccessKind>(instr.flags >> kindShift); }

template <typename M, typename R> void extendElement(const LaneAccess &access, uint32_t offset, bool sign, R *to) {
  using S = std::make_signed_t<M>;
  auto read = [&](int lane) {
    M value;
    std::memcpy(&value, access.host[lane] + offset, sizeof(M));
    return sign ? static_cast<R>(static_cast<S>(value)) : static_cast<R>(value);
  };
  if (access.pattern == LaneAccess::Pattern::Uniform)
    std::fill_n(to, warpLanes, read(0));
  else if (access.mask == fullMask)
    for (int lane = 0; lane < warpLanes; ++lane)
      to[lane] = read(lane);
  else
    for (uint32_t m = access.mask; m; m &= m - 1)
      to[std::countr_zero(m)] = read(std::countr_zero(m));
}

template <typename M> void loadElement(Warp &warp, const Instr &instr, const LaneAccess &access, uint32_t element) {
  uint32_t slot = warp.program.lists[instr.list + element];
  if (slot == noSlot)
    return;
  const uint32_t offset = element * sizeof(M);
  const bool sign = instr.flags & extendsSign;
  switch (instr.flags & registerBytes) {
  case 2:
    return extendElement<M>(access, offset, sign, warp.lanes<uint16_t>(slot));
  case 4:
    return extendElement<M>(access, offset, sign, warp.lanes<uint32_t>(slot));
  default:
    return extendElement<M>(access, offset, sign, warp.lanes<uint64_t>(slot));
  }
}

template <typename M> void runLoad(Warp &warp, const Instr &instr) {
  LaneAccess access(warp.mask);
  access.address(warp, instr, 0);
  const uint32_t bytes = static_cast<uint32_t>(sizeof(M)) * instr.count;
  access.unusedBytes = instr.usedBytes && instr.usedBytes < bytes ? bytes - instr.usedBytes : 0;
  if (!access.resolve(warp, static_cast<Space>(instr.space), bytes, kindOf(instr)))
    return;
  if (instr.count == 1 && (instr.flags & registerBytes) == sizeof(M) &&
      access.pattern == LaneAccess::Pattern::Adjacent) {
    uint32_t slot = warp.program.lists[instr.list];
    if (slot != noSlot)
      std::memcpy(warp.lanes<M>(slot), access.host[0], sizeof(M) * warpLanes);
    return;
  }
  for (uint32_t element = 0; element < instr.count; ++element)
    loadElement<M>(warp, instr, access, element);
}

template <typename M> void runStore(Warp &warp, const Instr &instr) {
  LaneAccess access(warp.mask);
  access.address(warp, instr, 0);
  const uint32_t bytes = static_cast<uint32_t>(sizeof(M)) * instr.count;
  if (!access.resolve(warp, static_cast<Space>(instr.space), bytes, kindOf(instr)))
    return;
  const uint32_t stride = instr.flags & registerBytes;
  for (uint32_t element = 0; element < instr.count; ++element) {
    const uint8_t *from = warp.lanes<uint8_t>(warp.program.lists[instr.list + element]);
    if (instr.count == 1 && stride == sizeof(M) && access.pattern == LaneAccess::Pattern::Adjacent) {
      std::memcpy(access.host[0], from, sizeof(M) * warpLanes);
      return;
    }
    for (uint32_t m = access.mask; m; m &= m - 1) {
      int lane = std::countr_zero(m);
      std::memcpy(access.host[lane] + element * sizeof(M), from + static_cast<uint32_t>(lane) * stride, sizeof(M));
    }
  }
}

/// A parameter's lanes to a register, or a register to a call's parameter.
template <typename T> void runParameterMove(Warp &warp, const Instr &instr) {
  for (uint32_t element = 0; element < instr.count; ++element) {
    uint32_t slot = warp.program.lists[instr.list + element];
    uint32_t parameter = instr.src[0] + element * static_cast<uint32_t>(sizeof(T)) * warpLanes;
    const bool isStore = instr.flags & 1;
    const T *from = warp.lanes<T>(isStore ? slot : parameter);
    writeLanes<T>(warp, isStore ? parameter : slot, [=](int lane) { return from[lane]; });
  }
}
/// The same when the register is wider than the element (ld.param.u8 %rs).
template <typename T, typename R> void runParameterWiden(Warp &warp, const Instr &instr) {
  uint32_t slot = warp.program.lists[instr.list];
  if (instr.flags & 1) {
    const R *from = warp.lanes<R>(slot);
    writeLanes<T>(warp, instr.src[0], [=](int lane) { return static_cast<T>(from[lane]); });
    return;
  }
  const T *from = warp.lanes<T>(instr.src[0]);
  writeLanes<R>(warp, slot, [=](int lane) { return static_cast<R>(from[lane]); });
}

struct Sizes {
  int memory, reg;
  bool sign;
  Handler run;
};
constexpr Sizes parameterHandlers[] = {
    {2, 2, false, runParameterMove<uint16_t>},
    {4, 4, false, runParameterMove<uint32_t>},
    {8, 8, false, runParameterMove<uint64_t>},
    {2, 2, true, runParameterMove<uint16_t>},
    {4, 4, true, runParameterMove<uint32_t>},
    {8, 8, true, runParameterMove<uint64_t>},
    {1, 2, false, runParameterWiden<uint8_t, uint16_t>},
    {1, 4, false, runParameterWiden<uint8_t, uint32_t>},
    {1, 2, true, runParameterWiden<int8_t, int16_t>},
    {1, 4, true, runParameterWiden<int8_t, int32_t>},
    {2, 4, false, runParameterWiden<uint16_t, uint32_t>},
    {2, 4, true, runParameterWiden<int16_t, int32_t>},
    {1, 8, false, runParameterWiden<uint8_t, uint64_t>},
    {1, 8, true, runParameterWiden<int8_t, int64_t>},
    {2, 8, false, runParameterWiden<uint16_t, uint64_t>},
    {2, 8, true, runParameterWiden<int16_t, int64_t>},
    {4, 8, false, runParameterWiden<uint32_t, uint64_t>},
    {4, 8, true, runParameterWiden<int32_t, int64_t>},
};

Status decodeParameterAccess(InstructionDecoder &d, ptx::Type type, const ptx::Operand &memory, bool isStore) {
  const uint8_t bytes = static_cast<uint8_t>(ptx::byteSize(type));
  Result<uint32_t> slot =
      d.function.parameterSlot(memory.name, memory.integer, bytes, d.out.count, d.in.scope, d.in.line);
  if (!slot)
    return slot.status();
  d.out.src[0] = *slot;
  if (d.out.count > 1 && bytes != (d.out.flags & registerBytes))
    return d.error("a vector of registers wider than their type");
  for (const Sizes &row : parameterHandlers)
    if (row.memory == bytes && row.reg == (d.out.flags & registerBytes) && row.sign == ptx::isSigned(type))
      d.out.run = row.run;
  d.out.flags = isStore;
  return d.out.run ? Status() : d.error("a parameter access of this size");
}

template <bool IsStore> Handler accessHandler(int bytes) {
  switch (bytes) {
  case 1:
    return IsStore ? runStore<uint8_t> : runLoad<uint8_t>;
  case 2:
    return IsStore ? runStore<uint16_t> : runLoad<uint16_t>;
  case 4:
    return IsStore ? runStore<uint32_t> : runLoad<uint32_t>;
  case 8:
    return IsStore ? runStore<uint64_t> : runLoad<uint64_t>;
  default:
    return nullptr;
  }
}

/// Registers of a load or store: any width that holds the type, all the same.
Status decodeRegisters(InstructionDecoder &d, size_t operand, ptx::Type type, bool isStore) {
  const ptx::Operand &whole = d.operand(operand);
  bool isVector = whole.kind == ptx::Operand::Kind::Vector;
  std::vector<ptx::Operand> parts = isVector ? whole.parts : std::vector<ptx::Operand>{whole};
  uint8_t width = static_cast<uint8_t>(std::max(ptx::byteSize(type), 2));
  for (const ptx::Operand &part : parts)
    if (Result<InstructionDecoder::AnyRegister> any = d.anyRegister(part); any && any->slot != noSlot)
      width = any->bytes;
  if (width < ptx::byteSize(type))
    return d.error("a register is smaller than the type");
  d.out.flags = static_cast<uint16_t>(width | (ptx::isSigned(type) ? extendsSign : 0));
  bool isFloat = type == ptx::Type::F32 || type == ptx::Type::F64;
  return d.registerList(operand, {width, isFloat}, isStore);
}

template <bool IsStore> AccessKind kindOf(Strength strength) {
  if (strength == Strength::Weak)
    return IsStore ? AccessKind::Write : AccessKind::Read;
  if (!IsStore)
    return AccessKind::StrongRead;
  return strength == Strength::Release ? AccessKind::ReleaseWrite : AccessKind::StrongWrite;
}

template <bool IsStore> Status decodeAccess(InstructionDecoder &d) {
  Space space = takeSpace(d);
  const Strength strength = takeMemoryHints(d);
  int vector = d.takeOne({"v2", "v4", "v8"});
  std::optional<ptx::Type> type = d.takeType();
  FUSEC_RETURN_IF_ERROR(d.finish());
  FUSEC_RETURN_IF_ERROR(d.expectOperands(2, 3));
  if (!type)
    return d.error("expected a type");
  const size_t memory = IsStore ? 0 : 1;
  FUSEC_RETURN_IF_ERROR(decodeRegisters(d, 1 - memory, *type, IsStore));
  if (d.out.count != (vector < 0 ? 1 : 2 << vector))
    return d.error("the number of registers is not that of the vector");
  bool named = !d.operand(memory).name.empty() && !d.function.findRegister(d.operand(memory).name, d.in.scope);
  if (space == Space::Param && named)
    return decodeParameterAccess(d, *type, d.operand(memory), IsStore);
  FUSEC_RETURN_IF_ERROR(d.address(memory, 0));
  d.out.space = static_cast<uint8_t>(space);
  d.out.flags = static_cast<uint16_t>(d.out.flags | static_cast<int>(kindOf<IsStore>(strength)) << kindShift);
  d.out.run = accessHandler<IsStore>(ptx::byteSize(*type));
  return d.out.run ? Status() : d.error("an access of this type");
}

} // namespace

ptx::Space takeSpace(InstructionDecoder &d) {
  constexpr std::pair<std::string_view, Space> names[] = {
      {"global", Space::Global},      {"shared", Space::Shared},    {"shared::cta", Space::Shared},
      {"local", Space::Local},        {"const", Space::Const},      {"param", Space::Param},
      {"param::entry", Space::Param}, {"param::func", Space::Param}};
  for (auto [name, space] : names)
    if (d.take(name))
      return space;
  return Space::Generic;
}

Strength takeMemoryHints(InstructionDecoder &d) {
  Strength strength = Strength::Weak;
  for (std::string_view word : d.modifiers())
    if (word == "release" || word == "acq_rel")
      strength = Strength::Release;
    else if (word == "volatile" || word == "relaxed" || word == "acquire" || word == "mmio")
      strength = Strength::Strong;
  for (const char *hint :
       {"weak", "volatile", "relaxed", "acquire", "release", "acq_rel", "cta", "cluster", "gpu",     "sys",  "nc",
        "ca",   "cg",       "cs",      "lu",      "cv",      "wb",      "wt",  "mmio",    "unified", "noftz"})
    d.take(hint);
  d.takePrefixed("L1::");
  d.takePrefixed("L2::");
  return strength;
}

void addMemoryOps(OpcodeTable &table) {
  table.root("ld", decodeAccess<false>);
  table.root("ldu", decodeAccess<false>);
  table.root("st", decodeAccess<true>);
}

} // namespace fusec::virtualgpu
