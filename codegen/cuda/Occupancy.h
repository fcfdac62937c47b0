//===- Occupancy.h - how many blocks of a kernel fit a multiprocessor ------===//
//
// The limits of hardware are those of the target's row; the rules are NVIDIA's
// (registers are given to whole warps of a quarter of a multiprocessor, shared
// memory in granules after the driver's own kilobyte). OccupancyTest compares
// the result with cuda_occupancy.h over a grid of kernels where a toolkit is at hand.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cuda/CudaTarget.h"

namespace fusec::codegen {

/// What a kernel asks of a multiprocessor.
struct KernelNeeds {
  int threads = 0;         ///< Per block.
  int registers = 0;       ///< Per thread.
  int64_t sharedBytes = 0; ///< Per block, static and dynamic.
  int barriers = 0;        ///< Named barriers, as ptxas counts them.
};

struct Occupancy {
  int blocks = 0;      ///< At once on one multiprocessor; 0 = the kernel cannot be launched.
  double fraction = 0; ///< Of the warp slots.
  std::string limit;   ///< What allows no more: "threads", "blocks", "registers", "shared memory" or "barriers".
};

Occupancy occupancyOf(const CudaTarget &target, const KernelNeeds &needs);

} // namespace fusec::codegen
