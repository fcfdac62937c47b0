//===- Buffer.cpp - host memory from anonymous mappings ----------------------===//

#include "runtime/device/Buffer.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace fusec::runtime {

namespace {

constexpr size_t hugePage = 2 << 20;

/// Anonymous zero pages; null (and errno) when there are none.
void *mapZeros(size_t bytes, int protection = PROT_READ | PROT_WRITE) {
  void *data = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return data == MAP_FAILED ? nullptr : data;
}

/// As mapZeros, from a multiple of the huge page on: reserves more and gives the ends back.
std::byte *reserveAligned(size_t bytes) {
  const size_t pageMask = static_cast<size_t>(sysconf(_SC_PAGESIZE)) - 1, whole = (bytes + pageMask) & ~pageMask;
  auto *data = static_cast<std::byte *>(mapZeros(whole + hugePage));
  if (!data)
    return nullptr;
  const size_t before = -reinterpret_cast<uintptr_t>(data) & (hugePage - 1);
  if (before > 0)
    munmap(data, before);
  if (before < hugePage)
    munmap(data + before + whole, hugePage - before);
  return data + before;
}

Status cannotReserve(int64_t bytes, std::string_view owner) {
  return resourceExhausted(std::string(owner) + ": cannot reserve " + std::to_string(bytes) +
                           " bytes of memory: " + std::strerror(errno));
}

} // namespace

Result<Buffer> Buffer::reserve(int64_t bytes, std::string_view owner) {
  void *data = mapZeros(static_cast<size_t>(bytes), PROT_READ);
  if (!data)
    return cannotReserve(bytes, owner);
  return Buffer(static_cast<std::byte *>(data), bytes);
}

Result<Buffer> Buffer::allocate(int64_t bytes, std::string_view owner, int64_t hugePageThreshold) {
  if (bytes <= 0)
    return internalError(std::string(owner) + ": a buffer needs at least one byte, asked for " + std::to_string(bytes));
  // Large buffers are streamed, and 2 MiB pages save most of their TLB misses; small ones would only become
  // resident for nothing.
  const bool isLarge = bytes >= hugePageThreshold;
  const auto size = static_cast<size_t>(bytes);
  // Too large a size must not wrap when the alignment is added.
  void *data = isLarge && size < SIZE_MAX / 4 ? reserveAligned(size) : mapZeros(size);
  if (!data)
    return cannotReserve(bytes, owner);
  if (isLarge)
    (void)madvise(data, size, MADV_HUGEPAGE); // Advice, so a refusal is fine.
  return Buffer(static_cast<std::byte *>(data), bytes);
}

Buffer::~Buffer() {
  if (base)
    munmap(base, static_cast<size_t>(length));
}

Buffer::Buffer(Buffer &&other) noexcept
    : base(std::exchange(other.base, nullptr)), length(std::exchange(other.length, 0)) {}

Buffer &Buffer::operator=(Buffer &&other) noexcept {
  std::swap(base, other.base);
  std::swap(length, other.length);
  return *this;
}

} // namespace fusec::runtime
