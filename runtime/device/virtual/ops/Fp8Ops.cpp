//===- Fp8Ops.cpp - pairs of 8-bit floats ------------------------------------===//
//===----------------------------------------------------------------------===//

#include "runtime/device/virtual/ops/FloatFormats.h"
#include "runtime/device/virtual/ops/Fp8Formats.h"
#include "runtime/device/virtual/ops/OpcodeTable.h"

namespace fusec::virtualgpu {
namespace {

/// To nearest even; numbers too large become the largest (.satfinite).
template <typename F> uint8_t encode(float x) {
  if (x != x)
    return F::nan;
  const uint8_t sign = std::signbit(x) ? 0x80 : 0;
  float magnitude = std::fmin(std::fabs(x), F::largest);
  int exponent = 0;
  std::frexp(magnitude, &exponent); // magnitude = [0.5, 1) * 2^exponent
  exponent = magnitude == 0 ? 1 - F::bias : std::max(exponent - 1, 1 - F::bias);
  int units = static_cast<int>(std::nearbyint(std::ldexp(magnitude, F::mantissa - exponent)));
  // A carry into the next exponent falls out of the sum; subnormal numbers have no leading one.
  int bits = ((exponent + F::bias - 1) << F::mantissa) + units;
  return static_cast<uint8_t>(sign | bits);
}

template <typename F> uint16_t encodePair(float low, float high) {
  return static_cast<uint16_t>(encode<F>(low) | encode<F>(high) << 8);
}
float positive(float x) { return x < 0 ? 0.0f : x; }

/// The first source is the upper half.
template <typename F> void addFormat(OpcodeTable &table, const std::string &name) {
  table.lanewise<[](float a, float b) -> uint16_t { return encodePair<F>(b, a); }>("cvt.rn.satfinite." + name + ".f32");
  table.lanewise<[](float a, float b) -> uint16_t { return encodePair<F>(positive(b), positive(a)); }>(
      "cvt.rn.satfinite.relu." + name + ".f32");
  table.lanewise<[](Half2 a) -> uint16_t { return encodePair<F>(toFloat(a.low()), toFloat(a.high())); }>(
      "cvt.rn.satfinite." + name + ".f16x2");
  table.lanewise<[](uint16_t a) -> Half2 {
    return Half2::pack(toHalf(decodeFp8<F>(static_cast<uint8_t>(a))),
                       toHalf(decodeFp8<F>(static_cast<uint8_t>(a >> 8))));
  }>("cvt.rn.f16x2." + name);
}

} // namespace

void addFp8Ops(OpcodeTable &table) {
  addFormat<E4M3>(table, "e4m3x2");
  addFormat<E5M2>(table, "e5m2x2");
}

} // namespace fusec::virtualgpu
