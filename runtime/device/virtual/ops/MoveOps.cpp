//===- MoveOps.cpp - mov, cvta, isspacep -------------------------------------===//

#include "runtime/device/virtual/exec/Block.h"
#include "runtime/device/virtual/exec/InstructionDecoder.h"
#include "runtime/device/virtual/memory/DeviceMemory.h"
#include "runtime/device/virtual/ops/OpcodeTable.h"

#include <chrono>
#include <cstring>

namespace fusec::virtualgpu {
namespace {

using Kind = ptx::Operand::Kind;

template <typename T> void runMove(Warp &warp, const Instr &instr) {
  LaneReader<T> from(warp, instr, 0);
  writeLanes<T>(warp, instr.dst[0], [=](int lane) { return from[lane]; });
}

/// {parts} into one register: part 0 is the lowest. Whole and Part are unsigned.
template <typename Whole, typename Part> void runPack(Warp &warp, const Instr &instr) {
  constexpr int parts = sizeof(Whole) / sizeof(Part);
  const Part *from[parts];
  for (int i = 0; i < parts; ++i)
    from[i] = warp.lanes<Part>(warp.program.lists[instr.list + static_cast<uint32_t>(i)]);
  writeLanes<Whole>(warp, instr.dst[0], [&](int lane) {
    Whole made = 0;
    for (int i = 0; i < parts; ++i)
      made |= static_cast<Whole>(Whole(from[i][lane]) << (8 * sizeof(Part) * static_cast<size_t>(i)));
    return made;
  });
}

template <typename Whole, typename Part> void runUnpack(Warp &warp, const Instr &instr) {
  constexpr int parts = sizeof(Whole) / sizeof(Part);
  alignas(64) Whole whole[warpLanes]; // A part may be stored over the source.
  std::memcpy(whole, warp.lanes<Whole>(instr.src[0]), sizeof whole);
  for (int i = 0; i < parts; ++i) {
    uint32_t slot = warp.program.lists[instr.list + static_cast<uint32_t>(i)];
    if (slot != noSlot)
      writeLanes<Part>(warp, slot, [&, i](int lane) {
        return static_cast<Part>(whole[lane] >> (8 * sizeof(Part) * static_cast<size_t>(i)));
      });
  }
}

struct Packing {
  int whole, part;
  Handler pack, unpack;
};
constexpr Packing packings[] = {
    {4, 2, runPack<uint32_t, uint16_t>, runUnpack<uint32_t, uint16_t>},
    {8, 4, runPack<uint64_t, uint32_t>, runUnpack<uint64_t, uint32_t>},
    {8, 2, runPack<uint64_t, uint16_t>, runUnpack<uint64_t, uint16_t>},
};

Status decodePacking(InstructionDecoder &d, uint8_t bytes, size_t vector) {
  size_t parts = d.operand(vector).parts.size();
  for (const Packing &row : packings) {
    if (row.whole != bytes || static_cast<size_t>(row.whole / row.part) != parts)
      continue;
    bool packs = vector == 1;
    d.out.run = packs ? row.pack : row.unpack;
    FUSEC_RETURN_IF_ERROR(d.registerList(vector, {static_cast<uint8_t>(row.part), false}, packs));
    return packs ? d.destination(0, 0, {bytes, false}) : d.source(1, 0, {bytes, false});
  }
  return d.error("cannot pack " + std::to_string(parts) + " registers into " + std::to_string(bytes) + " bytes");
}

/// Registers that change while the warp runs. clock counts instructions of the warp.
template <typename T> void runClock(Warp &warp, const Instr &instr) {
  uint64_t now = 0;
  for (const InstrCounters &count : warp.block.counts)
    now += count.warps;
  writeLanes<T>(warp, instr.dst[0], [=](int) { return static_cast<T>(now); });
}
template <typename T> void runGlobalTimer(Warp &warp, const Instr &instr) {
  auto now = std::chrono::steady_clock::now().time_since_epoch();
  uint64_t nanoseconds = static_cast<uint64_t>(std::chrono::nanoseconds(now).count());
  writeLanes<T>(warp, instr.dst[0], [=](int) { return static_cast<T>(nanoseconds); });
}

struct Changing {
  std::string_view name;
  uint8_t bytes;
  Handler run;
};
constexpr Changing changing[] = {
    {"%clock", 4, runClock<uint32_t>},
    {"%clock_hi", 4, runClock<uint32_t>},
    {"%clock64", 8, runClock<uint64_t>},
    {"%globaltimer", 8, runGlobalTimer<uint64_t>},
    {"%globaltimer_lo", 4, runGlobalTimer<uint32_t>},
};

Status decodeMove(InstructionDecoder &d) {
  std::optional<ptx::Type> type = d.takeType();
  FUSEC_RETURN_IF_ERROR(d.finish());
  FUSEC_RETURN_IF_ERROR(d.expectOperands(2, 2));
  if (!type)
    return d.error("expected a type");
  const uint8_t bytes = *type == ptx::Type::Pred ? 0 : static_cast<uint8_t>(ptx::byteSize(*type));
  if (d.operand(0).kind == Kind::Vector || d.operand(1).kind == Kind::Vector)
    return decodePacking(d, bytes, d.operand(0).kind == Kind::Vector ? 0 : 1);
  const ValueType value{bytes, ptx::isFloat(*type)};
  FUSEC_RETURN_IF_ERROR(d.destination(0, 0, value));
  for (const Changing &row : changing)
    if (d.operand(1).name == row.name && row.bytes == bytes) {
      d.out.run = row.run;
      return {};
    }
  FUSEC_RETURN_IF_ERROR(d.source(1, 0, value));
  d.out.run = bytes == 0   ? runMove<bool>
              : bytes == 2 ? runMove<uint16_t>
              : bytes == 4 ? runMove<uint32_t>
                           : runMove<uint64_t>;
  return {};
}

// --- address spaces ----------------------------------------------------------------

uint64_t windowOf(ptx::Space space) {
  return space == ptx::Space::Shared ? sharedBase : space == ptx::Space::Local ? localBase : 0;
}

/// Adds Instr::immediate: the base of the window, or minus it.
template <typename T> void runAddressShift(Warp &warp, const Instr &instr) {
  LaneReader<T> from(warp, instr, 0);
  const T shift = static_cast<T>(instr.immediate);
  writeLanes<T>(warp, instr.dst[0], [=](int lane) { return static_cast<T>(from[lane] + shift); });
}

std::optional<ptx::Space> takeSpace(InstructionDecoder &d) {
  constexpr std::pair<std::string_view, ptx::Space> names[] = {
      {"global", ptx::Space::Global},      {"shared", ptx::Space::Shared},
      {"shared::cta", ptx::Space::Shared}, {"shared::cluster", ptx::Space::Shared},
      {"local", ptx::Space::Local},        {"const", ptx::Space::Const},
      {"param", ptx::Space::Param},        {"param::entry", ptx::Space::Param}};
  for (auto [name, space] : names)
    if (d.take(name))
      return space;
  return std::nullopt;
}

Status decodeCvta(InstructionDecoder &d) {
  bool to = d.take("to");
  std::optional<ptx::Space> space = takeSpace(d);
  if (!space || !d.take("u64"))
    return d.error("expected a state space and .u64");
  FUSEC_RETURN_IF_ERROR(d.finish());
  FUSEC_RETURN_IF_ERROR(d.expectOperands(2, 2));
  int64_t window = static_cast<int64_t>(windowOf(*space));
  d.out.immediate = to ? -window : window;
  d.out.run = window ? runAddressShift<uint64_t> : runMove<uint64_t>;
  FUSEC_RETURN_IF_ERROR(d.destination(0, 0, {8, false}));
  return d.source(1, 0, {8, false});
}

template <uint64_t Base, uint64_t Size> void runIsSpace(Warp &warp, const Instr &instr) {
  LaneReader<uint64_t> from(warp, instr, 0);
  writeLanes<bool>(warp, instr.dst[0], [=](int lane) { return from[lane] - Base < Size; });
}

Status decodeIsSpace(InstructionDecoder &d) {
  std::optional<ptx::Space> space = takeSpace(d);
  FUSEC_RETURN_IF_ERROR(d.finish());
  FUSEC_RETURN_IF_ERROR(d.expectOperands(2, 2));
  if (!space)
    return d.error("expected a state space");
  d.out.run = *space == ptx::Space::Shared  ? runIsSpace<sharedBase, windowBytes>
              : *space == ptx::Space::Local ? runIsSpace<localBase, windowBytes>
              : *space == ptx::Space::Param ? runIsSpace<parameterBase, windowBytes>
                                            : runIsSpace<deviceBase, uint64_t(1) << 40>;
  FUSEC_RETURN_IF_ERROR(d.destination(0, 0, {0, false}));
  return d.source(1, 0, {8, false});
}

/// createpolicy: the value only steers caches.
Status decodeCreatePolicy(InstructionDecoder &d) {
  FUSEC_RETURN_IF_ERROR(d.destination(0, 0, {8, false}));
  FUSEC_ASSIGN_OR_RETURN(d.out.src[0], d.constant(8, 0));
  d.out.run = runMove<uint64_t>;
  return {};
}

} // namespace

void addMoveOps(OpcodeTable &table) {
  table.root("mov", decodeMove);
  table.root("cvta", decodeCvta);
  table.root("isspacep", decodeIsSpace);
  table.root("createpolicy", decodeCreatePolicy);
}

} // namespace fusec::virtualgpu
