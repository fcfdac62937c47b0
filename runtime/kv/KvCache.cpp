//===- KvCache.cpp -----------------------------------------------------------===//

#include "runtime/kv/KvCache.h"

#include <cstring>
#include <string>

namespace fusec::runtime {

namespace {
/// Kernels may load whole vectors at the end of the last page.
constexpr int64_t slackBytes = 64;
/// What is written is one run of pages, whose two ends fill up to two huge pages for nothing: 4 MiB, less than a tenth
/// of this.
constexpr int64_t hugePageThreshold = 40 << 20;
} // namespace

Result<KvCache> KvCache::create(std::span<const int64_t> pageBytes, int64_t numPages) {
  KvCache cache;
  bool fits = true;
  for (int64_t bytes : pageBytes) {
    cache.offsets.push_back(cache.stride);
    fits &= !__builtin_add_overflow(cache.stride, bytes, &cache.stride);
  }
  int64_t size = 0;
  if (!fits || __builtin_mul_overflow(cache.stride, numPages, &size) || __builtin_add_overflow(size, slackBytes, &size))
    return resourceExhausted("kv cache: " + std::to_string(numPages) + " pages of " + std::to_string(pageBytes.size()) +
                             " buffers exceed the address space");
  FUSEC_ASSIGN_OR_RETURN(cache.arena, Buffer::allocate(size, "kv cache", hugePageThreshold));
  return cache;
}

void KvCache::copyPage(const PageCopy &copy) {
  std::memcpy(arena.data() + toIndex(copy.to) * stride, arena.data() + toIndex(copy.from) * stride,
              static_cast<size_t>(stride));
}

} // namespace fusec::runtime
