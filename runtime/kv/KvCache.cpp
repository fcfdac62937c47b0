//===- KvCache.cpp -----------------------------------------------------------===//

#include "runtime/kv/KvCache.h"

#include <string>

namespace fusec::runtime {

namespace {
/// Kernels may load whole vectors at the end of the last page.
constexpr int64_t slackBytes = 64;
} // namespace

Result<KvCache> KvCache::create(std::span<const int64_t> pageBytes, int64_t numPages) {
  KvCache cache;
  for (int64_t bytes : pageBytes) {
    int64_t size = 0;
    if (__builtin_mul_overflow(bytes, numPages, &size) || __builtin_add_overflow(size, slackBytes, &size) ||
        __builtin_add_overflow(cache.totalBytes, size, &cache.totalBytes))
      return resourceExhausted("kv cache: " + std::to_string(numPages) + " pages of " + std::to_string(bytes) +
                               " bytes exceed the address space");
    FUSEC_ASSIGN_OR_RETURN(Buffer buffer, Buffer::allocate(size, "kv cache"));
    cache.buffers.push_back(std::move(buffer));
  }
  return cache;
}

} // namespace fusec::runtime
