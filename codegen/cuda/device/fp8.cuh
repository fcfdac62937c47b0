//===- fp8.cuh - 8-bit floats on tensor cores (sm_89) ---------------------------===//
//
// e4m3: 4 exponent and 3 mantissa bits, largest 448. D[16 x 8] += A[16 x 32]
// B[32 x 8] with f32 sums; lane (g, q) holds in each register 4 neighbours:
//
//   A  a0: row g, k 4q .. 4q+3    a1: row g+8    a2, a3: k + 16
//   B  b0: k 4q .. 4q+3, column g    b1: k + 16
//   C  as in mma.cuh
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mma.cuh"

namespace fusec {

/// Four floats as e4m3, rounded to nearest even, too large ones to 448; `a` in the lowest byte.
__device__ __forceinline__ unsigned packE4m3(float a, float b, float c, float d) {
  unsigned packed;
  asm("{\n .reg .b16 low, high;\n"
      " cvt.rn.satfinite.e4m3x2.f32 low, %2, %1;\n"
      " cvt.rn.satfinite.e4m3x2.f32 high, %4, %3;\n"
      " mov.b32 %0, {low, high};\n}"
      : "=r"(packed)
      : "f"(a), "f"(b), "f"(c), "f"(d));
  return packed;
}

/// c += a * b.
__device__ __forceinline__ void mmaE4m3(float *c, const FragmentA &a, const FragmentB &b) {
  asm("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a.r[0]), "r"(a.r[1]), "r"(a.r[2]), "r"(a.r[3]), "r"(b.r[0]), "r"(b.r[1]));
}

} // namespace fusec
