//===- CudaContext.cpp ---------------------------------------------------------===//

#include "runtime/device/cuda/CudaContext.h"

namespace fusec::runtime::cuda {

Result<std::shared_ptr<CudaContext>> CudaContext::open(std::shared_ptr<const CudaDriverApi> api, DeviceId device) {
  Context handle = nullptr;
  FUSEC_RETURN_IF_ERROR(api->check(api->cuDevicePrimaryCtxRetain(&handle, device), "opening the GPU's context"));
  return std::shared_ptr<CudaContext>(new CudaContext(std::move(api), device, handle));
}

CudaContext::~CudaContext() { (void)api->cuDevicePrimaryCtxRelease(device); }

void CudaContext::remember(Function function, KernelFacts facts) {
  std::lock_guard lock(mutex);
  kernels[function] = std::move(facts);
}

void CudaContext::forget(Function function) {
  std::lock_guard lock(mutex);
  kernels.erase(function);
}

std::optional<CudaContext::KernelFacts> CudaContext::factsOf(Function function) const {
  std::lock_guard lock(mutex);
  auto it = kernels.find(function);
  return it == kernels.end() ? std::nullopt : std::optional(it->second);
}

// A context that cannot be pushed makes the call that follows fail, which is reported there.
ContextScope::ContextScope(const CudaContext &context)
    : context(context), pushed(context.api->cuCtxPushCurrent(context.handle) == Success) {}

ContextScope::~ContextScope() {
  Context popped = nullptr;
  if (pushed)
    (void)context.api->cuCtxPopCurrent(&popped);
}

} // namespace fusec::runtime::cuda
