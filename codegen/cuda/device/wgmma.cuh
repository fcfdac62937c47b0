//===- wgmma.cuh - the tensor core instruction of a warpgroup (sm_90a) ---------===//
//
// D[64 x N] += A[64 x 16] B[16 x N] by four warps, asynchronously: A comes from
// registers, warp w holding rows 16 w .. 16 w + 15 as in mma.cuh (FragmentA), B
// from shared memory through a descriptor, D is N / 2 floats per thread, warp w
// the rows 16 w .. as N / 8 accumulators of mma.cuh side by side.
//
//   settle(d);                             // whatever writes d and a is done here,
//   settle(a);
//   wgmmaFence();                              // and seen by
//   wgmma<Bfloat, 128, Major::K>(d, a, descriptor, keep);
//   wgmmaCommit();
//   wgmmaWait<0>();                            // until then neither d nor a may be touched:
//   settle(d);                             // whatever reads d happens from here on,
//   settle(a);                                 // and a's registers belonged to nobody else
//
// The compiler does not know that the instruction goes on after its line; settle,
// which is no instruction, keeps it from moving uses of the registers, or from
// giving them away, before the wait.
//
// Writes to B's shared memory by ordinary stores need fenceAsyncProxy() and a
// barrier before.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ptx_wgmma.cuh"

namespace fusec {

/// A matrix descriptor: 16-byte units of the address, of the leading and of the stride offset, and the swizzle.
///   K-major, no swizzle: 8 columns x 8 k are 128 bytes, 16 per column; the next 8 k at `leading`, the next 8 columns
///                        at `stride`.
///   N-major, 128 bytes:  64 columns x 8 k are 8 rows of 128 bytes, swizzled (shared_tile.cuh), 1024-byte aligned; the
///                        next 64 columns at `leading`, the next 8 k at `stride`.
__device__ __forceinline__ unsigned long long matrixDescriptor(unsigned address, int leading, int stride,
                                                               bool swizzle128) {
  unsigned long long d = (address & 0x3ffff) >> 4;
  d |= static_cast<unsigned long long>(leading >> 4) << 16;
  d |= static_cast<unsigned long long>(stride >> 4) << 32;
  return d | static_cast<unsigned long long>(swizzle128) << 62;
}

} // namespace fusec
