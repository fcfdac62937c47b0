//===- ptx_matrix.cuh - matrix instructions of a warp on registers -------------===//
//
// Inline PTX and nothing else (ptx_scalar.cuh). Fragments as mma.cuh and
// plain_panel.cuh describe them. All 32 lanes of a warp together.
//
//===----------------------------------------------------------------------===//
#pragma once

namespace fusec::ptx {

/// mma.m16n8k16: c += a * b.
__device__ __forceinline__ void multiplyBfloats(float *c, const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ __forceinline__ void multiplyHalves(float *c, const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/// movmatrix.trans: an 8 x 8 matrix of 16-bit elements, lane (g, q) holding (g, 2q), (g, 2q+1), is transposed.
__device__ __forceinline__ unsigned transposed(unsigned pair) {
  unsigned result;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(result) : "r"(pair));
  return result;
}

} // namespace fusec::ptx
