//===- CudaDevice.h - an NVIDIA GPU through its driver --------------------------===//
//
//   FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<GpuDevice> gpu, openCudaDevice(0));
//
// See GpuDevice.h for what it does; docs/cuda/driver.md for how.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/gpu/GpuDevice.h"

#include <memory>

namespace fusec::runtime {

/// The GPU with this number, as CUDA_VISIBLE_DEVICES leaves them. NotFound
/// without a driver or without such a GPU, Unsupported for a driver that is too
/// old.
Result<std::unique_ptr<GpuDevice>> openCudaDevice(int ordinal);

} // namespace fusec::runtime
