//===- GuardedBuffer.h - memory that faults when left -----------------------===//
#pragma once

#include <cstddef>
#include <cstdint>

namespace fusec::codegen {

/// `bytes` of zeroed memory followed by exactly 64 bytes of slack and then an
/// unreadable page; an unreadable page lies before the mapping too. Move-only.
/// The slack holds a pattern, so that writes into it are found.
class GuardedBuffer {
public:
  explicit GuardedBuffer(int64_t bytes);
  GuardedBuffer(GuardedBuffer &&other) noexcept;
  GuardedBuffer(const GuardedBuffer &) = delete;
  GuardedBuffer &operator=(const GuardedBuffer &) = delete;
  ~GuardedBuffer();
  template <typename T = void> T *as() const { return reinterpret_cast<T *>(data); }
  int64_t size() const { return bytes; }
  /// The living buffer that starts at `address`; null if there is none. Not thread-safe.
  static const GuardedBuffer *at(const void *address);
  /// True while nothing was written behind the buffer.
  bool slackIsUntouched() const;

private:
  std::byte *mapping, *data;
  int64_t mappingBytes, bytes;
};

} // namespace fusec::codegen
