//===- mbarrier.cuh - barriers in shared memory that count arrivals and bytes (sm_90) ===//
//
// An mbarrier completes a phase when `arrivals` threads have arrived and all
// announced bytes have been copied; then the next phase begins. Who waits says
// which phase by its parity: 0, 1, 0, ... A ring of stages has two per stage:
//
//   full:  producers arrive (or copies deliver their bytes), consumers wait
//   empty: consumers arrive, producers wait; on a fresh barrier the phase
//          before the first counts as complete: wait for parity 1
//
//===----------------------------------------------------------------------===//
#pragma once

#include "cp_async.cuh"
#include "ptx_mbarrier.cuh"

namespace fusec {

struct Mbarrier {
  unsigned address; ///< Of 8 bytes, 8-byte aligned, in shared memory.

  /// By one thread; others may use it after fenceMbarrierInit() and a barrier of the block.
  __device__ __forceinline__ void init(int arrivals) const { ptx::initBarrier(address, arrivals); }
  /// Release: what this thread wrote is visible to who waits.
  __device__ __forceinline__ void arrive() const { ptx::arrive(address); }
  /// Arrives and announces bytes that copies will deliver in this phase.
  __device__ __forceinline__ void arriveExpecting(int bytes) const { ptx::arriveExpecting(address, bytes); }
  /// Until the phase of this parity is complete. Acquire.
  __device__ __forceinline__ void wait(int parity) const { ptx::waitForPhase(address, parity); }
};

/// Position in a ring of Stages stages and the parity of its round.
template <int Stages> struct RingPosition {
  int stage = 0, parity = 0;
  __device__ __forceinline__ void advance() {
    if (++stage == Stages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

/// The full and empty barriers of a ring of Stages stages, in 16 * Stages bytes of shared memory.
template <int Stages> struct RingBarriers {
  static constexpr int bytes = 16 * Stages;
  unsigned base;

  __device__ explicit RingBarriers(const void *shared) : base(sharedAddress(shared)) {}
  __device__ __forceinline__ Mbarrier full(int stage) const { return {base + 16 * stage}; }
  __device__ __forceinline__ Mbarrier empty(int stage) const { return {base + 16 * stage + 8}; }
  /// By all threads of the block, before any use.
  __device__ __forceinline__ void init(int producers, int consumers) const {
    if (threadIdx.x == 0) {
#pragma unroll
      for (int s = 0; s < Stages; ++s) {
        full(s).init(producers);
        empty(s).init(consumers);
      }
      fenceMbarrierInit();
    }
    __syncthreads();
  }
};

} // namespace fusec
