//===- operand.cuh - 16-bit operands of tensor cores -------------------------===//
//
// Tensor cores multiply bf16 or f16 and add in f32. Bfloat or Half
// (scalar.cuh) says which:
//
//   Operands8 x = toOperands<Bfloat>(loadFloats8(row + k));   // 8 consecutive k, rounded to nearest even
//
//===----------------------------------------------------------------------===//
#pragma once

#include "scalar.cuh"

namespace fusec {

/// Two floats, each rounded to nearest even; `low` in bits 0..15.
template <class Operand> __device__ unsigned packPair(float low, float high);
template <> __device__ __forceinline__ unsigned packPair<Bfloat>(float low, float high) {
  return ptx::packBfloats(low, high);
}
template <> __device__ __forceinline__ unsigned packPair<Half>(float low, float high) {
  return ptx::packHalves(low, high);
}

template <class Operand> __device__ __forceinline__ float lowOf(unsigned pair) {
  return fromBits<Operand>(static_cast<unsigned short>(pair));
}
template <class Operand> __device__ __forceinline__ float highOf(unsigned pair) {
  return fromBits<Operand>(static_cast<unsigned short>(pair >> 16));
}

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

/// f(x[i]...) for each of the 8.
template <class F, class... X> __device__ __forceinline__ Floats8 each8(F f, const X &...x) {
  Floats8 result;
#pragma unroll
  for (int i = 0; i < 8; ++i)
    result.v[i] = f(x.v[i]...);
  return result;
}

/// f(0) to f(7).
template <class F> __device__ __forceinline__ Floats8 floats8(F f) {
  Floats8 result;
#pragma unroll
  for (int i = 0; i < 8; ++i)
    result.v[i] = f(i);
  return result;
}

template <class Operand> __device__ __forceinline__ Operands8 toOperands(const Floats8 &x) {
  Operands8 result;
#pragma unroll
  for (int i = 0; i < 4; ++i)
    result.pair[i] = packPair<Operand>(x.v[2 * i], x.v[2 * i + 1]);
  return result;
}

template <class Operand> __device__ __forceinline__ Floats8 toFloats(const Operands8 &x) {
  Floats8 result;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    result.v[2 * i] = lowOf<Operand>(x.pair[i]);
    result.v[2 * i + 1] = highOf<Operand>(x.pair[i]);
  }
  return result;
}

/// 8 floats from shorter ones at a multiple of 8 times their size.
template <class Stored> __device__ __forceinline__ Floats8 loadFloats8(const Stored *p) {
  static_assert(sizeof(Stored) == 2);
  return toFloats<Stored>(loadOperands8(p));
}
__device__ __forceinline__ Floats8 loadFloats8(const E4m3 *p) {
  const uint2 codes = *reinterpret_cast<const uint2 *>(p);
  return floats8([&](int i) {
    return float(fromBits<E4m3>(static_cast<unsigned char>((i < 4 ? codes.x : codes.y) >> (8 * (i % 4)))));
  });
}

} // namespace fusec
