//===- FakeDevices.cpp - errors, devices, contexts and memory ---------------------===//

#include "test/fakes/libcuda/FakeDriver.h"

#include "runtime/device/virtual/VirtualDevice.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace fake {

namespace {

int environmentInt(const char *name, int otherwise) {
  const char *text = std::getenv(name);
  return text ? std::atoi(text) : otherwise;
}

/// Primary contexts by device, while retained.
struct Primary {
  std::unique_ptr<ContextHandle> context;
  int references = 0;
};
std::map<DeviceId, Primary> primaries;
std::mutex primariesMutex;
thread_local std::vector<Context> currentContexts;

} // namespace

int driverVersion() { return environmentInt("FUSEC_FAKE_CUDA_VERSION", 13000); }
int deviceCount() { return environmentInt("FUSEC_FAKE_CUDA_DEVICES", 1); }

std::string targetName() {
  const char *text = std::getenv("FUSEC_FAKE_CUDA_TARGET");
  return text ? text : "sm_80";
}

int contextDepth() { return static_cast<int>(currentContexts.size()); }

Context current() { return currentContexts.empty() ? nullptr : currentContexts.back(); }

CallResult codeOf(const Status &status) {
  switch (status.code()) {
  case ErrorCode::Ok:
    return Success;
  case ErrorCode::InvalidArgument:
    return InvalidValue;
  case ErrorCode::NotFound:
    return NotFound;
  case ErrorCode::CorruptData:
    return InvalidPtx;
  case ErrorCode::Unsupported:
    return UnsupportedPtxVersion;
  case ErrorCode::ResourceExhausted:
    return OutOfMemory;
  case ErrorCode::Cancelled:
  case ErrorCode::Unavailable:
  case ErrorCode::Internal:
    return IllegalAddress;
  }
  return LaunchFailed;
}

//===----------------------------------------------------------------------===//
// Errors, devices, contexts
//===----------------------------------------------------------------------===//

