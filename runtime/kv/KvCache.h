//===- KvCache.h - the memory of all KV pages --------------------------------===//
//
// Page p of every buffer (one per layer and kind: keys, values) lies side by
// side, then page p + 1 of each: page p of a buffer is at base + p * stride,
// where stride is the sum of all pageBytes. Reserved at once, resident on first
// write. Knows sizes only; BlockAllocator decides who uses a page.
//
// Why not buffer by buffer: a short prompt then writes a little at the start of
// every buffer, tens of places megabytes apart, so that huge pages would make
// most of the reservation resident. In this order what is written is one run
// from the start, and huge pages cost at most the ends of that run.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/device/Buffer.h"
#include "runtime/kv/PageCopy.h"

#include <cstdint>
#include <span>
#include <vector>

namespace fusec::runtime {

class KvCache {
public:
  /// One buffer per entry of `pageBytes`, each with `numPages` pages, all zero.
  static Result<KvCache> create(std::span<const int64_t> pageBytes, int64_t numPages);

  size_t numBuffers() const { return offsets.size(); }
  std::byte *base(size_t buffer) const { return arena.data() + offsets[buffer]; }
  /// Bytes from a page of a buffer to the buffer's next page.
  int64_t pageStride() const { return stride; }
  int64_t bytes() const { return arena.bytes(); }
  /// Copies a page of every buffer; the caller has checked both.
  void copyPage(const PageCopy &copy);

private:
  Buffer arena;
  std::vector<int64_t> offsets; ///< Of each buffer's page 0.
  int64_t stride = 0;
};

} // namespace fusec::runtime
