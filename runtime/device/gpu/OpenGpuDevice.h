//===- OpenGpuDevice.h - from a device's name to the device -----------------------===//
//
//   cuda            the first GPU of the NVIDIA driver
//   cuda:1          the second one
//   virtual         the virtual device (docs/cuda/virtual-device.md), as an sm_80
//   virtual:sm_90a  the same as another architecture
//
// One row per kind in OpenGpuDevice.cpp.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/gpu/GpuDevice.h"

#include <memory>
#include <string>
#include <string_view>

namespace fusec::runtime {

/// True for names that openGpuDevice reads, whether or not the device exists.
bool isGpuDeviceName(std::string_view spec);

/// InvalidArgument for a name that is none of the above; else what opening says.
Result<std::unique_ptr<GpuDevice>> openGpuDevice(std::string_view spec);

} // namespace fusec::runtime
