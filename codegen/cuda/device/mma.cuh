//===- mma.cuh - the tensor core instruction of one warp ---------------------===//
//
// D[16 x 8] = A[16 x 16] B[16 x 8] + C, f32 sums. Lane = 4 g + q holds
//
//   A  4 registers, 2 values each (low half = lower column):
//        a0: row g,   columns 2q, 2q+1       a1: row g+8, columns 2q, 2q+1
//        a2: row g,   columns 2q+8, 2q+9     a3: row g+8, columns 2q+8, 2q+9
//   B  2 registers: b0: rows 2q, 2q+1, column g       b1: rows 2q+8, 2q+9, column g
//   C  4 floats: c0, c1: row g, columns 2q, 2q+1      c2, c3: row g+8, columns 2q, 2q+1
//
// (PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type"). k,
// A's columns and B's rows, may be permuted at will if A and B agree: the
// instruction only sums over it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "operand.cuh"

namespace fusec {

/// The A operand of one m16n8k16.
struct FragmentA {
  unsigned r[4];
};

/// The B operand of one m16n8k16.
struct FragmentB {
  unsigned r[2];
};

/// This lane's place in the fragments above.
struct MmaLane {
  int g, q;
};

__device__ __forceinline__ MmaLane mmaLane() {
  int lane = static_cast<int>(threadIdx.x) & 31;
  return {lane >> 2, lane & 3};
}

/// c += a * b for all 32 lanes of the warp.
template <class Operand> __device__ void mma(float *c, const FragmentA &a, const FragmentB &b);

template <> __device__ __forceinline__ void mma<Bfloat>(float *c, const FragmentA &a, const FragmentB &b) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a.r[0]), "r"(a.r[1]), "r"(a.r[2]), "r"(a.r[3]), "r"(b.r[0]), "r"(b.r[1]));
}

template <> __device__ __forceinline__ void mma<Half>(float *c, const FragmentA &a, const FragmentB &b) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a.r[0]), "r"(a.r[1]), "r"(a.r[2]), "r"(a.r[3]), "r"(b.r[0]), "r"(b.r[1]));
}

} // namespace fusec
