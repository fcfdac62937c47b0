//===- KvSequence.cpp --------------------------------------------------------===//

#include "runtime/kv/KvSequence.h"

#include <cassert>
#include <utility>

namespace fusec::runtime {

KvSequence::KvSequence(BlockAllocator &allocator, int64_t pageTokens) : allocator(&allocator), pageTokens(pageTokens) {
  assert(pageTokens > 0 && "a page holds at least one token");
}

KvSequence::~KvSequence() { truncate(0); }

KvSequence::KvSequence(KvSequence &&other) noexcept
    : allocator(other.allocator), pageTokens(other.pageTokens), table(std::exchange(other.table, {})) {}

Status KvSequence::reserve(int64_t tokens) {
  size_t before = table.size();
  while (capacityTokens() < tokens) {
    Result<BlockId> block = allocator->allocate();
    if (!block) {
      truncate(static_cast<int64_t>(before) * pageTokens);
      return block.status();
    }
    table.push_back(*block);
  }
  return {};
}

void KvSequence::truncate(int64_t tokens) {
  size_t keep = static_cast<size_t>((tokens + pageTokens - 1) / pageTokens);
  while (table.size() > keep) {
    [[maybe_unused]] Status released = allocator->release(table.back());
    assert(released.ok() && "a sequence owns its pages");
    table.pop_back();
  }
}

} // namespace fusec::runtime
