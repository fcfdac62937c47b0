//===- KvCache.cpp -----------------------------------------------------------===//

#include "runtime/kv/KvCache.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace fusec::runtime {

namespace {
/// Kernels may load whole vectors at the end of the last page.
constexpr int64_t slackBytes = 64;
/// What is written is one run of pages, whose two ends fill up to two huge pages for nothing: 4 MiB, less than a tenth
/// of this.
constexpr int64_t hugePageThreshold = 40 << 20;
/// Each virtual page may become a mapping of its own, and the process needs some for all else.
Status requireMappings(const KvCacheShape &shape) {
  constexpr int64_t others = 4096;
  const int64_t needed = shape.virtualPages - shape.numPages + others, limit = PageFile::mappingLimit();
  if (limit == 0 || needed <= limit)
    return {};
  return resourceExhausted("kv cache: the contiguous layout needs up to " + std::to_string(needed) +
                           " mappings for these sequences, the kernel allows " + std::to_string(limit) +
                           " (vm.max_map_count); raise that, run fewer sequences at once, or choose a smaller context");
}

} // namespace

Result<KvCache> KvCache::create(const KvCacheShape &shape) {
  KvCache cache;
  cache.numPages = shape.numPages;
  cache.stride = shape.pageStride;
  int64_t used = 0;
  for (int64_t bytes : shape.pageBytes) {
    cache.offsets.push_back(used);
    used += bytes;
  }
  const int64_t pages = std::max(shape.numPages, shape.virtualPages);
  int64_t size = 0;
  if (__builtin_mul_overflow(cache.stride, pages, &size) || __builtin_add_overflow(size, slackBytes, &size))
    return resourceExhausted("kv cache: " + std::to_string(pages) + " pages of " + std::to_string(cache.stride) +
                             " bytes exceed the address space");
  if (shape.virtualPages == 0) {
    FUSEC_ASSIGN_OR_RETURN(cache.arena, Buffer::allocate(size, "kv cache", hugePageThreshold));
    return cache;
  }
  FUSEC_RETURN_IF_ERROR(requireMappings(shape));
  FUSEC_ASSIGN_OR_RETURN(cache.arena, Buffer::reserve(size, "kv cache"));
  FUSEC_RETURN_IF_ERROR(cache.mapPages());
  return cache;
}

Status KvCache::mapPages() {
  FUSEC_ASSIGN_OR_RETURN(pages, PageFile::create(bytes(), "kv cache"));
  return pages.mapAt(arena.data(), 0, bytes());
}

Status KvCache::map(int64_t virtualPage, BlockId page) {
  return pages.mapAt(arena.data() + virtualPage * stride, toIndex(page) * stride, stride);
}

void KvCache::copyPage(const PageCopy &copy) {
  std::memcpy(arena.data() + toIndex(copy.to) * stride, arena.data() + toIndex(copy.from) * stride,
              static_cast<size_t>(stride));
}

} // namespace fusec::runtime
