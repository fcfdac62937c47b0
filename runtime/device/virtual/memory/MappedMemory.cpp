//===- MappedMemory.cpp - memory of a virtual device without an address -------===//

#include "runtime/device/virtual/memory/MappedMemory.h"

#include "runtime/device/Buffer.h"
#include "runtime/device/virtual/memory/DeviceMemory.h"

#include <cstring>

namespace fusec::virtualgpu {

Result<std::unique_ptr<MappedMemory>> MappedMemory::create(int64_t bytes) {
  auto made = std::make_unique<MappedMemory>();
  made->bytes = bytes;
  FUSEC_ASSIGN_OR_RETURN(made->memory, runtime::PageFile::create(bytes, "virtual device memory"));
  FUSEC_ASSIGN_OR_RETURN(made->shadow, runtime::PageFile::create(bytes, "virtual device memory"));
  FUSEC_ASSIGN_OR_RETURN(made->cells, runtime::PageFile::create(bytes * cellFactor, "virtual device memory"));
  FUSEC_ASSIGN_OR_RETURN(runtime::Buffer view, runtime::Buffer::reserve(bytes, "virtual device memory"));
  FUSEC_RETURN_IF_ERROR(made->shadow.mapAt(view.data(), 0, bytes));
  std::memset(view.data(), shadowValid, static_cast<size_t>(bytes));
  return made;
}

} // namespace fusec::virtualgpu
