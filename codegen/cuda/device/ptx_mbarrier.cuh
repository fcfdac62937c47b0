//===- ptx_mbarrier.cuh - instructions on barriers in shared memory (sm_90) ------===//
//
// Inline PTX and nothing else (ptx_scalar.cuh); mbarrier.cuh says what a barrier
// is. `address` is that of its 8 bytes.
//
//===----------------------------------------------------------------------===//
#pragma once

namespace fusec {

namespace ptx {

__device__ __forceinline__ void initBarrier(unsigned address, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address), "r"(arrivals) : "memory");
}
__device__ __forceinline__ void arrive(unsigned address) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address) : "memory");
}
__device__ __forceinline__ void arriveExpecting(unsigned address, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address), "r"(bytes) : "memory");
}
__device__ __forceinline__ void waitForPhase(unsigned address, int parity) {
  asm volatile("{\n .reg .pred done;\n"
               "again:\n mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
               " @!done bra again;\n}" ::"r"(address),
               "r"(parity)
               : "memory");
}

} // namespace ptx

/// Makes fresh mbarriers known to the asynchronous copies.
__device__ __forceinline__ void fenceMbarrierInit() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

/// True in one lane of a converged warp.
__device__ __forceinline__ bool electLane() {
  unsigned elected;
  asm volatile("{\n .reg .pred p;\n elect.sync _|p, 0xffffffff;\n selp.u32 %0, 1, 0, p;\n}" : "=r"(elected));
  return elected != 0;
}

} // namespace fusec
