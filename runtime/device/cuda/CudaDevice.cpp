//===- CudaDevice.cpp -----------------------------------------------------------===//

#include "runtime/device/cuda/CudaDevice.h"

#include "runtime/device/cuda/CublasLt.h"
#include "runtime/device/cuda/CudaContext.h"
#include "runtime/device/cuda/CudaMappedPages.h"
#include "runtime/device/cuda/CudaModule.h"
#include "runtime/device/cuda/CudaStream.h"
#include "runtime/device/cuda/Nvtx.h"

#include <algorithm>
#include <array>
#include <mutex>

namespace fusec::runtime {

namespace cuda {

namespace {

class CudaDevice final : public GpuDevice {
public:
  CudaDevice(std::shared_ptr<CudaContext> context, GpuInfo info)
      : context(std::move(context)), facts(std::move(info)) {}
  ~CudaDevice() override;

  const GpuInfo &info() const override { return facts; }
  Result<GpuBuffer> allocate(int64_t bytes, std::string_view owner) override;
  Result<int64_t> freeBytes() const override;
  Result<std::unique_ptr<GpuMappedPages>> reserveMapped(const GpuMappedPagesShape &shape,
                                                        std::string_view owner) override;
  Result<std::unique_ptr<GpuModule>> loadModule(std::span<const std::byte> image, const std::string &name) override;
  Result<std::unique_ptr<GpuStream>> createStream() override;
  Result<std::unique_ptr<GpuEvent>> createEvent() override;
  Result<std::span<std::byte>> allocatePinned(int64_t bytes, std::string_view owner) override;
  Result<std::unique_ptr<GpuProducts>> openProducts() override;
  void pushRange(const char *name) override { nvtx.push(name); }
  void popRange() override { nvtx.pop(); }

private:
  void release(GpuAddress at) override;

  std::shared_ptr<CudaContext> context;
  GpuInfo facts;
  Nvtx nvtx;
  std::mutex mutex;
  std::vector<void *> pinned; ///< Freed with the device.
};

/// The driver refuses empty allocations.
size_t atLeastOne(int64_t bytes) { return static_cast<size_t>(std::max<int64_t>(bytes, 1)); }

CudaDevice::~CudaDevice() {
  ContextScope scope(*context);
  for (void *memory : pinned)
    (void)context->api->cuMemFreeHost(memory);
}

Result<int64_t> CudaDevice::freeBytes() const {
  size_t free = 0, total = 0;
  ContextScope scope(*context);
  FUSEC_RETURN_IF_ERROR(context->api->check(context->api->cuMemGetInfo(&free, &total), "asking for free memory"));
  return static_cast<int64_t>(free);
}

Result<GpuBuffer> CudaDevice::allocate(int64_t bytes, std::string_view owner) {
  if (bytes < 0)
    return invalidArgument(std::string(owner) + ": cannot allocate " + std::to_string(bytes) + " bytes");
  DevicePtr address = 0;
  ContextScope scope(*context);
  const CallResult result = context->api->cuMemAlloc(&address, atLeastOne(bytes));
  if (result == Success)
    return GpuBuffer(*this, address, bytes);
  std::string doing = std::string(owner) + ": cannot allocate " + std::to_string(bytes) + " bytes on " + facts.name;
  if (Result<int64_t> free = freeBytes(); free && result == OutOfMemory)
    return resourceExhausted(doing + ": " + std::to_string(*free) + " of " + std::to_string(facts.memoryBytes) +
                             " bytes are free");
  return context->api->check(result, doing);
}

Result<std::unique_ptr<GpuMappedPages>> CudaDevice::reserveMapped(const GpuMappedPagesShape &shape,
                                                                  std::string_view owner) {
  FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<CudaMappedPages> pages, CudaMappedPages::create(context, shape, owner));
  return std::unique_ptr<GpuMappedPages>(std::move(pages));
}

void CudaDevice::release(GpuAddress at) {
  ContextScope scope(*context);
  (void)context->api->cuMemFree(at);
}

Result<std::span<std::byte>> CudaDevice::allocatePinned(int64_t bytes, std::string_view owner) {
  if (bytes < 0)
    return invalidArgument(std::string(owner) + ": cannot pin " + std::to_string(bytes) + " bytes");
  void *memory = nullptr;
  ContextScope scope(*context);
  FUSEC_RETURN_IF_ERROR(
      context->api->check(context->api->cuMemAllocHost(&memory, atLeastOne(bytes)),
                          std::string(owner) + ": cannot pin " + std::to_string(bytes) + " bytes of host memory"));
  std::lock_guard lock(mutex);
  pinned.push_back(memory);
  return std::span(static_cast<std::byte *>(memory), static_cast<size_t>(bytes));
}

Result<std::unique_ptr<GpuModule>> CudaDevice::loadModule(std::span<const std::byte> image, const std::string &name) {
  FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<CudaModule> module, CudaModule::load(context, image, name));
  return std::unique_ptr<GpuModule>(std::move(module));
}

Result<std::unique_ptr<GpuStream>> CudaDevice::createStream() {
  FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<CudaStream> stream, CudaStream::create(context));
  return std::unique_ptr<GpuStream>(std::move(stream));
}

