//===- scalar.cuh - storage floats and exact scalar helpers ----------------===//
//
// Half and Bfloat are what caches and weights store, E4m3 what only caches do;
// arithmetic on them happens in f32 with one rounding per operation, as on the
// host. No toolkit header is needed: conversions are one PTX instruction, or
// integers.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ptx_scalar.cuh"

namespace fusec {

/// IEEE binary16.
struct Half {
  unsigned short bits;
  Half() = default;
  /// Rounds to nearest even.
  __device__ explicit Half(float value) : bits(ptx::halfFromFloat(value)) {}
  __device__ operator float() const { return ptx::floatFromHalf(bits); }
};

/// The upper half of a float.
struct Bfloat {
  unsigned short bits;
  Bfloat() = default;
  /// Rounds to nearest even; a NaN stays one: rounding it up could carry into the sign.
  __device__ explicit Bfloat(float value) {
    const unsigned all = __float_as_uint(value), upper = all >> 16;
    bits = static_cast<unsigned short>(value != value ? upper | 0x40 : (all + 0x7fff + (upper & 1)) >> 16);
  }
  __device__ operator float() const { return __uint_as_float(static_cast<unsigned>(bits) << 16); }
};

/// OCP's E4M3: bias 7, largest 448, no infinities, NaN 0x7f. Integers, so that it is the same on every target.
struct E4m3 {
  unsigned char bits;
  E4m3() = default;
  /// Rounds to nearest even; what is larger than 448 becomes 448.
  __device__ explicit E4m3(float value) {
    const unsigned all = __float_as_uint(value), rest = all & 0x7fffffff;
    const unsigned magnitude = rest < 0x43e00000 ? rest : 0x43e00000;
    const unsigned normal = ((magnitude + 0x7ffff + (magnitude >> 20 & 1)) >> 20) - (120 << 3);
    // Subnormal codes count multiples of 2^-9, which is the last bit of a float from 2^14 on.
    const unsigned subnormal = __float_as_uint(__uint_as_float(magnitude) + 16384.0f) - 0x46800000;
    const unsigned code = (magnitude < 0x3c800000 ? subnormal : normal) | (all >> 24 & 0x80);
    bits = static_cast<unsigned char>(value != value ? 0x7f : code);
  }
  /// As a half the bits are the value times 2^-8.
  __device__ operator float() const {
    const unsigned rest = bits & 0x7f;
    const float value = ptx::floatFromHalf(static_cast<unsigned short>((bits & 0x80) << 8 | rest << 7)) * 256.0f;
    return rest == 0x7f ? __int_as_float(0x7fffffff) : value;
  }
};

/// A short float from its bits.
template <class T> __device__ T fromBits(decltype(T::bits) bits) {
  T value;
  value.bits = bits;
  return value;
}

// a * b + c, rounded once.
__device__ inline float fused(float a, float b, float c) { return __fmaf_rn(a, b, c); }
__device__ inline double fused(double a, double b, double c) { return __fma_rn(a, b, c); }
__device__ inline Half fused(Half a, Half b, Half c) { return Half(__fmaf_rn(a, b, c)); }
__device__ inline Bfloat fused(Bfloat a, Bfloat b, Bfloat c) { return Bfloat(__fmaf_rn(a, b, c)); }

/// The larger of two; NaN if one is NaN, +0 above -0.
using ptx::maximum;
using ptx::minimum;
__device__ inline double maximum(double a, double b) { return a != a || b != b ? a + b : fmax(a, b); }
__device__ inline double minimum(double a, double b) { return a != a || b != b ? a + b : fmin(a, b); }

/// T, where no template argument is to be deduced from it.
template <class T> struct SameType {
  using type = T;
};
template <class T> using Same = typename SameType<T>::type;

// The order of integers; an unsigned type compares as unsigned.
template <class T> __device__ T larger(T a, Same<T> b) { return a > b ? a : b; }
template <class T> __device__ T smaller(T a, Same<T> b) { return a < b ? a : b; }

template <class T> __device__ T infinity() { return static_cast<T>(__int_as_float(0x7f800000)); }
template <class T> __device__ T notANumber() { return static_cast<T>(__int_as_float(0x7fc00000)); }

/// The same bits as another type.
template <class To, class From> __device__ To bitsAs(From from) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, from);
}

/// Quotient rounded down and remainder of the divisor's sign, for a positive divisor.
template <class T> __device__ T floorDivide(T a, Same<T> m) { return a / m - (a % m < 0); }
template <class T> __device__ T floorModulo(T a, Same<T> m) { return a % m + (a % m < 0 ? m : 0); }

/// True for 0 <= index < extent.
template <class T> __device__ bool inside(T index, Same<T> extent) { return index >= 0 && index < extent; }
/// `index` forced into [0, last]; negative ones become `last`.
template <class T> __device__ T clamped(T index, Same<T> last) { return index >= 0 && index < last ? index : last; }

} // namespace fusec
