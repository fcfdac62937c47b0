//===- Buffer.cpp - host memory from anonymous mappings ----------------------===//

#include "runtime/device/Buffer.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <sys/mman.h>
#include <utility>

namespace fusec::runtime {

namespace {
constexpr int64_t hugePageThreshold = 16 << 20;
} // namespace

Result<Buffer> Buffer::allocate(int64_t bytes, std::string_view owner) {
  if (bytes <= 0)
    return internalError(std::string(owner) + ": a buffer needs at least one byte, asked for " + std::to_string(bytes));
  void *data = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED)
    return resourceExhausted(std::string(owner) + ": cannot reserve " + std::to_string(bytes) +
                             " bytes of memory: " + std::strerror(errno));
  // Large buffers are streamed, and 2 MiB pages save most of their TLB misses; small ones would only become
  // resident for nothing. It is advice, so a refusal is fine.
  if (bytes >= hugePageThreshold)
    (void)madvise(data, static_cast<size_t>(bytes), MADV_HUGEPAGE);
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
