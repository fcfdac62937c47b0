//===- FakeMappings.cpp - virtual memory management --------------------------------===//
//
// A mapping shows its memory only after cuMemSetAccess, and what is mapped must
// be unmapped before something else is: forgetting either is an error.
//
//===----------------------------------------------------------------------===//

#include "test/fakes/libcuda/FakeDriver.h"

#include "runtime/device/virtual/VirtualDevice.h"

namespace fake {

namespace {

virtualgpu::DeviceMemory &memoryOf(ContextHandle &context) {
  return static_cast<virtualgpu::VirtualDevice &>(*context.device).deviceMemory();
}

CallResult withLockedContext(auto work) {
  return withContext([&](ContextHandle &context) {
    std::lock_guard lock(context.mutex);
    return work(context);
  });
}

bool isWhole(size_t bytes) { return bytes > 0 && bytes % virtualgpu::mappingBytes == 0; }

} // namespace

CallResult cuMemGetAllocationGranularity(size_t *bytes, const MemoryProperties *, GranularityKind) {
  *bytes = static_cast<size_t>(virtualgpu::mappingBytes);
  return Success;
}

CallResult cuMemAddressReserve(DevicePtr *address, size_t bytes, size_t, DevicePtr, unsigned long long) {
  return withLockedContext([&](ContextHandle &context) {
    Result<uint64_t> range = memoryOf(context).reserveRange(static_cast<int64_t>(bytes), "cuMemAddressReserve");
    if (!range)
      return codeOf(range.status());
    *address = *range;
    context.ranges[*address] = bytes;
    ++liveObjects;
    return Success;
  });
}

CallResult cuMemAddressFree(DevicePtr address, size_t bytes) {
  return withLockedContext([&](ContextHandle &context) {
    const auto mapped = context.mappings.lower_bound(address);
    const bool inUse = mapped != context.mappings.end() && mapped->first < address + bytes;
    auto range = context.ranges.find(address);
    if (range == context.ranges.end() || range->second != bytes || inUse)
      return InvalidValue;
    memoryOf(context).release(address);
    context.ranges.erase(range);
    --liveObjects;
    return Success;
  });
}

CallResult cuMemCreate(MemoryHandle *handle, size_t bytes, const MemoryProperties *wanted, unsigned long long) {
  return withLockedContext([&](ContextHandle &context) {
    if (!isWhole(bytes) || wanted->kind != PinnedMemory || wanted->location.kind != DeviceLocation)
      return InvalidValue;
    auto memory = virtualgpu::MappedMemory::create(static_cast<int64_t>(bytes));
    if (!memory)
      return codeOf(memory.status());
    *handle = ++context.lastHandle;
    context.handles[*handle] = std::move(*memory);
    ++liveObjects;
    return Success;
  });
}

CallResult cuMemRelease(MemoryHandle handle) {
  return withLockedContext([&](ContextHandle &context) {
    if (context.handles.erase(handle) == 0)
      return InvalidValue;
    --liveObjects;
    return Success;
  });
}

CallResult cuMemMap(DevicePtr address, size_t bytes, size_t offset, MemoryHandle handle, unsigned long long) {
  return withLockedContext([&](ContextHandle &context) {
    if (!isWhole(bytes) || offset != 0 || !context.handles.contains(handle) || context.mappings.contains(address))
      return InvalidValue;
    context.mappings[address] = {bytes, handle};
    return Success;
  });
}

CallResult cuMemUnmap(DevicePtr address, size_t bytes) {
  return withLockedContext([&](ContextHandle &context) {
    auto mapping = context.mappings.find(address);
    if (mapping == context.mappings.end() || mapping->second.bytes != bytes)
      return InvalidValue;
    context.mappings.erase(mapping);
    return codeOf(memoryOf(context).show(address, static_cast<int64_t>(bytes), nullptr, 0));
  });
}

CallResult cuMemSetAccess(DevicePtr address, size_t bytes, const MemoryAccess *access, size_t count) {
  return withLockedContext([&](ContextHandle &context) {
    auto mapping = context.mappings.find(address);
    if (mapping == context.mappings.end() || mapping->second.bytes != bytes || count != 1 ||
        access->kind != ReadWriteAccess)
      return InvalidValue;
    const virtualgpu::MappedMemory *memory = context.handles.at(mapping->second.handle).get();
    return codeOf(memoryOf(context).show(address, static_cast<int64_t>(bytes), memory, 0));
  });
}

} // namespace fake
