//===- ptx_scalar.cuh - what codegen/cuda/device/ptx_scalar.cuh does, in C++ ----===//
#pragma once

namespace fusec::ptx {

inline unsigned short halfFromFloat(float value) { return hostcuda::halfFromFloat(value); }
inline float floatFromHalf(unsigned short bits) { return hostcuda::floatFromHalf(bits); }
inline unsigned packBfloats(float low, float high) {
  return hostcuda::bfloatFromFloat(low) | static_cast<unsigned>(hostcuda::bfloatFromFloat(high)) << 16;
}
inline unsigned packHalves(float low, float high) {
  return hostcuda::halfFromFloat(low) | static_cast<unsigned>(hostcuda::halfFromFloat(high)) << 16;
}

/// max.NaN gives the canonical NaN.
inline float maximum(float a, float b) {
  return a != a || b != b ? __int_as_float(0x7fffffff) : a > b || (a == b && !__builtin_signbit(a)) ? a : b;
}
inline float minimum(float a, float b) {
  return a != a || b != b ? __int_as_float(0x7fffffff) : a < b || (a == b && __builtin_signbit(a)) ? a : b;
}

} // namespace fusec::ptx
