//===- ptx_scalar.cuh - instructions of one thread that C++ has no word for ----===//
//
// Like every header that holds inline PTX, this one says what a function does
// and nothing else: where kernels are compiled for the host, another header of
// this name does the same in C++ (docs/cuda/host-front-end.md).
//
//===----------------------------------------------------------------------===//
#pragma once

namespace fusec::ptx {

/// The bits of an IEEE binary16, rounded to nearest even.
__device__ __forceinline__ unsigned short halfFromFloat(float value) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
__device__ __forceinline__ float floatFromHalf(unsigned short bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}

/// Two floats, each rounded to nearest even; `low` in bits 0..15. The first source of the instructions is the upper
/// half.
__device__ __forceinline__ unsigned packBfloats(float low, float high) {
  unsigned pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
__device__ __forceinline__ unsigned packHalves(float low, float high) {
  unsigned pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

/// The larger of two; NaN if one is NaN, +0 above -0.
__device__ __forceinline__ float maximum(float a, float b) {
  float c;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
  return c;
}
__device__ __forceinline__ float minimum(float a, float b) {
  float c;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
  return c;
}

} // namespace fusec::ptx
