//===- FloatFormats.h - f16, bf16, tf32 and directed rounding ----------------===//
//
// Conversions that are exact about rounding. Results that do not fit a double
// are first rounded to odd: a later rounding to fewer bits is then correct.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace fusec::virtualgpu {

/// Registers that hold one or two small floats; distinct types choose the right overloads.
struct Half {
  uint16_t bits;
};
struct Brain {
  uint16_t bits;
};
struct Half2 {
  uint32_t bits;
  Half low() const { return {static_cast<uint16_t>(bits)}; }
  Half high() const { return {static_cast<uint16_t>(bits >> 16)}; }
  static Half2 pack(Half low, Half high) { return {low.bits | uint32_t(high.bits) << 16}; }
};
struct Brain2 {
  uint32_t bits;
  Brain low() const { return {static_cast<uint16_t>(bits)}; }
  Brain high() const { return {static_cast<uint16_t>(bits >> 16)}; }
  static Brain2 pack(Brain low, Brain high) { return {low.bits | uint32_t(high.bits) << 16}; }
};

inline float toFloat(Half h) { return static_cast<float>(std::bit_cast<_Float16>(h.bits)); }
inline float toFloat(Brain b) { return std::bit_cast<float>(uint32_t(b.bits) << 16); }

inline Half toHalf(float f) { return {std::bit_cast<uint16_t>(static_cast<_Float16>(f))}; }
inline Brain toBrain(float f) {
  uint32_t u = std::bit_cast<uint32_t>(f);
  uint32_t rounded = (u + 0x7fff + (u >> 16 & 1)) >> 16;
  return {static_cast<uint16_t>((u & 0x7fffffff) > 0x7f800000 ? 0x7fff : rounded)};
}

/// To the nearest float whose last bit is odd, if inexact: safe before another rounding.
inline float toFloatOdd(double d) {
  float f = static_cast<float>(d);
  double back = f;
  uint32_t bits = std::bit_cast<uint32_t>(f);
  bool away = std::fabs(back) > std::fabs(d);
  uint32_t truncated = away ? bits - 1 : bits;
  return std::bit_cast<float>(back == d || d != d ? bits : truncated | 1);
}

/// a + b as a double rounded to odd (exact operands).
inline double addOdd(double a, double b) {
  double s = a + b;
  double t = s - a;
  double error = (a - (s - t)) + (b - t);
  uint64_t bits = std::bit_cast<uint64_t>(s);
  bool inexact = error != 0 && std::fabs(s) <= 1.7e308;
  bool away = (error < 0) == (s > 0); // |s| is larger than the exact sum.
  uint64_t truncated = away ? bits - 1 : bits;
  return std::bit_cast<double>(inexact ? truncated | 1 : bits);
}
inline double fmaOdd(float a, float b, float c) { return addOdd(double(a) * double(b), c); }

enum class Rounding { NearestEven, Zero, Down, Up };

/// A double (exact, or rounded to odd) to float in a given direction.
template <Rounding R> float roundToFloat(double d) {
  float f = static_cast<float>(d);
  if constexpr (R == Rounding::NearestEven)
    return f;
  if (d != d || std::fabs(d) == HUGE_VAL)
    return f;
  double back = f;
  if constexpr (R == Rounding::Zero)
    return std::fabs(back) > std::fabs(d) ? std::nextafterf(f, 0.0f) : f;
  if constexpr (R == Rounding::Down)
    return back > d ? std::nextafterf(f, -HUGE_VALF) : f;
  return back < d ? std::nextafterf(f, HUGE_VALF) : f;
}

/// Rounds away the low 13 bits of a float, ties away from zero (cvt.rna.tf32).
inline uint32_t toTf32(float f) {
  uint32_t u = std::bit_cast<uint32_t>(f);
  return (u & 0x7f800000) == 0x7f800000 ? u : (u + 0x1000) & ~0x1fffu;
}

/// Subnormal numbers become zero with the same sign (.ftz).
inline float flush(float f) {
  uint32_t u = std::bit_cast<uint32_t>(f);
  return std::bit_cast<float>((u & 0x7f800000) == 0 ? u & 0x80000000 : u);
}

/// [0, 1], NaN to 0 (.sat).
template <typename T> T saturateUnit(T x) { return x > T(0) ? (x < T(1) ? x : T(1)) : T(0); }

} // namespace fusec::virtualgpu
