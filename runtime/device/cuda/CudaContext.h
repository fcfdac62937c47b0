//===- CudaContext.h - one GPU's primary context --------------------------------===//
//
// What all objects of a CudaDevice share. The driver works on the context that
// is current on the calling thread; fusec makes its own current for the length
// of a call only, so that several devices, threads and other libraries do not
// disturb each other:
//
//   ContextScope scope(*context);
//   FUSEC_RETURN_IF_ERROR(context->api->check(context->api->cuMemFree(address), "freeing"));
//
// Threading: safe from any thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cuda/CudaDriverApi.h"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace fusec::runtime::cuda {

class CudaContext {
public:
  static Result<std::shared_ptr<CudaContext>> open(std::shared_ptr<const CudaDriverApi> api, DeviceId device);
  ~CudaContext();
  CudaContext(const CudaContext &) = delete;
  CudaContext &operator=(const CudaContext &) = delete;

  /// What is known of a kernel, by the driver's handle: a graph's nodes hold only that.
  struct KernelFacts {
    std::string name;
    size_t parameters = 0;
  };
  void remember(Function function, KernelFacts facts);
  void forget(Function function);
  /// Nothing for a function that is none of this context's modules'.
  std::optional<KernelFacts> factsOf(Function function) const;

  const std::shared_ptr<const CudaDriverApi> api;
  const DeviceId device;
  const Context handle;

private:
  CudaContext(std::shared_ptr<const CudaDriverApi> api, DeviceId device, Context handle)
      : api(std::move(api)), device(device), handle(handle) {}

  mutable std::mutex mutex;
  std::map<Function, KernelFacts> kernels;
};

/// Makes a context current on this thread until the end of the scope.
class ContextScope {
public:
  explicit ContextScope(const CudaContext &context);
  ~ContextScope();
  ContextScope(const ContextScope &) = delete;
  ContextScope &operator=(const ContextScope &) = delete;

private:
  const CudaContext &context;
  bool pushed;
};

} // namespace fusec::runtime::cuda
