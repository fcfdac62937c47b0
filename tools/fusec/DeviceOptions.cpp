//===- DeviceOptions.cpp ----------------------------------------------------------===//
#include "tools/fusec/DeviceOptions.h"

#include "runtime/device/gpu/OpenGpuDevice.h"
#include "tools/fusec/TargetChoice.h"

#include <CLI/CLI.hpp>

namespace fusec {

namespace {

bool isGpu(const std::string &device) { return !device.empty() && device != "host"; }

/// What a GPU that is opened should be compiled for.
Result<std::string> targetOf(const std::string &device) {
  FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<runtime::GpuDevice> gpu, runtime::openGpuDevice(device));
  const codegen::CudaTarget *target = codegen::cudaTargetFor(gpu->info().computeCapability);
  if (!target)
    return unsupported("fusec has no kernels for " + gpu->info().name + " (compute capability " +
                       std::to_string(gpu->info().computeCapability) + ")");
  return "cuda:" + std::string(target->name);
}

} // namespace

void DeviceOptions::declare(CLI::App &app) {
  app.add_option("--device", device,
                 "where kernels run: host, cuda, cuda:1, virtual, virtual:sm_90a; default: what --target says");
  app.add_option("--target", target, "what to compile for: host, cuda, cuda:sm_80,sm_90a; default: what --device is");
  app.add_option("--math", math, "CUDA: what matrix products round their operands to")
      ->check(CLI::IsMember(std::vector<std::string>(std::begin(mathNames), std::end(mathNames))))
      ->capture_default_str();
  app.add_option("--library-products", libraryProducts, libraryProductsHelp)->type_name("off|auto|FILE");
  app.add_flag("!--no-graphs", graphs, "GPU: launch every step kernel by kernel");
}

bool DeviceOptions::isOnGpu() const { return isGpu(device) || (device.empty() && target.starts_with("cuda")); }

Result<std::string> DeviceOptions::deviceName(const std::string &level) const {
  if (isGpu(device) && !runtime::isGpuDeviceName(device))
    return invalidArgument("--device '" + device + "': expected host, cuda, cuda:N, virtual or virtual:sm_NN");
  if (!target.empty()) {
    FUSEC_ASSIGN_OR_RETURN(TargetChoice choice, parseTargetChoice(target));
    const bool isCuda = choice.kind == TargetKind::Cuda;
    if (!device.empty() && isCuda != isGpu(device))
      return invalidArgument("--device " + device + " does not run kernels of --target " + target);
  }
  if (isOnGpu() && !level.empty())
    return invalidArgument("--level " + level + " is for the CPU, the device is a GPU; expected --target instead");
  if (!device.empty())
    return device;
  return std::string(isOnGpu() ? "cuda" : "host");
}

Result<std::string> DeviceOptions::compileTarget(const std::string &level) const {
  FUSEC_ASSIGN_OR_RETURN(std::string name, deviceName(level));
  if (!isGpu(name))
    return std::string("host");
  const bool isVirtual = name.starts_with("virtual");
  if (isVirtual && target.empty()) {
    const size_t colon = name.find(':');
    return colon == std::string::npos ? std::string("cuda") : "cuda:" + name.substr(colon + 1);
  }
  if (isVirtual)
    return target;
  // Also when the target is given: without the GPU, compiling would be in vain.
  FUSEC_ASSIGN_OR_RETURN(std::string own, targetOf(name));
  return target.empty() || target == "cuda" ? own : target;
}

} // namespace fusec
