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
// With `virtualPages` the memory is a PageFile: the pages appear in order, and
// behind them lies room for as many virtual pages as are missing, which read as
// zeros until map() shows a page there.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/device/Buffer.h"
#include "runtime/device/PageFile.h"
#include "runtime/kv/PageCopy.h"

#include <cstdint>
#include <span>
#include <vector>

namespace fusec::runtime {

struct KvCacheShape {
  std::vector<int64_t> pageBytes; ///< A buffer per entry.
  int64_t pageStride = 0;         ///< At least the sum of these.
  int64_t numPages = 0;
  int64_t virtualPages = 0; ///< 0, or at least numPages; pageStride is then a multiple of PageFile::granularity().
};

class KvCache {
public:
  /// Pages that are all zero. ResourceExhausted when they do not fit the address space, or the kernel does not allow a
  /// mapping for every virtual page.
  static Result<KvCache> create(const KvCacheShape &shape);

  size_t numBuffers() const { return offsets.size(); }
  std::byte *base(size_t buffer) const { return arena.data() + offsets[buffer]; }
  /// Bytes from a page of a buffer to the buffer's next page.
  int64_t pageStride() const { return stride; }
  /// Of the pages: what may become resident.
  int64_t bytes() const { return numPages * stride; }
  /// Copies a page of every buffer; the caller has checked both.
  void copyPage(const PageCopy &copy);
  /// Shows `page` at a virtual page from numPages on. ResourceExhausted when the kernel refuses.
  Status map(int64_t virtualPage, BlockId page);

private:
  Status mapPages();

  Buffer arena;   ///< The pages, or the addresses of all virtual ones.
  PageFile pages; ///< Behind virtual pages.
  int64_t numPages = 0;
  std::vector<int64_t> offsets; ///< Of each buffer's page 0.
  int64_t stride = 0;
};

} // namespace fusec::runtime
