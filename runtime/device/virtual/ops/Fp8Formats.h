//===- Fp8Formats.h - 8-bit floats ---------------------------------------------===//
//
// e4m3: 1 sign, 4 exponent (bias 7), 3 mantissa bits, largest 448, NaN 7f, no infinity.
// e5m2: 1 sign, 5 exponent (bias 15), 2 mantissa bits, largest 57344, like a short f16.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cmath>
#include <cstdint>

namespace fusec::virtualgpu {

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

template <typename F> float decodeFp8(uint8_t bits) {
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

} // namespace fusec::virtualgpu
