//===- operand.cuh - 16-bit operands of tensor cores -------------------------===//
//
// Tensor cores multiply bf16 or f16 and add in f32. A policy type says which:
//
//   Operands8 x = toOperands<Bf16>(loadFloats8(row + k));   // 8 consecutive k, rounded to nearest even
//
// Only inline PTX: no cuda_fp16.h, no cuda_bf16.h.
//
//===----------------------------------------------------------------------===//
#pragma once

namespace fusec {

/// bfloat16: the upper half of a float.
struct Bf16 {
  /// Two floats, each rounded to nearest even; `low` in bits 0..15. The first source of the instruction is the upper
  /// half.
  static __device__ __forceinline__ unsigned pack(float low, float high) {
    unsigned d;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(d) : "f"(high), "f"(low));
    return d;
  }
  static __device__ __forceinline__ float low(unsigned pair) { return __uint_as_float(pair << 16); }
  static __device__ __forceinline__ float high(unsigned pair) { return __uint_as_float(pair & 0xffff0000u); }
};

/// IEEE binary16.
struct F16 {
  static __device__ __forceinline__ unsigned pack(float low, float high) {
    unsigned d;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(d) : "f"(high), "f"(low));
    return d;
  }
  static __device__ __forceinline__ float toFloat(unsigned short half) {
    float d;
    asm("cvt.f32.f16 %0, %1;" : "=f"(d) : "h"(half));
    return d;
  }
  static __device__ __forceinline__ float low(unsigned pair) { return toFloat(static_cast<unsigned short>(pair)); }
  static __device__ __forceinline__ float high(unsigned pair) {
    return toFloat(static_cast<unsigned short>(pair >> 16));
  }
};

/// A storage type only: tensor cores take no f32.
struct F32 {};

/// 8 operands, k ascending from the low half of pair[0].
struct alignas(16) Operands8 {
  unsigned pair[4];
};

struct Floats8 {
  float v[8];
};

/// 8 floats from an address that is a multiple of 16 bytes.
__device__ __forceinline__ Floats8 loadFloats8(const float *p) {
  float4 a = *reinterpret_cast<const float4 *>(p), b = *reinterpret_cast<const float4 *>(p + 4);
  return {{a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w}};
}

/// 8 operands as they lie in memory, at a multiple of 16 bytes.
__device__ __forceinline__ Operands8 loadOperands8(const void *p) {
  uint4 v = *static_cast<const uint4 *>(p);
  return {{v.x, v.y, v.z, v.w}};
}

template <class Operand> __device__ __forceinline__ Operands8 toOperands(const Floats8 &x) {
  Operands8 result;
#pragma unroll
  for (int i = 0; i < 4; ++i)
    result.pair[i] = Operand::pack(x.v[2 * i], x.v[2 * i + 1]);
  return result;
}

template <class Operand> __device__ __forceinline__ Floats8 toFloats(const Operands8 &x) {
  Floats8 result;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    result.v[2 * i] = Operand::low(x.pair[i]);
    result.v[2 * i + 1] = Operand::high(x.pair[i]);
  }
  return result;
}

} // namespace fusec
