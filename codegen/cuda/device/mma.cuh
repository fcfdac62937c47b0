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
#include "ptx_matrix.cuh"

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
  ptx::multiplyBfloats(c, a.r, b.r);
}

template <> __device__ __forceinline__ void mma<Half>(float *c, const FragmentA &a, const FragmentB &b) {
  ptx::multiplyHalves(c, a.r, b.r);
}

} // namespace fusec
