//===- BlockAllocator.cpp ----------------------------------------------------===//

#include "runtime/kv/BlockAllocator.h"

#include <algorithm>
#include <string>

namespace fusec::runtime {

static size_t slot(Holder holder) { return static_cast<size_t>(holder); }

BlockAllocator::BlockAllocator(int32_t totalBlocks) : pages(std::max(totalBlocks, 1), Page{}) {
  freeList.reserve(pages.size());
  for (int32_t block = this->totalBlocks() - 1; block > toIndex(sinkBlock); --block)
    freeList.push_back(BlockId{block});
  classCounts[static_cast<size_t>(PageClass::Sink)] = 1;
  classCounts[static_cast<size_t>(PageClass::Free)] = freeBlocks();
}

Result<BlockId> BlockAllocator::allocate() {
  if (freeList.empty())
    return resourceExhausted("kv cache: all " + std::to_string(totalBlocks() - 1) + " pages are in use");
  BlockId id = freeList.back();
  freeList.pop_back();
  add(id, Holder::Sequence, 1);
  return id;
}

Status BlockAllocator::retain(BlockId id, Holder holder) {
  FUSEC_RETURN_IF_ERROR(requireHeld(id, "retain"));
  if (holder == Holder::Tree && holders(id, holder) > 0)
    return internalError("kv cache: page " + std::to_string(toIndex(id)) + " is in the prefix tree already");
  add(id, holder, 1);
  return {};
}

Status BlockAllocator::release(BlockId id, Holder holder) {
  FUSEC_RETURN_IF_ERROR(requireHeld(id, "release"));
  if (holders(id, holder) == 0)
    return internalError("kv cache: page " + std::to_string(toIndex(id)) + " is released by who does not hold it");
  add(id, holder, -1);
  if (referenceCount(id) == 0)
    freeList.push_back(id);
  return {};
}

void BlockAllocator::add(BlockId id, Holder holder, int32_t delta) {
  --classCounts[static_cast<size_t>(pageClass(id))];
  pages[toIndex(id)][slot(holder)] += delta;
  ++classCounts[static_cast<size_t>(pageClass(id))];
}

int32_t BlockAllocator::referenceCount(BlockId id) const {
  if (!isKnown(id))
    return 0;
  const Page &page = pages[toIndex(id)];
  return page[0] + page[1] + page[2];
}

int32_t BlockAllocator::holders(BlockId id, Holder holder) const {
  return isKnown(id) ? pages[toIndex(id)][slot(holder)] : 0;
}

PageClass BlockAllocator::pageClass(BlockId id) const {
  if (id == sinkBlock)
    return PageClass::Sink;
  const Page &page = pages[toIndex(id)];
  return page[slot(Holder::Sequence)] > 0 ? PageClass::Live
         : page[slot(Holder::Step)] > 0   ? PageClass::Parked
         : page[slot(Holder::Tree)] > 0   ? PageClass::Cached
                                          : PageClass::Free;
}

Status BlockAllocator::requireHeld(BlockId id, const char *verb) const {
  std::string what;
  if (!isKnown(id))
    what = "there are pages 0 to " + std::to_string(totalBlocks() - 1);
  else if (id == sinkBlock)
    what = "it is the sink";
  else if (referenceCount(id) == 0)
    what = "it is free";
  else
    return {};
  return internalError("kv cache: cannot " + std::string(verb) + " page " + std::to_string(toIndex(id)) + ": " + what);
}

Status BlockAllocator::checkLedger() const {
  std::array<int32_t, numPageClasses> counted{};
  for (int32_t block = 0; block < totalBlocks(); ++block)
    ++counted[static_cast<size_t>(pageClass(BlockId{block}))];
  if (counted != classCounts)
    return internalError("kv ledger: the pages of each class are not as many as counted");
  std::vector<bool> listed(pages.size(), false);
  for (BlockId id : freeList) {
    if (pageClass(id) != PageClass::Free || listed[toIndex(id)])
      return internalError("kv ledger: page " + std::to_string(toIndex(id)) +
                           " is in the free list but held or listed twice");
    listed[toIndex(id)] = true;
  }
  if (freeBlocks() != blocksOf(PageClass::Free))
    return internalError("kv ledger: " + std::to_string(freeBlocks()) + " pages are listed as free, " +
                         std::to_string(blocksOf(PageClass::Free)) + " are held by nobody");
  return {};
}

} // namespace fusec::runtime