struct ErrorRow {
  CallResult code;
  const char *name;
  const char *text;
};
constexpr ErrorRow errorRows[] = {
    {Success, "CUDA_SUCCESS", "no error"},
    {InvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {OutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {NoDevice, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {InvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {invalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {InvalidPtx, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {UnsupportedPtxVersion, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "unsupported toolchain"},
    {NotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {IllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {StreamCaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "not permitted when stream is capturing"},
};

const ErrorRow *errorRow(CallResult code) {
  const ErrorRow *row =
      std::find_if(std::begin(errorRows), std::end(errorRows), [&](const ErrorRow &r) { return r.code == code; });
  return row == std::end(errorRows) ? nullptr : row;
}

CallResult cuGetErrorName(CallResult code, const char **name) {
  const ErrorRow *row = errorRow(code);
  *name = row ? row->name : nullptr;
  return row ? Success : InvalidValue;
}

CallResult cuGetErrorString(CallResult code, const char **text) {
  const ErrorRow *row = errorRow(code);
  *text = row ? row->text : nullptr;
  return row ? Success : InvalidValue;
}

CallResult cuDeviceGetCount(int *count) {
  *count = deviceCount();
  return Success;
}

CallResult cuDeviceGet(DeviceId *device, int ordinal) {
  *device = ordinal;
  return ordinal >= 0 && ordinal < deviceCount() ? Success : InvalidDevice;
}

/// What the device is, also before its context exists.
CallResult withInfo(auto use) {
  auto device = virtualgpu::VirtualDevice::create({.target = targetName()});
  if (!device)
    return codeOf(device.status());
  use((*device)->info());
  return Success;
}

CallResult cuDeviceGetName(char *name, int length, DeviceId device) {
  return withInfo([&](const GpuInfo &info) {
    std::string text = "fake " + info.name + (device > 0 ? " #" + std::to_string(device) : "");
    std::strncpy(name, text.c_str(), static_cast<size_t>(length));
  });
}

CallResult cuDeviceTotalMem(size_t *bytes, DeviceId) {
  return withInfo([&](const GpuInfo &info) { *bytes = static_cast<size_t>(info.memoryBytes); });
}

CallResult cuDeviceGetAttribute(int *value, DeviceAttribute which, DeviceId) {
  return withInfo([&](const GpuInfo &info) {
    switch (which) {
    case MultiprocessorCount:
      *value = info.multiprocessors;
      break;
    case ComputeCapabilityMajor:
      *value = info.computeCapability / 10;
      break;
    case ComputeCapabilityMinor:
      *value = info.computeCapability % 10;
      break;
    case MaxSharedMemoryPerBlockOptin:
      *value = static_cast<int>(info.sharedBytesPerBlock);
      break;
    }
  });
}

CallResult cuDevicePrimaryCtxRetain(Context *context, DeviceId device) {
  std::lock_guard lock(primariesMutex);
  Primary &primary = primaries[device];
  if (primary.references == 0) {
    auto opened = virtualgpu::VirtualDevice::create({.target = targetName()});
    if (!opened)
      return codeOf(opened.status());
    primary.context = std::make_unique<ContextHandle>();
    primary.context->device = std::move(*opened);
  }
  ++primary.references;
  *context = primary.context.get();
  return Success;
}

CallResult cuDevicePrimaryCtxRelease(DeviceId device) {
  std::lock_guard lock(primariesMutex);
  Primary &primary = primaries[device];
  if (primary.references == 0)
    return invalidContext;
  if (--primary.references == 0)
    primary.context.reset();
  return Success;
}

CallResult cuCtxPushCurrent(Context context) {
  currentContexts.push_back(context);
  return Success;
}

CallResult cuCtxPopCurrent(Context *context) {
  if (currentContexts.empty())
    return invalidContext;
  *context = currentContexts.back();
  currentContexts.pop_back();
  return Success;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

CallResult cuMemGetInfo(size_t *free, size_t *total) {
  return withContext([&](ContextHandle &context) {
    Result<int64_t> bytes = context.device->freeBytes();
    if (!bytes)
      return codeOf(bytes.status());
    *free = static_cast<size_t>(*bytes);
    *total = static_cast<size_t>(context.device->info().memoryBytes);
    return Success;
  });
}

CallResult cuMemAlloc(DevicePtr *address, size_t bytes) {
  return withContext([&](ContextHandle &context) {
    Result<GpuBuffer> buffer = context.device->allocate(static_cast<int64_t>(bytes), "cuMemAlloc");
    if (!buffer)
      return codeOf(buffer.status());
    *address = buffer->address();
    std::lock_guard lock(context.mutex);
    context.memory.emplace(*address, std::move(*buffer));
    ++liveObjects;
    return Success;
  });
}

CallResult cuMemFree(DevicePtr address) {
  return withContext([&](ContextHandle &context) {
    std::lock_guard lock(context.mutex);
    if (context.memory.erase(address) == 0)
      return InvalidValue;
    --liveObjects;
    return Success;
  });
}

CallResult cuMemAllocHost(void **memory, size_t bytes) {
  return withContext([&](ContextHandle &) {
    *memory = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    ++liveObjects;
    return *memory ? Success : OutOfMemory;
  });
}

CallResult cuMemFreeHost(void *memory) {
  return withContext([&](ContextHandle &) {
    std::free(memory);
    --liveObjects;
    return Success;
  });
}

CallResult cuMemcpyHtoDAsync(DevicePtr to, const void *from, size_t bytes, Stream stream) {
  return onStream(stream, [&](GpuStream &s) { return s.copyToDevice(to, from, static_cast<int64_t>(bytes)); });
}

CallResult cuMemcpyDtoHAsync(void *to, DevicePtr from, size_t bytes, Stream stream) {
  return onStream(stream, [&](GpuStream &s) { return s.copyToHost(to, from, static_cast<int64_t>(bytes)); });
}

CallResult cuMemcpyDtoDAsync(DevicePtr to, DevicePtr from, size_t bytes, Stream stream) {
  return onStream(stream, [&](GpuStream &s) { return s.copyOnDevice(to, from, static_cast<int64_t>(bytes)); });
}

CallResult cuMemsetD8Async(DevicePtr to, unsigned char value, size_t bytes, Stream stream) {
  return onStream(stream, [&](GpuStream &s) { return s.fill(to, value, static_cast<int64_t>(bytes)); });
}

} // namespace fake
