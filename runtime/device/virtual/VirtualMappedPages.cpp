//===- VirtualMappedPages.cpp - mapped memory of a virtual device -------------===//

#include "runtime/device/virtual/VirtualMappedPages.h"

namespace fusec::virtualgpu {

Result<std::unique_ptr<runtime::GpuMappedPages>>
VirtualMappedPages::create(DeviceMemory &memory, const runtime::GpuMappedPagesShape &shape, std::string_view owner) {
  if (shape.pageBytes <= 0 || shape.pageBytes % mappingBytes != 0)
    return unsupported(std::string(owner) + ": cannot map pages of " + std::to_string(shape.pageBytes) +
                       " bytes, expected a multiple of " + std::to_string(mappingBytes));
  FUSEC_ASSIGN_OR_RETURN(auto pages, MappedMemory::create(shape.pageBytes * shape.numPages));
  FUSEC_ASSIGN_OR_RETURN(uint64_t range, memory.reserveRange(shape.pageBytes * shape.rangePages, owner));
  return std::unique_ptr<runtime::GpuMappedPages>(
      new VirtualMappedPages(memory, std::move(pages), range, shape.pageBytes));
}

Status VirtualMappedPages::map(int64_t at, int64_t page) {
  return memory.show(range + static_cast<uint64_t>(at * pageBytes), pageBytes, pages.get(), page * pageBytes);
}

} // namespace fusec::virtualgpu
