//===- Fp8Ops.cpp - pairs of 8-bit floats ------------------------------------===//
//
// e4m3: 1 sign, 4 exponent (bias 7), 3 mantissa bits, largest 448, NaN 7f, no infinity.
// e5m2: 1 sign, 5 exponent (bias 15), 2 mantissa bits, largest 57344, like a short f16.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/virtual/ops/FloatFormats.h"
#include "runtime/device/virtual/ops/OpcodeTable.h"

namespace fusec::virtualgpu {
namespace {

struct E4M3 {
  static constexpr int mantissa = 3, bias = 7;
  static constexpr float largest = 448;
  static constexpr uint8_t nan = 0x7f;
};
struct E5M2 {
  static constexpr int mantissa = 2, bias = 15;
  static constexpr float largest = 57344;
  static constexpr uint8_t nan = 0x7f;
};

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

template <typename F> float decode(uint8_t bits) {
  const int exponent = bits >> F::mantissa & ((1 << (7 - F::mantissa)) - 1), low = bits & ((1 << F::mantissa) - 1);
  float magnitude = exponent
                        ? std::ldexp(static_cast<float>((1 << F::mantissa) + low), exponent - F::bias - F::mantissa)
                        : std::ldexp(static_cast<float>(low), 1 - F::bias - F::mantissa);
  if (F::mantissa == 3 ? (bits & 0x7f) == 0x7f : (exponent == 31 && low != 0))
    magnitude = NAN;
  else if (F::mantissa == 2 && exponent == 31)
    magnitude = INFINITY;
  return bits & 0x80 ? -magnitude : magnitude;
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
    return Half2::pack(toHalf(decode<F>(static_cast<uint8_t>(a))), toHalf(decode<F>(static_cast<uint8_t>(a >> 8))));
  }>("cvt.rn.f16x2." + name);
}

} // namespace

void addFp8Ops(OpcodeTable &table) {
  addFormat<E4M3>(table, "e4m3x2");
  addFormat<E5M2>(table, "e5m2x2");
}

} // namespace fusec::virtualgpu
