//===- EventTimer.h - times of repeated work by events ---------------------------===//
#pragma once

#include "runtime/device/gpu/GpuDevice.h"

#include <functional>
#include <string>
#include <vector>

namespace fusec::acceptance {

/// Queues the work of repeat `i`, counted on through the warm-ups.
using TimedWork = std::function<Status(int i)>;

/// Milliseconds of each repeat, without the warm-ups, by events of `stream` around it; each repeat is waited for.
Result<std::vector<double>> timeByEvents(runtime::GpuDevice &device, runtime::GpuStream &stream, bool quick,
                                         const TimedWork &work);

/// `amount` per repeat in units of `unit` per second.
std::vector<double> ratesOf(const std::vector<double> &milliseconds, double amount, double unit);

} // namespace fusec::acceptance
