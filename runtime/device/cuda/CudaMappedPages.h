//===- CudaMappedPages.h - mapped memory of an NVIDIA GPU -----------------------===//
//
// The driver's virtual memory management: a handle for each page of memory, a
// reserved range of addresses, and mappings of the one into the other.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cuda/CudaContext.h"
#include "runtime/device/gpu/GpuDevice.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fusec::runtime::cuda {

/// See GpuMappedPages. Unmaps and frees everything when destroyed.
class CudaMappedPages final : public GpuMappedPages {
public:
  static Result<std::unique_ptr<CudaMappedPages>> create(std::shared_ptr<CudaContext> context,
                                                         const GpuMappedPagesShape &shape, std::string_view owner);
  ~CudaMappedPages() override;

  GpuAddress address() const override { return range; }
  Status map(int64_t at, int64_t page) override;

private:
  CudaMappedPages(std::shared_ptr<CudaContext> context, const GpuMappedPagesShape &shape, std::string_view owner)
      : context(std::move(context)), shape(shape), owner(owner), mapped(static_cast<size_t>(shape.rangePages)) {}
  Status checkGranularity() const;
  Status reserve();
  Status check(CallResult result, const char *doing) const;
  MemoryLocation location() const { return {DeviceLocation, context->device}; }
  MemoryProperties properties() const;
  size_t pageBytes() const { return static_cast<size_t>(shape.pageBytes); }
  DevicePtr addressOf(int64_t at) const { return range + static_cast<DevicePtr>(at * shape.pageBytes); }

  std::shared_ptr<CudaContext> context;
  GpuMappedPagesShape shape;
  std::string owner;
  DevicePtr range = 0;
  std::vector<MemoryHandle> pages;
  std::vector<bool> mapped; ///< By page of the range.
};

} // namespace fusec::runtime::cuda
