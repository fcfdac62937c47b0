//===- bulk_copy.cuh - copies of whole runs of bytes (sm_90) -------------------===//
//
// One thread asks, the copy engine does the rest and reports the bytes to an
// mbarrier of this block. A head's page of a cache, and the panels of a weight
// along k, are such runs.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mbarrier.cuh"

namespace fusec {

/// cp.async.bulk: `bytes`, a multiple of 16, from global to shared memory; both addresses are multiples of 16. The
/// barrier must have been told to expect them (arriveExpecting).
__device__ __forceinline__ void copyBulk(unsigned shared, const void *global, int bytes, Mbarrier barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared),
               "l"(global), "r"(bytes), "r"(barrier.address)
               : "memory");
}

} // namespace fusec
