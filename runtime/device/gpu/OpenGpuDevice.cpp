//===- OpenGpuDevice.cpp ----------------------------------------------------------===//

#include "runtime/device/gpu/OpenGpuDevice.h"

#include "runtime/device/cuda/CudaDevice.h"
#include "runtime/device/virtual/VirtualDevice.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

namespace fusec::runtime {

namespace {

using Opened = Result<std::unique_ptr<GpuDevice>>;

Opened openCuda(std::string_view argument) {
  int ordinal = 0;
  auto [end, error] = std::from_chars(argument.data(), argument.data() + argument.size(), ordinal);
  if (!argument.empty() && (error != std::errc() || end != argument.data() + argument.size()))
    return invalidArgument("device 'cuda:" + std::string(argument) + "': expected the number of a GPU, as in cuda:0");
  return openCudaDevice(ordinal);
}

Opened openVirtual(std::string_view argument) {
  virtualgpu::VirtualOptions options;
  if (!argument.empty())
    options.target = argument;
  FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<virtualgpu::VirtualDevice> device, virtualgpu::VirtualDevice::create(options));
  return std::unique_ptr<GpuDevice>(std::move(device));
}

struct DeviceKind {
  std::string_view name;
  Opened (*open)(std::string_view argument); ///< What follows the colon; empty without one.
};
constexpr DeviceKind deviceKinds[] = {{"cuda", openCuda}, {"virtual", openVirtual}};

const DeviceKind *findKind(std::string_view spec) {
  const std::string_view name = spec.substr(0, spec.find(':'));
  const DeviceKind *row =
      std::find_if(std::begin(deviceKinds), std::end(deviceKinds), [&](const DeviceKind &k) { return k.name == name; });
  return row == std::end(deviceKinds) ? nullptr : row;
}

} // namespace

bool isGpuDeviceName(std::string_view spec) { return findKind(spec) != nullptr; }

Opened openGpuDevice(std::string_view spec) {
  const DeviceKind *kind = findKind(spec);
  const size_t colon = spec.find(':');
  if (!kind || colon == spec.size() - 1)
    return invalidArgument("device '" + std::string(spec) + "': expected cuda, cuda:N, virtual or virtual:sm_NN");
  return kind->open(colon == std::string_view::npos ? std::string_view() : spec.substr(colon + 1));
}

} // namespace fusec::runtime
