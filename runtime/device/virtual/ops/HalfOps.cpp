//===- HalfOps.cpp - f16, bf16 and their pairs -------------------------------===//
//
// Sums and products are rounded once: float holds enough bits for one operation
// on 11-bit numbers, fma goes through a sum rounded to odd.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/virtual/ops/FloatFormats.h"
#include "runtime/device/virtual/ops/OpcodeTable.h"

namespace fusec::virtualgpu {
namespace {

struct HalfKind {
  using One = Half;
  using Two = Half2;
  static Half from(float f) { return toHalf(f); }
  static constexpr const char *name = "f16";
};
struct BrainKind {
  using One = Brain;
  using Two = Brain2;
  static Brain from(float f) { return toBrain(f); }
  static constexpr const char *name = "bf16";
};

template <typename K, auto Op> void addBinary(OpcodeTable &table, const std::string &root) {
  using One = typename K::One;
  using Two = typename K::Two;
  table.lanewise<[](One a, One b) -> One { return K::from(Op(toFloat(a), toFloat(b))); }>(root + "." + K::name);
  table.lanewise<[](Two a, Two b) -> Two {
    return Two::pack(K::from(Op(toFloat(a.low()), toFloat(b.low()))),
                     K::from(Op(toFloat(a.high()), toFloat(b.high()))));
  }>(root + "." + K::name + "x2");
}
template <typename K, auto Op> void addUnary(OpcodeTable &table, const std::string &root) {
  using One = typename K::One;
  using Two = typename K::Two;
  table.lanewise<[](One a) -> One { return One{Op(a.bits)}; }>(root + "." + K::name);
  table.lanewise<[](Two a) -> Two { return Two::pack({Op(a.low().bits)}, {Op(a.high().bits)}); }>(root + "." + K::name +
                                                                                                  "x2");
}
template <typename K, auto After> void addFma(OpcodeTable &table, const std::string &root) {
  using One = typename K::One;
  using Two = typename K::Two;
  table.lanewise<[](One a, One b, One c) -> One {
    return K::from(After(toFloatOdd(fmaOdd(toFloat(a), toFloat(b), toFloat(c)))));
  }>(root + "." + K::name);
  table.lanewise<[](Two a, Two b, Two c) -> Two {
    float low = toFloatOdd(fmaOdd(toFloat(a.low()), toFloat(b.low()), toFloat(c.low())));
    float high = toFloatOdd(fmaOdd(toFloat(a.high()), toFloat(b.high()), toFloat(c.high())));
    return Two::pack(K::from(After(low)), K::from(After(high)));
  }>(root + "." + K::name + "x2");
}

float smaller(float a, float b) { return a != a ? b : b != b ? a : a < b || (a == b && std::signbit(a)) ? a : b; }
float larger(float a, float b) { return a != a ? b : b != b ? a : a > b || (a == b && !std::signbit(a)) ? a : b; }
float positive(float x) { return x < 0 ? 0.0f : x; }

template <typename K> void addKind(OpcodeTable &table) {
  for (std::string rn : {"", ".rn"}) {
    addBinary<K, [](float a, float b) { return a + b; }>(table, "add" + rn);
    addBinary<K, [](float a, float b) { return a - b; }>(table, "sub" + rn);
    addBinary<K, [](float a, float b) { return a * b; }>(table, "mul" + rn);
    addBinary<K, [](float a, float b) { return saturateUnit(a + b); }>(table, "add" + rn + ".sat");
    addBinary<K, [](float a, float b) { return saturateUnit(a - b); }>(table, "sub" + rn + ".sat");
    addBinary<K, [](float a, float b) { return saturateUnit(a * b); }>(table, "mul" + rn + ".sat");
  }
  addBinary<K, [](float a, float b) { return smaller(a, b); }>(table, "min");
  addBinary<K, [](float a, float b) { return larger(a, b); }>(table, "max");
  addBinary<K, [](float a, float b) { return a != a ? a : b != b ? b : smaller(a, b); }>(table, "min.NaN");
  addBinary<K, [](float a, float b) { return a != a ? a : b != b ? b : larger(a, b); }>(table, "max.NaN");
  addUnary<K, [](uint16_t a) -> uint16_t { return a ^ 0x8000; }>(table, "neg");
  addUnary<K, [](uint16_t a) -> uint16_t { return a & 0x7fff; }>(table, "abs");
  addFma<K, [](float x) { return x; }>(table, "fma.rn");
  addFma<K, [](float x) { return positive(x); }>(table, "fma.rn.relu");
  addFma<K, [](float x) { return saturateUnit(x); }>(table, "fma.rn.sat");
}

} // namespace

void addHalfOps(OpcodeTable &table) {
  addKind<HalfKind>(table);
  addKind<BrainKind>(table);
}

} // namespace fusec::virtualgpu
