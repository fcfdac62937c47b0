//===- cp_async.cuh - copies from global to shared memory behind the arithmetic ===//
//
// sm_80's asynchronous copy: 16 bytes per thread and instruction, past the
// registers. Copies of a thread form groups in program order; waiting for a
// group makes its bytes visible to the thread that copied them only: a barrier
// has to follow before others read.
//
//   copyAsync(shared, global);  commitAsync();  ...  waitAsync<0>();  __syncthreads();
//
//===----------------------------------------------------------------------===//
#pragma once

namespace fusec {

/// A pointer into shared memory as the 32-bit address that PTX wants.
__device__ __forceinline__ unsigned sharedAddress(const void *p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

/// cp.async.cg: 16 bytes, both addresses multiples of 16, kept out of L1. Without a source the bytes become 0.
__device__ __forceinline__ void copyAsync(unsigned shared, const void *global) {
  asm volatile("{\n .reg .pred p;\n setp.ne.u64 p, %1, 0;\n"
               " @p cp.async.cg.shared.global [%0], [%1], 16;\n"
               " @!p st.shared.v4.b32 [%0], {0, 0, 0, 0};\n}"
               :
               : "r"(shared), "l"(global)
               : "memory");
}

/// cp.async.commit_group: ends a group of copies, possibly an empty one.
__device__ __forceinline__ void commitAsync() { asm volatile("cp.async.commit_group;" ::: "memory"); }

/// cp.async.wait_group: waits until at most `pending` of this thread's newest groups are still under way.
template <int pending> __device__ __forceinline__ void waitAsync() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}
#if __CUDA_ARCH__ >= 900
/// Orders this thread's ordinary accesses to shared memory before what wgmma and bulk copies do after the next barrier.
__device__ __forceinline__ void fenceAsyncProxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
#endif

} // namespace fusec
