//===- Float16.h - conversions between float, half and bfloat16 ------------===//
//
// Exact bit-level conversions that do not depend on the host's instructions:
// subnormals are kept, rounding is to nearest even, a NaN stays a NaN (quiet),
// values too large become infinity. Half and bfloat16 travel as uint16_t.
//
// Pure functions; safe from any thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <bit>
#include <cstdint>

namespace fusec {

/// IEEE binary16 to binary32; exact.
constexpr float halfToFloat(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t exponent = (half >> 10) & 0x1fu;
  const uint32_t mantissa = half & 0x3ffu;
  if (exponent == 31) // infinity, or NaN with its payload made quiet
    return std::bit_cast<float>(sign | 0x7f800000u | (mantissa ? 0x400000u : 0u) | mantissa << 13);
  if (exponent != 0)
    return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  if (mantissa == 0)
    return std::bit_cast<float>(sign);
  // Subnormal: mantissa * 2^-24. Its leading one becomes the implicit bit.
  const int shift = std::countl_zero(mantissa) - 21;
  return std::bit_cast<float>(sign | static_cast<uint32_t>(113 - shift) << 23 | ((mantissa << shift) & 0x3ffu) << 13);
}

/// IEEE binary32 to binary16, nearest even.
constexpr uint16_t floatToHalf(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint16_t sign = static_cast<uint16_t>(bits >> 16 & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u)
    return static_cast<uint16_t>(sign | 0x7e00u | (magnitude >> 13 & 0x3ffu));
  if (magnitude >= 0x477ff000u) // 65520, halfway between the largest half and 2^16, rounds to infinity
    return sign | 0x7c00u;
  if (magnitude < 0x33000000u) // below 2^-25, half the smallest subnormal
    return sign;
  const uint32_t exponent = magnitude >> 23;
  uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
  // `drop` bits of the 24-bit significand fall off; subnormal halves lose more.
  const uint32_t drop = exponent < 113 ? 126 - exponent : 13;
  const uint32_t kept = mantissa >> drop;
  const uint32_t rest = mantissa & ((1u << drop) - 1);
  const uint32_t tie = 1u << (drop - 1);
  const uint32_t rounded = kept + (rest > tie || (rest == tie && (kept & 1)));
  // A carry out of the significand moves into the exponent, as it should.
  const uint32_t base = exponent < 113 ? 0 : (exponent - 113) << 10;
  return static_cast<uint16_t>(sign | (base + rounded));
}

/// bfloat16 to binary32; exact.
constexpr float bfloatToFloat(uint16_t bfloat) { return std::bit_cast<float>(static_cast<uint32_t>(bfloat) << 16); }

/// binary32 to bfloat16, nearest even.
constexpr uint16_t floatToBfloat(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    return static_cast<uint16_t>(bits >> 16 | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

} // namespace fusec
