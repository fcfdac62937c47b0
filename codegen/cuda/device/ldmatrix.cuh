//===- ldmatrix.cuh - mma operands from shared memory ------------------------===//
//
// ldmatrix.x4 reads four 8 x 8 matrices of 16-bit elements; lanes 8m .. 8m + 7
// give the addresses of matrix m's rows (16 bytes each). Lane (g, q) gets in
// register m elements (g, 2q), (g, 2q+1); with .trans (2q, g), (2q+1, g), which
// is B's fragment of a matrix that is stored row by row (rows are k).
//
//===----------------------------------------------------------------------===//
#pragma once

namespace fusec {

__device__ __forceinline__ void loadMatrices(unsigned (&r)[4], unsigned rowAddress) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(rowAddress)
               : "memory");
}

__device__ __forceinline__ void loadMatricesTransposed(unsigned (&r)[4], unsigned rowAddress) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(rowAddress)
               : "memory");
}

} // namespace fusec
