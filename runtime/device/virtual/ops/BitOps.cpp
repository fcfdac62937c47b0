//===- BitOps.cpp - logic, shifts and bit fields -----------------------------===//

#include "runtime/device/virtual/exec/InstructionDecoder.h"
#include "runtime/device/virtual/ops/OpcodeTable.h"

#include <bit>

namespace fusec::virtualgpu {
namespace {

template <typename U> void addLogic(OpcodeTable &table, const std::string &bits) {
  using S = std::make_signed_t<U>;
  constexpr uint32_t width = 8 * sizeof(U);
  table.lanewise<[](U a, U b) -> U { return a & b; }>("and.b" + bits);
  table.lanewise<[](U a, U b) -> U { return a | b; }>("or.b" + bits);
  table.lanewise<[](U a, U b) -> U { return a ^ b; }>("xor.b" + bits);
  table.lanewise<[](U a) -> U { return static_cast<U>(~a); }>("not.b" + bits);
  table.lanewise<[](U a) -> U { return a == 0; }>("cnot.b" + bits);
  table.lanewise<[](U a, uint32_t n) -> U { return n >= width ? U(0) : static_cast<U>(a << (n & (width - 1))); }>(
      "shl.b" + bits);
  for (const char *prefix : {"shr.u", "shr.b"})
    table.lanewise<[](U a, uint32_t n) -> U { return n >= width ? U(0) : static_cast<U>(a >> (n & (width - 1))); }>(
        prefix + bits);
  table.lanewise<[](S a, uint32_t n) -> S { return static_cast<S>(a >> (n >= width ? width - 1 : n)); }>("shr.s" +
                                                                                                         bits);
}

/// bfe: `length` bits from `position`, extended with zeros or with the sign.
template <typename T> T extractField(T a, uint32_t position, uint32_t length) {
  using U = std::make_unsigned_t<T>;
  constexpr uint32_t width = 8 * sizeof(T);
  position &= 0xff;
  length &= 0xff;
  if (length == 0)
    return 0;
  U sign = static_cast<U>(a) >> (position + length - 1 < width ? position + length - 1 : width - 1) & 1;
  U fill = std::is_signed_v<T> && sign ? ~U(0) : U(0);
  U body = position < width ? static_cast<U>(a) >> position : U(0);
  uint32_t have = position < width ? width - position : 0;
  if (have < width)
    body |= have == 0 ? fill : static_cast<U>(fill << have);
  if (length >= width)
    return static_cast<T>(body);
  U keep = (U(1) << length) - 1;
  return static_cast<T>((body & keep) | (fill & ~keep));
}

/// bfi: puts the low `length` bits of a into b at `position`.
template <typename U> U insertField(U a, U b, uint32_t position, uint32_t length) {
  constexpr uint32_t width = 8 * sizeof(U);
  position &= 0xff;
  length &= 0xff;
  if (position >= width || length == 0)
    return b;
  U keep = length >= width ? ~U(0) : static_cast<U>((U(1) << length) - 1);
  keep = static_cast<U>(keep << position);
  return (b & ~keep) | (static_cast<U>(a << position) & keep);
}

template <typename U> void addFields(OpcodeTable &table, const std::string &bits) {
  using S = std::make_signed_t<U>;
  table.lanewise<[](U a, uint32_t p, uint32_t n) -> U { return extractField<U>(a, p, n); }>("bfe.u" + bits);
  table.lanewise<[](S a, uint32_t p, uint32_t n) -> S { return extractField<S>(a, p, n); }>("bfe.s" + bits);
  table.lanewise<[](U a, U b, uint32_t p, uint32_t n) -> U { return insertField<U>(a, b, p, n); }>("bfi.b" + bits);
  table.lanewise<[](U a) -> uint32_t { return static_cast<uint32_t>(std::popcount(a)); }>("popc.b" + bits);
  table.lanewise<[](U a) -> uint32_t { return static_cast<uint32_t>(std::countl_zero(a)); }>("clz.b" + bits);
  table.lanewise<[](U a) -> U {
    U r = 0;
    for (uint32_t i = 0; i < 8 * sizeof(U); ++i)
      r |= (a >> i & U(1)) << (8 * sizeof(U) - 1 - i);
    return r;
  }>("brev.b" + bits);
}

/// bfind: position of the highest bit that differs from the sign; all ones when there is none.
template <typename T> uint32_t highestBit(T a) {
  using U = std::make_unsigned_t<T>;
  U bits = std::is_signed_v<T> && a < 0 ? static_cast<U>(~a) : static_cast<U>(a);
  return bits == 0 ? 0xffffffffu
                   : static_cast<uint32_t>(8 * sizeof(T) - 1 - static_cast<size_t>(std::countl_zero(bits)));
}
template <typename T> void addFind(OpcodeTable &table, const std::string &type) {
  table.lanewise<[](T a) -> uint32_t { return highestBit(a); }>("bfind." + type);
  table.lanewise<[](T a) -> uint32_t {
    uint32_t at = highestBit(a);
    return at == 0xffffffffu ? at : static_cast<uint32_t>(8 * sizeof(T) - 1) - at;
  }>("bfind.shiftamt." + type);
}

void addFunnelShifts(OpcodeTable &table) {
  table.lanewise<[](uint32_t a, uint32_t b, uint32_t n) -> uint32_t {
    return static_cast<uint32_t>(((uint64_t(b) << 32 | a) << (n & 31)) >> 32);
  }>("shf.l.wrap.b32");
  table.lanewise<[](uint32_t a, uint32_t b, uint32_t n) -> uint32_t {
    return n >= 32 ? a : static_cast<uint32_t>(((uint64_t(b) << 32 | a) << (n & 31)) >> 32);
  }>("shf.l.clamp.b32");
  table.lanewise<[](uint32_t a, uint32_t b, uint32_t n) -> uint32_t {
    return static_cast<uint32_t>((uint64_t(b) << 32 | a) >> (n & 31));
  }>("shf.r.wrap.b32");
  table.lanewise<[](uint32_t a, uint32_t b, uint32_t n) -> uint32_t {
    return static_cast<uint32_t>((uint64_t(b) << 32 | a) >> (n < 32 ? n : 32));
  }>("shf.r.clamp.b32");
}

/// prmt: four bytes chosen from eight; bit 3 of a selector replicates the sign.
uint32_t permuteBytes(uint32_t a, uint32_t b, uint32_t selector) {
  uint64_t all = uint64_t(b) << 32 | a;
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    uint32_t pick = selector >> 4 * i & 15;
    uint32_t byte = static_cast<uint32_t>(all >> 8 * (pick & 7)) & 0xff;
    if (pick & 8)
      byte = byte & 0x80 ? 0xff : 0;
    result |= byte << 8 * i;
  }
  return result;
}

/// The named modes of prmt as selectors, by the low two bits of the control.
constexpr uint32_t permuteModes[6][4] = {
    {0x3210, 0x4321, 0x5432, 0x6543}, // f4e
    {0x5670, 0x6701, 0x7012, 0x0123}, // b4e
    {0x0000, 0x1111, 0x2222, 0x3333}, // rc8
    {0x3210, 0x3211, 0x3222, 0x3333}, // ecl
    {0x0000, 0x1110, 0x2210, 0x3210}, // ecr
    {0x1010, 0x3232, 0x1010, 0x3232}, // rc16
};
template <int Mode> void addPermuteMode(OpcodeTable &table, const char *name) {
  table.lanewise<[](uint32_t a, uint32_t b, uint32_t c) -> uint32_t {
    return permuteBytes(a, b, permuteModes[Mode][c & 3]);
  }>(std::string("prmt.b32.") + name);
}
void addPermutes(OpcodeTable &table) {
  table.lanewise<[](uint32_t a, uint32_t b, uint32_t c) -> uint32_t { return permuteBytes(a, b, c); }>("prmt.b32");
  addPermuteMode<0>(table, "f4e");
  addPermuteMode<1>(table, "b4e");
  addPermuteMode<2>(table, "rc8");
  addPermuteMode<3>(table, "ecl");
  addPermuteMode<4>(table, "ecr");
  addPermuteMode<5>(table, "rc16");
}

/// Any function of three bits: the table's bit a*4 + b*2 + c, as a tree of choices.
void runLop3(Warp &warp, const Instr &instr) {
  uint32_t leaf[8];
  for (int i = 0; i < 8; ++i)
    leaf[i] = instr.immediate >> i & 1 ? fullMask : 0;
  LaneReader<uint32_t> a(warp, instr, 0), b(warp, instr, 1), c(warp, instr, 2);
  writeLanes<uint32_t>(warp, instr.dst[0], [=](int lane) {
    uint32_t x = a[lane], y = b[lane], z = c[lane];
    auto choose = [](uint32_t by, uint32_t one, uint32_t zero) { return (by & one) | (~by & zero); };
    uint32_t high = choose(y, choose(z, leaf[7], leaf[6]), choose(z, leaf[5], leaf[4]));
    uint32_t low = choose(y, choose(z, leaf[3], leaf[2]), choose(z, leaf[1], leaf[0]));
    return choose(x, high, low);
  });
}

Status decodeLop3(InstructionDecoder &d) {
  if (!d.take("b32"))
    return d.error("expected .b32");
  FUSEC_RETURN_IF_ERROR(d.finish());
  FUSEC_RETURN_IF_ERROR(d.expectOperands(5, 5));
  FUSEC_RETURN_IF_ERROR(d.destination(0, 0, {4, false}));
  for (int i = 0; i < 3; ++i)
    FUSEC_RETURN_IF_ERROR(d.source(static_cast<size_t>(i) + 1, i, {4, false}));
  if (d.operand(4).kind != ptx::Operand::Kind::Integer)
    return d.error("the look-up table must be a number");
  d.out.immediate = d.operand(4).integer;
  d.out.run = runLop3;
  return {};
}

void addPredicateLogic(OpcodeTable &table) {
  table.lanewise<[](bool a, bool b) -> bool { return a & b; }>("and.pred");
  table.lanewise<[](bool a, bool b) -> bool { return a | b; }>("or.pred");
  table.lanewise<[](bool a, bool b) -> bool { return a ^ b; }>("xor.pred");
  table.lanewise<[](bool a) -> bool { return !a; }>("not.pred");
}

} // namespace

void addBitOps(OpcodeTable &table) {
  addLogic<uint16_t>(table, "16");
  addLogic<uint32_t>(table, "32");
  addLogic<uint64_t>(table, "64");
  addFields<uint32_t>(table, "32");
  addFields<uint64_t>(table, "64");
  addFind<uint32_t>(table, "u32");
  addFind<int32_t>(table, "s32");
  addFind<uint64_t>(table, "u64");
  addFind<int64_t>(table, "s64");
  addFunnelShifts(table);
  addPermutes(table);
  addPredicateLogic(table);
  table.root("lop3", decodeLop3);
}

} // namespace fusec::virtualgpu