Result<std::unique_ptr<GpuEvent>> CudaDevice::createEvent() {
  FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<CudaEvent> event, CudaEvent::create(context));
  return std::unique_ptr<GpuEvent>(std::move(event));
}

/// What NVIDIA recommends for an H100, and more than its libraries take on others.
constexpr int64_t productWorkspaceBytes = int64_t{32} << 20;

Result<std::unique_ptr<GpuProducts>> CudaDevice::openProducts() {
  FUSEC_ASSIGN_OR_RETURN(GpuBuffer workspace, allocate(productWorkspaceBytes, "cuBLASLt workspace"));
  FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<CublasLt> products, CublasLt::create(context, std::move(workspace)));
  return std::unique_ptr<GpuProducts>(std::move(products));
}

Result<int> attribute(const CudaDriverApi &api, DeviceAttribute which, DeviceId device) {
  int value = 0;
  FUSEC_RETURN_IF_ERROR(api.check(api.cuDeviceGetAttribute(&value, which, device), "asking what the GPU is"));
  return value;
}

Result<GpuInfo> describe(const CudaDriverApi &api, DeviceId device) {
  GpuInfo info;
  std::array<char, 256> name{};
  size_t total = 0;
  FUSEC_RETURN_IF_ERROR(api.check(api.cuDeviceGetName(name.data(), static_cast<int>(name.size()) - 1, device),
                                  "asking for the GPU's name"));
  FUSEC_RETURN_IF_ERROR(api.check(api.cuDeviceTotalMem(&total, device), "asking for the GPU's memory"));
  FUSEC_ASSIGN_OR_RETURN(int major, attribute(api, ComputeCapabilityMajor, device));
  FUSEC_ASSIGN_OR_RETURN(int minor, attribute(api, ComputeCapabilityMinor, device));
  FUSEC_ASSIGN_OR_RETURN(info.multiprocessors, attribute(api, MultiprocessorCount, device));
  FUSEC_ASSIGN_OR_RETURN(int shared, attribute(api, MaxSharedMemoryPerBlockOptin, device));
  info.name = name.data();
  info.computeCapability = 10 * major + minor;
  info.memoryBytes = static_cast<int64_t>(total);
  info.sharedBytesPerBlock = shared;
  info.driverVersion = api.driverVersion;
  return info;
}

} // namespace

} // namespace cuda

Result<std::unique_ptr<GpuDevice>> openCudaDevice(int ordinal) {
  FUSEC_ASSIGN_OR_RETURN(std::shared_ptr<const cuda::CudaDriverApi> api, cuda::CudaDriverApi::load());
  int count = 0;
  FUSEC_RETURN_IF_ERROR(api->check(api->cuDeviceGetCount(&count), "counting GPUs"));
  if (count == 0)
    return notFound("the NVIDIA driver for CUDA " + cuda::versionText(api->driverVersion) + " finds no GPU");
  if (ordinal < 0 || ordinal >= count)
    return notFound("cuda:" + std::to_string(ordinal) + ": no such GPU, expected cuda:0" +
                    (count == 1 ? "" : " to cuda:" + std::to_string(count - 1)));
  cuda::DeviceId device = 0;
  FUSEC_RETURN_IF_ERROR(api->check(api->cuDeviceGet(&device, ordinal), "opening cuda:" + std::to_string(ordinal)));
  FUSEC_ASSIGN_OR_RETURN(GpuInfo info, cuda::describe(*api, device));
  FUSEC_ASSIGN_OR_RETURN(std::shared_ptr<cuda::CudaContext> context, cuda::CudaContext::open(api, device));
  return std::unique_ptr<GpuDevice>(std::make_unique<cuda::CudaDevice>(std::move(context), std::move(info)));
}

} // namespace fusec::runtime
