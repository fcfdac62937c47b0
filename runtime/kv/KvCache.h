//===- KvCache.h - the memory of all KV pages --------------------------------===//
//
// One buffer per layer and kind (keys, values), each numPages * pageBytes with
// page p at p * pageBytes. Reserved at once, resident page by page on first
// write. Knows sizes only; BlockAllocator decides who uses a page.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/device/Buffer.h"

#include <cstdint>
#include <span>
#include <vector>

namespace fusec::runtime {

class KvCache {
public:
  /// One buffer per entry of `pageBytes`, each with `numPages` pages.
  static Result<KvCache> create(std::span<const int64_t> pageBytes, int64_t numPages);

  size_t numBuffers() const { return buffers.size(); }
  std::byte *base(size_t buffer) const { return buffers[buffer].data(); }
  int64_t bytes() const { return totalBytes; }

private:
  std::vector<Buffer> buffers;
  int64_t totalBytes = 0;
};

} // namespace fusec::runtime
