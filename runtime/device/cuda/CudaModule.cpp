//===- CudaModule.cpp -----------------------------------------------------------===//

#include "runtime/device/cuda/CudaModule.h"

#include <array>
#include <vector>

namespace fusec::runtime::cuda {

namespace {

/// A buffer the driver's loader and JIT write to.
struct LoaderLog {
  std::array<char, 16384> text{};

  /// Without the blank lines at its end; empty when the loader had nothing to say.
  std::string str() const {
    std::string all(text.data());
    while (!all.empty() && (all.back() == '\n' || all.back() == ' '))
      all.pop_back();
    return all;
  }
};

bool isImageError(CallResult result) {
  switch (result) {
  case InvalidImage:
  case NoBinaryForGpu:
  case InvalidPtx:
  case UnsupportedPtxVersion:
  case InvalidValue:
    return true;
  default:
    return false;
  }
}

} // namespace

Result<std::unique_ptr<CudaModule>> CudaModule::load(std::shared_ptr<CudaContext> context,
                                                     std::span<const std::byte> image, const std::string &name) {
  const CudaDriverApi &api = *context->api;
  // PTX is a C string to the driver. A cubin carries its size; the extra byte does not matter.
  std::vector<std::byte> terminated(image.begin(), image.end());
  terminated.push_back(std::byte{0});
  LoaderLog log;
  JitOption options[] = {ErrorLogBuffer, ErrorLogBufferSize};
  void *values[] = {log.text.data(), reinterpret_cast<void *>(log.text.size() - 1)};
  Module handle = nullptr;
  ContextScope scope(*context);
  const CallResult result = api.cuModuleLoadDataEx(&handle, terminated.data(), 2, options, values);
  if (result == Success)
    return std::unique_ptr<CudaModule>(new CudaModule(std::move(context), handle, name));
  std::string said = log.str();
  Status status =
      api.check(result, name + ": the driver for CUDA " + versionText(api.driverVersion) + " cannot load the kernel");
  std::string message = status.message() + (said.empty() ? "" : ": " + said);
  return isImageError(result) ? corruptData(message) : Status(status.code(), message);
}

CudaModule::~CudaModule() {
  for (const auto &[kernel, function] : functions)
    context->forget(function->handle());
  ContextScope scope(*context);
  (void)context->api->cuModuleUnload(module);
}

std::string CudaModule::listKernels() const {
  const CudaDriverApi &api = *context->api;
  unsigned count = 0;
  if (!api.cuModuleGetFunctionCount || !api.cuModuleEnumerateFunctions || !api.cuFuncGetName ||
      api.cuModuleGetFunctionCount(&count, module) != Success)
    return "";
  std::vector<Function> handles(count);
  if (api.cuModuleEnumerateFunctions(handles.data(), count, module) != Success)
    return "";
  std::string text;
  for (Function handle : handles) {
    const char *kernel = nullptr;
    if (api.cuFuncGetName(&kernel, handle) == Success && kernel)
      text += (text.empty() ? "; it has " : ", ") + std::string(kernel);
  }
  return text;
}

Result<GpuFunction *> CudaModule::function(const std::string &kernel) {
  if (auto known = functions.find(kernel); known != functions.end())
    return known->second.get();
  ContextScope scope(*context);
  Function handle = nullptr;
  const CallResult result = context->api->cuModuleGetFunction(&handle, module, kernel.c_str());
  if (result == NotFound)
    return fusec::notFound(name + ": no kernel named '" + kernel + "'" + listKernels());
  FUSEC_RETURN_IF_ERROR(context->api->check(result, name + ": looking up the kernel '" + kernel + "'"));
  auto &slot = functions[kernel];
  slot = std::make_unique<CudaFunction>(*context, handle, kernel);
  context->remember(handle, {kernel, 0});
  return slot.get();
}

//===----------------------------------------------------------------------===//
// CudaFunction
//===----------------------------------------------------------------------===//

Status CudaFunction::checkParameters(size_t given) {
  const CudaDriverApi &api = *context.api;
  if (!isChecked && api.cuFuncGetParamInfo) {
    size_t count = 0, offset = 0, size = 0;
    while (api.cuFuncGetParamInfo(function, count, &offset, &size) == Success) {
      if (size != sizeof(uint64_t))
        return invalidArgument("kernel '" + kernelName + "': parameter " + std::to_string(count) + " has " +
                               std::to_string(size) + " bytes, a launch passes addresses of 8");
      ++count;
    }
    expectedParameters = count;
  } else if (!isChecked) {
    expectedParameters = given; // An older driver does not tell; later launches must agree.
  }
  if (given != expectedParameters)
    return invalidArgument("kernel '" + kernelName + "' has " + std::to_string(expectedParameters) +
                           " parameters, the launch passes " + std::to_string(given));
  if (!isChecked)
    context.remember(function, {kernelName, given});
  isChecked = true;
  return {};
}

Status CudaFunction::prepare(size_t parameters, uint32_t sharedBytes) {
  std::lock_guard lock(mutex);
  FUSEC_RETURN_IF_ERROR(checkParameters(parameters));
  constexpr uint32_t withoutOptIn = 48 << 10;
  if (sharedBytes <= withoutOptIn || sharedBytes <= allowedSharedBytes)
    return {};
  FUSEC_RETURN_IF_ERROR(context.api->check(
      context.api->cuFuncSetAttribute(function, MaxDynamicSharedSizeBytes, static_cast<int>(sharedBytes)),
      "kernel '" + kernelName + "': asking for " + std::to_string(sharedBytes) + " bytes of shared memory"));
  allowedSharedBytes = sharedBytes;
  return {};
}

} // namespace fusec::runtime::cuda
