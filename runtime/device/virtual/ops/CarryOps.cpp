//===- CarryOps.cpp - extended precision integers ----------------------------===//
//
// add.cc, addc, sub.cc, subc, mad.cc, madc: the carry of each lane is a hidden
// predicate of the kernel.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/virtual/exec/FunctionDecoder.h"
#include "runtime/device/virtual/exec/InstructionDecoder.h"
#include "runtime/device/virtual/ops/OpcodeTable.h"

#include <cstring>

namespace fusec::virtualgpu {
namespace {

enum class Op { Add, Sub, MadLow, MadHigh };

/// Instr::flags.
enum Flag : uint16_t { takesCarry = 1, setsCarry = 2 };

template <typename U> U highProduct(U a, U b) {
  using Wide = std::conditional_t<sizeof(U) == 8, unsigned __int128, uint64_t>;
  return static_cast<U>((Wide(a) * b) >> (8 * sizeof(U)));
}
template <typename U> U highSigned(U a, U b) {
  using S = std::make_signed_t<U>;
  using Wide = std::conditional_t<sizeof(U) == 8, __int128, int64_t>;
  return static_cast<U>((Wide(static_cast<S>(a)) * static_cast<S>(b)) >> (8 * sizeof(U)));
}

/// src = a, b, c (of mad), carry predicate. A carry of sub is a borrow.
template <typename U, Op Kind, bool Signed> void runCarry(Warp &warp, const Instr &instr) {
  using Wide = unsigned __int128;
  LaneReader<U> a(warp, instr, 0), b(warp, instr, 1), c(warp, instr, Kind >= Op::MadLow ? 2 : 0);
  uint32_t &carry = warp.predicate(instr.src[3]);
  const uint32_t in = instr.flags & takesCarry ? carry : 0;
  uint32_t out = 0;
  alignas(64) U made[warpLanes];
  for (int lane = 0; lane < warpLanes; ++lane) {
    U x = a[lane], y = b[lane];
    if constexpr (Kind == Op::MadLow)
      x = static_cast<U>(x * y), y = c[lane];
    if constexpr (Kind == Op::MadHigh)
      x = Signed ? highSigned(x, y) : highProduct(x, y), y = c[lane];
    const Wide sum = Kind == Op::Sub ? Wide(x) - y - (in >> lane & 1) : Wide(x) + y + (in >> lane & 1);
    made[lane] = static_cast<U>(sum);
    out |= static_cast<uint32_t>(sum >> (8 * sizeof(U)) & 1) << lane;
  }
  if (instr.flags & setsCarry)
    carry = (carry & ~warp.mask) | (out & warp.mask);
  if (instr.dst[0] != noSlot)
    writeLanes<U>(warp, instr.dst[0], [&](int lane) { return made[lane]; });
}

template <Op Kind> Handler handlerFor(ptx::Type type) {
  switch (type) {
  case ptx::Type::U32:
    return runCarry<uint32_t, Kind, false>;
  case ptx::Type::S32:
    return runCarry<uint32_t, Kind, true>;
  case ptx::Type::U64:
    return runCarry<uint64_t, Kind, false>;
  case ptx::Type::S64:
    return runCarry<uint64_t, Kind, true>;
  default:
    return nullptr;
  }
}

template <Op Kind, uint16_t Flags> Status decodeCarry(InstructionDecoder &d) {
  std::optional<ptx::Type> type = d.takeType();
  d.out.flags = static_cast<uint16_t>(Flags | (d.take("cc") ? setsCarry : 0));
  FUSEC_RETURN_IF_ERROR(d.finish());
  const size_t sources = Kind >= Op::MadLow ? 3 : 2;
  FUSEC_RETURN_IF_ERROR(d.expectOperands(1 + sources, 1 + sources));
  d.out.run = type ? handlerFor<Kind>(*type) : nullptr;
  if (!d.out.run)
    return d.error("the virtual device does not know this type with a carry");
  const ValueType value{static_cast<uint8_t>(ptx::byteSize(*type)), false};
  FUSEC_RETURN_IF_ERROR(d.destination(0, 0, value));
  for (size_t i = 0; i < sources; ++i)
    FUSEC_RETURN_IF_ERROR(d.source(i + 1, static_cast<int>(i), value));
  d.out.src[3] = d.function.carrySlot();
  return {};
}

} // namespace

void addCarryOps(OpcodeTable &table) {
  table.root("add.cc", decodeCarry<Op::Add, setsCarry>);
  table.root("addc", decodeCarry<Op::Add, takesCarry>);
  table.root("sub.cc", decodeCarry<Op::Sub, setsCarry>);
  table.root("subc", decodeCarry<Op::Sub, takesCarry>);
  table.root("mad.lo.cc", decodeCarry<Op::MadLow, setsCarry>);
  table.root("mad.hi.cc", decodeCarry<Op::MadHigh, setsCarry>);
  table.root("madc.lo", decodeCarry<Op::MadLow, takesCarry>);
  table.root("madc.hi", decodeCarry<Op::MadHigh, takesCarry>);
}

} // namespace fusec::virtualgpu
