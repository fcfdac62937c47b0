//===- VirtualMappedPages.h - mapped memory of a virtual device ---------------===//
#pragma once

#include "runtime/device/gpu/GpuDevice.h"
#include "runtime/device/virtual/memory/DeviceMemory.h"
#include "runtime/device/virtual/memory/MappedMemory.h"

namespace fusec::virtualgpu {

/// See GpuMappedPages. Must die before `memory`.
class VirtualMappedPages final : public runtime::GpuMappedPages {
public:
  static Result<std::unique_ptr<runtime::GpuMappedPages>>
  create(DeviceMemory &memory, const runtime::GpuMappedPagesShape &shape, std::string_view owner);
  ~VirtualMappedPages() override { memory.release(range); }

  runtime::GpuAddress address() const override { return range; }
  Status map(int64_t at, int64_t page) override;

private:
  VirtualMappedPages(DeviceMemory &memory, std::unique_ptr<MappedMemory> pages, uint64_t range, int64_t pageBytes)
      : memory(memory), pages(std::move(pages)), range(range), pageBytes(pageBytes) {}

  DeviceMemory &memory;
  std::unique_ptr<MappedMemory> pages;
  uint64_t range;
  int64_t pageBytes;
};

} // namespace fusec::virtualgpu
