//===- bulk_copy.cuh - what codegen/cuda/device/bulk_copy.cuh does, in C++ --------===//
#pragma once

#include "mbarrier.cuh"

namespace fusec {

inline void copyBulk(unsigned shared, const void *global, int bytes, Mbarrier barrier) {
  hostcuda::copyBulk(shared, global, bytes, barrier.address);
}

} // namespace fusec
