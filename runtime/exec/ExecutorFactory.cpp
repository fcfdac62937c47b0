//===- ExecutorFactory.cpp -----------------------------------------------------===//

#include "runtime/exec/ExecutorFactory.h"

#include "runtime/device/gpu/OpenGpuDevice.h"
#include "runtime/device/host/CpuLevel.h"
#include "runtime/exec/HostExecutor.h"
#include "runtime/exec/gpu/GpuExecutor.h"

namespace fusec::runtime {

namespace {

Result<std::unique_ptr<Executor>> createOnHost(const Artifact &artifact, const ExecutorOptions &options) {
  if (artifact.manifest.levels(TargetKind::Host).empty())
    return notFound("the artifact has no kernels for the CPU: it has " + describeTargets(artifact.manifest) +
                    "; run it with --device cuda, or compile the model with: fusec compile MODEL --target host "
                    "-o DIRECTORY");
  HostExecutorOptions host{{}, options.limits, options.numPages};
  FUSEC_ASSIGN_OR_RETURN(host.level, chooseCpuLevel(artifact.manifest.levels(TargetKind::Host), options.level));
  FUSEC_ASSIGN_OR_RETURN(HostDevice device, HostDevice::create(options.threads));
  FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<HostExecutor> executor,
                         HostExecutor::create(artifact, std::move(device), host));
  return std::unique_ptr<Executor>(std::move(executor));
}

/// The virtual device is what the artifact was compiled for, unless it is told otherwise.
std::string resolveDevice(const Artifact &artifact, const std::string &device) {
  const std::vector<std::string> levels = artifact.manifest.levels(TargetKind::Cuda);
  return device == "virtual" && !levels.empty() ? "virtual:" + levels.front() : device;
}

Result<std::unique_ptr<Executor>> createOnGpu(const Artifact &artifact, const ExecutorOptions &options) {
  GpuExecutorOptions gpu;
  gpu.limits = options.limits;
  gpu.numPages = options.numPages;
  gpu.usesGraphs = options.usesGraphs;
  gpu.progress = options.progress;
  gpu.sampleableIds = options.sampleableIds;
  FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<GpuDevice> device, openGpuDevice(resolveDevice(artifact, options.device)));
  FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<GpuExecutor> executor, GpuExecutor::create(artifact, std::move(device), gpu));
  return std::unique_ptr<Executor>(std::move(executor));
}

} // namespace

Result<std::unique_ptr<Executor>> createExecutor(const Artifact &artifact, const ExecutorOptions &options) {
  if (options.device.empty() || options.device == "host")
    return createOnHost(artifact, options);
  if (isGpuDeviceName(options.device))
    return createOnGpu(artifact, options);
  return invalidArgument("device '" + options.device + "': expected host, cuda, cuda:N, virtual or virtual:sm_NN");
}

} // namespace fusec::runtime
