//===- E4m3.h - eight-bit floats by their definition ---------------------------===//
//
// The oracle of caches in E4M3: a code's value is what OCP's table says, and the
// code of a value is found by comparing it with the value of every code. Shares
// nothing with what the compiler emits.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace fusec::differential {

/// A sign, 4 bits of exponent (bias 7), 3 of mantissa; no infinities, all ones is no number.
inline float e4m3ToFloat(uint8_t code) {
  const int exponent = code >> 3 & 15, mantissa = code & 7;
  const float sign = code & 0x80 ? -1.0f : 1.0f;
  if (exponent == 15 && mantissa == 7)
    return std::copysign(std::numeric_limits<float>::quiet_NaN(), sign);
  return sign * (exponent ? std::ldexp(1 + mantissa / 8.0f, exponent - 7) : std::ldexp(mantissa / 8.0f, -6));
}

/// The nearest number's code; of two that are as near, the even one. Beyond 448: 448.
inline uint8_t floatToE4m3(float value) {
  const uint8_t sign = std::signbit(value) ? 0x80 : 0;
  if (std::isnan(value))
    return sign | 0x7f;
  const double magnitude = std::min(std::fabs(static_cast<double>(value)), 448.0);
  uint8_t best = 0;
  auto missOf = [&](uint8_t code) { return std::fabs(e4m3ToFloat(code) - magnitude); }; // exact
  for (uint8_t code = 1; code < 0x7f; ++code)
    if (missOf(code) < missOf(best) || (missOf(code) == missOf(best) && code % 2 == 0))
      best = code;
  return sign | best;
}

} // namespace fusec::differential
