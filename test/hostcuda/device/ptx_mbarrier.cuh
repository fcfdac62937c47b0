//===- ptx_mbarrier.cuh - what codegen/cuda/device/ptx_mbarrier.cuh does, in C++ --===//
#pragma once

namespace fusec {

namespace ptx {

inline void initBarrier(unsigned address, int arrivals) { hostcuda::initBarrier(address, arrivals); }
inline void arrive(unsigned address) { hostcuda::arrive(address, 0); }
inline void arriveExpecting(unsigned address, int bytes) { hostcuda::arrive(address, bytes); }
inline void waitForPhase(unsigned address, int parity) { hostcuda::waitForPhase(address, parity); }

} // namespace ptx

inline void fenceMbarrierInit() {}
inline bool electLane() {
  __syncwarp();
  return hostcuda::laneOfThread() == 0;
}

} // namespace fusec
