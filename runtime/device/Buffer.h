//===- Buffer.h - one owned range of device memory ---------------------------===//
//
// On the host: anonymous zero pages, resident only once touched, huge pages for
// large buffers where the kernel offers them. Move-only; frees its memory when destroyed.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fusec::runtime {

class Buffer {
public:
  Buffer() = default;
  /// Reserves `bytes` > 0 of zeroed memory, page aligned. `owner` names the
  /// reservation in the error message. From `hugePageThreshold` bytes on, huge
  /// pages are asked for and the start is aligned to one.
  static Result<Buffer> allocate(int64_t bytes, std::string_view owner, int64_t hugePageThreshold = 16 << 20);
  /// Reserves the addresses only: they read as zeros and must not be written until something is mapped there
  /// (PageFile.h).
  static Result<Buffer> reserve(int64_t bytes, std::string_view owner);
  ~Buffer();
  Buffer(Buffer &&other) noexcept;
  Buffer &operator=(Buffer &&other) noexcept;
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;

  std::byte *data() const { return base; }
  int64_t bytes() const { return length; }

private:
  Buffer(std::byte *data, int64_t bytes) : base(data), length(bytes) {}

  std::byte *base = nullptr;
  int64_t length = 0;
};

} // namespace fusec::runtime
