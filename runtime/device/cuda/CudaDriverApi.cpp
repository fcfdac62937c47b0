//===- CudaDriverApi.cpp - finding libcuda and its functions --------------------===//

#include "runtime/device/cuda/CudaDriverApi.h"

#include <cstdlib>
#include <dlfcn.h>

namespace fusec::runtime::cuda {

namespace {

/// cuGetProcAddress of CUDA 12: the symbol as of a version; the last argument may be null.
using GetProcAddress = CallResult (*)(const char *symbol, void **function, int version, unsigned long long flags,
                                      int *found);

std::string libraryName() {
  const char *path = std::getenv("FUSEC_LIBCUDA");
  return path && *path ? path : "libcuda.so.1";
}

template <typename T> T symbol(void *handle, const char *name) { return reinterpret_cast<T>(dlsym(handle, name)); }

} // namespace

std::string versionText(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

Result<std::shared_ptr<const CudaDriverApi>> CudaDriverApi::load() {
  auto api = std::make_shared<CudaDriverApi>();
  api->library = libraryName();
  // Never closed; a second dlopen gives the same handle.
  void *handle = dlopen(api->library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *reason = dlerror();
    return notFound("no NVIDIA driver: " + api->library + " not found (" + (reason ? reason : "unknown error") +
                    "); install the driver, or run on the CPU");
  }
  // These two keep their names in every version; all others depend on them.
  auto version = symbol<CallResult (*)(int *)>(handle, "cuDriverGetVersion");
  auto initialize = symbol<CallResult (*)(unsigned)>(handle, "cuInit");
  if (!version || !initialize || version(&api->driverVersion) != Success)
    return unsupported(api->library + " is not a usable NVIDIA driver: cuInit or cuDriverGetVersion is missing");
  if (api->driverVersion < minimumDriverVersion)
    return unsupported("the NVIDIA driver is too old: found one for CUDA " + versionText(api->driverVersion) +
                       ", needed is CUDA " + versionText(minimumDriverVersion) + " or newer");
  FUSEC_RETURN_IF_ERROR(api->resolve(handle));
  const CallResult started = initialize(0);
  if (started == NoDevice)
    return notFound("the NVIDIA driver for CUDA " + versionText(api->driverVersion) + " finds no GPU");
  FUSEC_RETURN_IF_ERROR(api->check(started, "starting the NVIDIA driver"));
  return std::shared_ptr<const CudaDriverApi>(std::move(api));
}

Status CudaDriverApi::resolve(void *handle) {
  auto find = symbol<GetProcAddress>(handle, "cuGetProcAddress_v2");
  if (!find)
    return unsupported(library + " has no cuGetProcAddress_v2, which CUDA " + versionText(minimumDriverVersion) +
                       " introduced");
  struct Row {
    const char *name;
    int version;
    void **slot;
    bool isOptional;
  };
  const Row rows[] = {
#define FUSEC_CUDA_FUNCTION(name, version, parameters) {#name, version, reinterpret_cast<void **>(&name), false},
#define FUSEC_CUDA_OPTIONAL(name, version, parameters) {#name, version, reinterpret_cast<void **>(&name), true},
#include "runtime/device/cuda/CudaFunctions.def"
  };
  for (const Row &row : rows) {
    const bool found = find(row.name, row.slot, row.version, 0, nullptr) == Success && *row.slot;
    if (!found)
      *row.slot = nullptr;
    if (!found && !row.isOptional)
      return unsupported(library + " for CUDA " + versionText(driverVersion) + " has no " + row.name + " of CUDA " +
                         versionText(row.version));
  }
  return {};
}

std::string CudaDriverApi::describe(CallResult result) const {
  const char *name = nullptr, *text = nullptr;
  if (cuGetErrorName(result, &name) != Success || !name)
    return "CUDA error " + std::to_string(result);
  if (cuGetErrorString(result, &text) != Success || !text)
    return name;
  return std::string(name) + " (" + text + ")";
}

Status CudaDriverApi::check(CallResult result, const std::string &doing) const {
  if (result == Success)
    return {};
  const ErrorCode code = result == OutOfMemory ? ErrorCode::ResourceExhausted : ErrorCode::Internal;
  return Status(code, doing + ": " + describe(result));
}

} // namespace fusec::runtime::cuda
