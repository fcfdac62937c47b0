//===- page_ring.cuh - one warpgroup brings pages, the others multiply (sm_90a) -----===//
//
// The specialised form of `pipelined` (shared_tile.cuh). The block has Consumers
// warps, whose tiles have layout MmaRows<Consumers>, and after them four warps of
// producers:
//
//   PageRing<3, 8> ring{barriers};                    // 3 stages, 16 bytes of shared memory each
//   ring.start();                                     // everybody
//   if (ring.isProducer()) {
//     giveRegisters<...>();
//     ring.produce(first, end, step, [&](int stage, int j) { fillAsync<128>(keys(stage), ..., ring.producer()); });
//   } else {
//     takeRegisters<...>();
//     for (j = first; j < end; j += step, ring.advance()) {
//       ring.wait();  ... keys(ring.stage()) ...  ring.release();
//     }
//   }
//
// No __syncthreads after start(): the two sides meet at the ring's barriers only.
// A consumer may wait for the stage after its own (ring.wait(1)) to start the
// products of the next page early.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mbarrier.cuh"
#include "mma_layout.cuh"
#include "shared_tile.cuh"
#include "wgmma.cuh"

namespace fusec {

template <int Stages, int Consumers> struct PageRing {
  static constexpr int threads = 32 * (Consumers + 4), bytes = RingBarriers<Stages>::bytes;

  RingBarriers<Stages> barriers;
  RingPosition<Stages> at{};

  __device__ explicit PageRing(const void *shared) : barriers(shared) {}
  __device__ __forceinline__ void start() const { barriers.init(128, 32 * Consumers); }
  static __device__ __forceinline__ bool isProducer() { return warpIndex() >= Consumers; }
  /// The producing thread's number, 0 .. 127.
  static __device__ __forceinline__ int producer() { return static_cast<int>(threadIdx.x) - 32 * Consumers; }

  /// fetch(stage, j) starts (fillAsync) or makes (fill) the copies of step j. A stage is handed over when the next
  /// one's copies are under way.
  template <class Fetch> __device__ __forceinline__ void produce(int first, int end, int step, Fetch fetch) {
#pragma unroll 1
    for (int j = first; j < end; j += step) {
      barriers.empty(at.stage).wait(at.parity ^ 1);
      fetch(at.stage, j);
      commitAsync();
      if (j != first)
        handOver<1>(at.stage == 0 ? Stages - 1 : at.stage - 1);
      at.advance();
    }
    if (first < end)
      handOver<0>(at.stage == 0 ? Stages - 1 : at.stage - 1);
  }

  __device__ __forceinline__ int stage(int ahead = 0) const { return ahead ? next().stage : at.stage; }
  /// Until this step's stage, or the next one's, is filled.
  __device__ __forceinline__ void wait(int ahead = 0) const {
    const RingPosition<Stages> position = ahead ? next() : at;
    barriers.full(position.stage).wait(position.parity);
  }
  /// This step's stage may be filled again: nothing reads it any more.
  __device__ __forceinline__ void release() const { barriers.empty(at.stage).arrive(); }
  __device__ __forceinline__ void advance() { at.advance(); }

private:
  __device__ __forceinline__ RingPosition<Stages> next() const {
    RingPosition<Stages> position = at;
    position.advance();
    return position;
  }
  template <int pending> __device__ __forceinline__ void handOver(int stage) const {
    waitAsync<pending>();
    fenceAsyncProxy();
    barriers.full(stage).arrive();
  }
};

} // namespace fusec
