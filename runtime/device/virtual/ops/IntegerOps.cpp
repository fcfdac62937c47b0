//===- IntegerOps.cpp - integer arithmetic -----------------------------------===//

#include "runtime/device/virtual/ops/OpcodeTable.h"

#include <limits>

namespace fusec::virtualgpu {
namespace {

using Strings = std::initializer_list<const char *>;

/// Results that do not depend on the sign, computed without overflow.
template <typename U> void addWrapping(OpcodeTable &table, Strings types) {
  for (std::string type : types) {
    table.lanewise<[](U a, U b) -> U { return static_cast<U>(a + b); }>("add." + type);
    table.lanewise<[](U a, U b) -> U { return static_cast<U>(a - b); }>("sub." + type);
    table.lanewise<[](U a, U b) -> U { return static_cast<U>(uint64_t(a) * b); }>("mul.lo." + type);
    table.lanewise<[](U a, U b, U c) -> U { return static_cast<U>(uint64_t(a) * b + c); }>("mad.lo." + type);
    table.lanewise<[](U a) -> U { return static_cast<U>(0 - a); }>("neg." + type);
  }
}

template <typename T> T divide(T a, T b) {
  using L = std::numeric_limits<T>;
  if (b == 0)
    return static_cast<T>(~T(0));
  if (L::is_signed && b == static_cast<T>(-1))
    return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(a));
  return static_cast<T>(a / b);
}
template <typename T> T remainder(T a, T b) {
  if (b == 0)
    return a;
  if (std::is_signed_v<T> && b == static_cast<T>(-1))
    return 0;
  return static_cast<T>(a % b);
}
template <typename T> T multiplyHigh(T a, T b) {
  using Wide = std::conditional_t<sizeof(T) == 8, std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>,
                                  std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;
  return static_cast<T>((Wide(a) * Wide(b)) >> (8 * sizeof(T)));
}
template <typename T> T absolute(T a) {
  return a < 0 ? static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(a)) : a;
}

template <typename T> void addOrdered(OpcodeTable &table, const std::string &type) {
  using U = std::make_unsigned_t<T>;
  table.lanewise<[](T a, T b) -> T { return divide(a, b); }>("div." + type);
  table.lanewise<[](T a, T b) -> T { return remainder(a, b); }>("rem." + type);
  table.lanewise<[](T a, T b) -> T { return a < b ? a : b; }>("min." + type);
  table.lanewise<[](T a, T b) -> T { return a > b ? a : b; }>("max." + type);
  table.lanewise<[](T a, T b) -> T { return multiplyHigh(a, b); }>("mul.hi." + type);
  table.lanewise<[](T a, T b, T c) -> T {
    return static_cast<T>(static_cast<U>(multiplyHigh(a, b)) + static_cast<U>(c));
  }>("mad.hi." + type);
  table.lanewise<[](T a, T b, T c) -> T {
    U difference = a < b ? static_cast<U>(static_cast<U>(b) - static_cast<U>(a))
                         : static_cast<U>(static_cast<U>(a) - static_cast<U>(b));
    return static_cast<T>(difference + static_cast<U>(c));
  }>("sad." + type);
  if constexpr (std::is_signed_v<T>)
    table.lanewise<[](T a) -> T { return absolute(a); }>("abs." + type);
}

template <typename T, typename W> void addWide(OpcodeTable &table, const std::string &type) {
  using U = std::make_unsigned_t<W>;
  table.lanewise<[](T a, T b) -> W { return static_cast<W>(W(a) * W(b)); }>("mul.wide." + type);
  table.lanewise<[](T a, T b, W c) -> W { return static_cast<W>(static_cast<U>(W(a) * W(b)) + static_cast<U>(c)); }>(
      "mad.wide." + type);
}

int32_t saturate(int64_t value) {
  return static_cast<int32_t>(value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : value);
}
int32_t signed24(int32_t value) { return static_cast<int32_t>(static_cast<uint32_t>(value) << 8) >> 8; }

void addSpecialForms(OpcodeTable &table) {
  table.lanewise<[](int32_t a, int32_t b) { return saturate(int64_t(a) + b); }>("add.sat.s32");
  table.lanewise<[](int32_t a, int32_t b) { return saturate(int64_t(a) - b); }>("sub.sat.s32");
  table.lanewise<[](int32_t a, int32_t b) -> int32_t {
    return static_cast<int32_t>(int64_t(signed24(a)) * signed24(b));
  }>("mul24.lo.s32");
  table.lanewise<[](uint32_t a, uint32_t b) -> uint32_t { return (a & 0xffffff) * (b & 0xffffff); }>("mul24.lo.u32");
  table.lanewise<[](int32_t a, int32_t b) { return a > b ? (a > 0 ? a : 0) : (b > 0 ? b : 0); }>("max.relu.s32");
  table.lanewise<[](int32_t a, int32_t b) { return a < b ? (a > 0 ? a : 0) : (b > 0 ? b : 0); }>("min.relu.s32");
}

/// dp4a, dp2a: products of packed parts, added to a 32-bit number.
template <typename A, typename B> void addDots(OpcodeTable &table, const std::string &types) {
  using Sum = uint32_t;
  table.lanewise<[](uint32_t a, uint32_t b, uint32_t c) -> Sum {
    for (int i = 0; i < 4; ++i)
      c += static_cast<uint32_t>(int32_t(static_cast<A>(a >> 8 * i)) * int32_t(static_cast<B>(b >> 8 * i)));
    return c;
  }>("dp4a." + types);
  using A2 = std::conditional_t<std::is_signed_v<A>, int16_t, uint16_t>;
  table.lanewise<[](uint32_t a, uint32_t b, uint32_t c) -> Sum {
    for (int i = 0; i < 2; ++i)
      c += static_cast<uint32_t>(int32_t(static_cast<A2>(a >> 16 * i)) * int32_t(static_cast<B>(b >> 8 * i)));
    return c;
  }>("dp2a.lo." + types);
  table.lanewise<[](uint32_t a, uint32_t b, uint32_t c) -> Sum {
    for (int i = 0; i < 2; ++i)
      c += static_cast<uint32_t>(int32_t(static_cast<A2>(a >> 16 * i)) * int32_t(static_cast<B>(b >> (8 * i + 16))));
    return c;
  }>("dp2a.hi." + types);
}

} // namespace

void addIntegerOps(OpcodeTable &table) {
  addWrapping<uint16_t>(table, {"u16", "s16"});
  addWrapping<uint32_t>(table, {"u32", "s32"});
  addWrapping<uint64_t>(table, {"u64", "s64"});
  addOrdered<uint16_t>(table, "u16");
  addOrdered<int16_t>(table, "s16");
  addOrdered<uint32_t>(table, "u32");
  addOrdered<int32_t>(table, "s32");
  addOrdered<uint64_t>(table, "u64");
  addOrdered<int64_t>(table, "s64");
  addWide<uint16_t, uint32_t>(table, "u16");
  addWide<int16_t, int32_t>(table, "s16");
  addWide<uint32_t, uint64_t>(table, "u32");
  addWide<int32_t, int64_t>(table, "s32");
  addSpecialForms(table);
  addDots<int8_t, int8_t>(table, "s32.s32");
  addDots<int8_t, uint8_t>(table, "s32.u32");
  addDots<uint8_t, int8_t>(table, "u32.s32");
  addDots<uint8_t, uint8_t>(table, "u32.u32");
}

} // namespace fusec::virtualgpu
