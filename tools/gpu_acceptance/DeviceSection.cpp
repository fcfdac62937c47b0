//===- DeviceSection.cpp - what the results are about -----------------------------===//
#include "tools/gpu_acceptance/Nvml.h"
#include "tools/gpu_acceptance/Section.h"

#include "runtime/device/gpu/OpenGpuDevice.h"

#include <charconv>

namespace fusec::acceptance {

using namespace fusec::runtime;

namespace {

/// The number in "cuda:1".
unsigned ordinalOf(const std::string &device) {
  unsigned ordinal = 0;
  if (const size_t colon = device.find(':'); colon != std::string::npos)
    std::from_chars(device.data() + colon + 1, device.data() + device.size(), ordinal);
  return ordinal;
}

} // namespace

Status runDeviceFacts(const Settings &settings, Report &report) {
  FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<GpuDevice> device, openGpuDevice(settings.device));
  const GpuInfo &info = device->info();
  report.fact("gpu", info.name);
  report.fact("compute_capability", info.computeCapability);
  report.fact("multiprocessors", info.multiprocessors);
  report.fact("memory_bytes", info.memoryBytes);
  report.fact("shared_bytes_per_block", info.sharedBytesPerBlock);
  report.fact("cuda_of_driver", info.driverVersion);
  FUSEC_ASSIGN_OR_RETURN(int64_t free, device->freeBytes());
  report.fact("free_bytes", free);
  const nlohmann::ordered_json managed =
      info.isVirtual ? nlohmann::ordered_json::object() : readNvml(ordinalOf(settings.device));
  for (const auto &[name, value] : managed.items())
    report.fact(name, value);
  report.check("opened", info.computeCapability >= 80, "compute capability " + std::to_string(info.computeCapability));
  return {};
}

} // namespace fusec::acceptance
