//===- GpuBuffer.cpp - device memory gives itself back ---------------------------===//

#include "runtime/device/gpu/GpuProducts.h"

#include <utility>

namespace fusec::runtime {

GpuBuffer &GpuBuffer::operator=(GpuBuffer &&other) noexcept {
  if (this == &other)
    return *this;
  reset();
  device = std::exchange(other.device, nullptr);
  at = std::exchange(other.at, 0);
  size = std::exchange(other.size, 0);
  return *this;
}

void GpuBuffer::reset() {
  if (device)
    device->release(at);
  device = nullptr;
  at = 0;
  size = 0;
}

Result<std::unique_ptr<GpuProducts>> GpuDevice::openProducts() {
  return unsupported(info().name + " has no library of matrix products");
}

} // namespace fusec::runtime
