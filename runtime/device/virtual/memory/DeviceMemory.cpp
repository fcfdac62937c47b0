//===- DeviceMemory.cpp - the memory of a virtual device ---------------------===//

#include "runtime/device/virtual/memory/DeviceMemory.h"

#include "runtime/device/virtual/memory/MappedMemory.h"

#include <cstring>
#include <sys/mman.h>

namespace fusec::virtualgpu {
namespace {

constexpr int64_t alignment = 256;
constexpr int64_t guardBytes = 4096; ///< Between allocations.

/// Zeros at a new place, or in place of what `where` holds.
uint8_t *reserve(int64_t bytes, uint8_t *where = nullptr) {
  void *at = mmap(where, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (where ? MAP_FIXED : 0), -1, 0);
  return at == MAP_FAILED ? nullptr : static_cast<uint8_t *>(at);
}

int64_t roundUp(int64_t value, int64_t to) { return (value + to - 1) / to * to; }

/// What an allocation takes, with the gap behind it.
int64_t footprint(int64_t bytes) { return roundUp(std::max<int64_t>(bytes, 1), alignment) + guardBytes; }

/// Gives whole pages back, so that they read as zeros and take no host memory.
void zero(uint8_t *from, int64_t bytes) {
  constexpr int64_t page = 4096;
  uint8_t *first = reinterpret_cast<uint8_t *>(roundUp(reinterpret_cast<int64_t>(from), page));
  uint8_t *last = reinterpret_cast<uint8_t *>((reinterpret_cast<int64_t>(from) + bytes) / page * page);
  if (last <= first) {
    std::memset(from, 0, static_cast<size_t>(bytes));
    return;
  }
  std::memset(from, 0, static_cast<size_t>(first - from));
  madvise(first, static_cast<size_t>(last - first), MADV_DONTNEED);
  std::memset(last, 0, static_cast<size_t>(from + bytes - last));
}

} // namespace

Result<std::unique_ptr<DeviceMemory>> DeviceMemory::create(int64_t bytes) {
  bytes = roundUp(bytes, 1 << 21);
  uint8_t *base = reserve(bytes), *shadow = reserve(bytes), *cells = reserve(bytes * cellFactor);
  if (base && shadow && cells)
    return std::unique_ptr<DeviceMemory>(new DeviceMemory(base, shadow, reinterpret_cast<GlobalCell *>(cells), bytes));
  if (base)
    munmap(base, static_cast<size_t>(bytes));
  if (shadow)
    munmap(shadow, static_cast<size_t>(bytes));
  return resourceExhausted("the virtual device cannot reserve " + std::to_string(bytes) + " bytes of address space");
}

DeviceMemory::~DeviceMemory() {
  munmap(base, static_cast<size_t>(size));
  munmap(shadow, static_cast<size_t>(size));
  munmap(cells, static_cast<size_t>(size * cellFactor));
}

/// First fit between the live allocations, keeping a guard gap after each.
Result<uint64_t> DeviceMemory::place(int64_t bytes, int64_t alignment, std::string_view owner, bool isRange) {
  auto aligned = [&](uint64_t at) {
    return deviceBase + static_cast<uint64_t>(roundUp(static_cast<int64_t>(at - deviceBase), alignment));
  };
  const int64_t need = footprint(bytes);
  uint64_t at = aligned(deviceBase + guardBytes);
  for (const auto &[start, allocation] : live) {
    if (at + static_cast<uint64_t>(need) <= start)
      break;
    at = aligned(start + static_cast<uint64_t>(footprint(allocation.bytes)));
  }
  if (!contains(at, static_cast<uint64_t>(need)))
    return resourceExhausted("the virtual device has no room for " + std::to_string(bytes) + " bytes of '" +
                             std::string(owner) + "': " + std::to_string(size - used) + " of " + std::to_string(size) +
                             " bytes are free");
  live[at] = {at, bytes, std::string(owner), isRange};
  return at;
}

Result<uint64_t> DeviceMemory::allocate(int64_t bytes, std::string_view owner) {
  if (bytes < 0)
    return invalidArgument("cannot allocate " + std::to_string(bytes) + " bytes for '" + std::string(owner) + "'");
  std::lock_guard lock(mutex);
  FUSEC_ASSIGN_OR_RETURN(uint64_t at, place(bytes, alignment, owner, false));
  used += footprint(bytes);
  std::memset(flags(at), shadowValid, static_cast<size_t>(bytes));
  return at;
}

Result<uint64_t> DeviceMemory::reserveRange(int64_t bytes, std::string_view owner) {
  if (bytes <= 0 || bytes % mappingBytes != 0)
    return invalidArgument("cannot reserve " + std::to_string(bytes) + " bytes of addresses for '" +
                           std::string(owner) + "': expected a multiple of " + std::to_string(mappingBytes));
  std::lock_guard lock(mutex);
  return place(bytes, mappingBytes, owner, true);
}

Status DeviceMemory::show(uint64_t at, int64_t bytes, const MappedMemory *memory, int64_t offset) {
  FUSEC_RETURN_IF_ERROR(checkRange(at, bytes, "a mapping"));
  std::lock_guard lock(mutex);
  const Allocation &range = std::prev(live.upper_bound(at))->second;
  const bool fits = !memory || (offset >= 0 && offset <= memory->bytes - bytes);
  if (!range.isRange || !fits || static_cast<int64_t>(at - range.at) % mappingBytes != 0 || bytes % mappingBytes != 0 ||
      offset % mappingBytes != 0)
    return invalidArgument("a mapping of " + std::to_string(bytes) + " bytes into '" + range.owner +
                           "': expected whole pages of " + std::to_string(mappingBytes) + " bytes in a reserved range");
  if (!memory)
    return showNothing(at, bytes);
  FUSEC_RETURN_IF_ERROR(memory->memory.mapAt(reinterpret_cast<std::byte *>(host(at)), offset, bytes));
  FUSEC_RETURN_IF_ERROR(memory->shadow.mapAt(reinterpret_cast<std::byte *>(flags(at)), offset, bytes));
  return memory->cells.mapAt(reinterpret_cast<std::byte *>(cell(at)), offset * cellFactor, bytes * cellFactor);
}

/// Zeros again, which the flags call no memory.
Status DeviceMemory::showNothing(uint64_t at, int64_t bytes) {
  const bool done = reserve(bytes, host(at)) && reserve(bytes, flags(at)) &&
                    reserve(bytes * cellFactor, reinterpret_cast<uint8_t *>(cell(at)));
  return done ? Status() : resourceExhausted("the virtual device cannot give back a mapping");
}

void DeviceMemory::release(uint64_t at) {
  std::lock_guard lock(mutex);
  auto found = live.find(at);
  if (found == live.end())
    return;
  const int64_t bytes = found->second.bytes;
  if (found->second.isRange) {
    (void)showNothing(at, bytes);
  } else {
    used -= footprint(bytes);
    zero(host(at), bytes);
    zero(flags(at), bytes);
    zero(reinterpret_cast<uint8_t *>(cell(at)), bytes * cellFactor);
  }
  live.erase(found);
}

int64_t DeviceMemory::freeBytes() const {
  std::lock_guard lock(mutex);
  return size - used;
}

std::optional<DeviceMemory::Allocation> DeviceMemory::nearest(uint64_t at) const {
  std::lock_guard lock(mutex);
  auto after = live.upper_bound(at);
  if (after == live.begin())
    return std::nullopt;
  return std::prev(after)->second;
}

void DeviceMemory::markWritten(uint64_t at, int64_t bytes) {
  std::memset(flags(at), shadowValid | shadowInitialised, static_cast<size_t>(bytes));
}

void DeviceMemory::copy(uint64_t to, uint64_t from, int64_t bytes) {
  std::memmove(host(to), host(from), static_cast<size_t>(bytes));
  std::memmove(flags(to), flags(from), static_cast<size_t>(bytes));
}

Status DeviceMemory::checkRange(uint64_t at, int64_t bytes, const char *what) const {
  std::optional<Allocation> found = nearest(at);
  if (found && bytes >= 0 && at - found->at <= static_cast<uint64_t>(found->bytes) &&
      static_cast<uint64_t>(bytes) <= static_cast<uint64_t>(found->bytes) - (at - found->at))
    return {};
  std::string near = found ? "the nearest allocation before it is '" + found->owner + "' with " +
                                 std::to_string(found->bytes) + " bytes at " + std::to_string(found->at)
                           : "no allocation lies before it";
  return invalidArgument(std::string(what) + " of " + std::to_string(bytes) + " bytes at device address " +
                         std::to_string(at) + " leaves its allocation: " + near);
}

} // namespace fusec::virtualgpu
