//===- FaultyDevice.h - a GPU that misbehaves as a test wants ------------------------===//
//
// Hands everything to another device, except for what `Faults` changes.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/gpu/GpuDevice.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fusec::runtime::test {

struct Faults {
  bool failsWhileCapturing = false;                                      ///< The second launch of a capture fails.
  bool refusesCapture = false;                                           ///< beginCapture() fails.
  std::function<void(std::vector<GpuGraphLaunch> &)> changeCapture = {}; ///< What graphs say they hold.
  std::optional<int64_t> freeBytes = {};
  std::optional<int> computeCapability = {};
};

/// `faults` may be changed later; it must outlive the device.
std::unique_ptr<GpuDevice> makeFaulty(std::unique_ptr<GpuDevice> device, const Faults &faults);

} // namespace fusec::runtime::test
