//===- BlockAllocator.cpp ----------------------------------------------------===//

#include "runtime/kv/BlockAllocator.h"

#include <algorithm>
#include <string>

namespace fusec::runtime {

BlockAllocator::BlockAllocator(int32_t totalBlocks) : references(std::max(totalBlocks, 1), 0) {
  references[toIndex(sinkBlock)] = 1;
  freeList.reserve(references.size());
  for (int32_t block = this->totalBlocks() - 1; block > toIndex(sinkBlock); --block)
    freeList.push_back(BlockId{block});
}

Result<BlockId> BlockAllocator::allocate() {
  if (freeList.empty())
    return resourceExhausted("kv cache: all " + std::to_string(totalBlocks() - 1) + " pages are in use");
  BlockId id = freeList.back();
  freeList.pop_back();
  references[toIndex(id)] = 1;
  ++live;
  return id;
}

Status BlockAllocator::retain(BlockId id) {
  FUSEC_RETURN_IF_ERROR(requireLive(id, "retain"));
  ++references[toIndex(id)];
  return {};
}

Status BlockAllocator::release(BlockId id) {
  FUSEC_RETURN_IF_ERROR(requireLive(id, "release"));
  if (--references[toIndex(id)] == 0) {
    --live;
    freeList.push_back(id);
  }
  return {};
}

int32_t BlockAllocator::referenceCount(BlockId id) const {
  bool known = toIndex(id) >= 0 && toIndex(id) < totalBlocks();
  return known ? references[toIndex(id)] : 0;
}

Status BlockAllocator::requireLive(BlockId id, const char *verb) const {
  std::string what = "kv cache: cannot " + std::string(verb) + " page " + std::to_string(toIndex(id));
  if (toIndex(id) < 0 || toIndex(id) >= totalBlocks())
    return internalError(what + ": there are pages 0 to " + std::to_string(totalBlocks() - 1));
  if (id == sinkBlock)
    return internalError(what + ": it is the sink");
  if (references[toIndex(id)] == 0)
    return internalError(what + ": it is free");
  return {};
}

Status BlockAllocator::checkLedger() const {
  int32_t counted = 0;
  for (int32_t block = 1; block < totalBlocks(); ++block)
    counted += references[block] > 0;
  std::vector<bool> listed(references.size(), false);
  for (BlockId id : freeList) {
    if (references[toIndex(id)] != 0 || listed[toIndex(id)])
      return internalError("kv ledger: page " + std::to_string(toIndex(id)) +
                           " is in the free list but live or listed twice");
    listed[toIndex(id)] = true;
  }
  if (counted != live || 1 + freeBlocks() + live != totalBlocks())
    return internalError("kv ledger: 1 sink + " + std::to_string(freeBlocks()) + " free + " + std::to_string(counted) +
                         " live is not the total of " + std::to_string(totalBlocks()));
  return {};
}

} // namespace fusec::runtime
