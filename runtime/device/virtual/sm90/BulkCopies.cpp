//===- BulkCopies.cpp - cp.async.bulk of a block -----------------------------===//

#include "runtime/device/virtual/sm90/BulkCopies.h"
#include "runtime/device/virtual/exec/Block.h"

#include <cstring>

namespace fusec::virtualgpu {

void BulkCopies::issue(Warp &warp, Copy copy) {
  BlockChecker *checker = warp.block.checker.get();
  if (checker && !checker->bulkStarts(warp, copy.lane, copy.to, copy.from, copy.bytes))
    return;
  const AsyncPolicy policy = warp.block.grid.settings.asyncPolicy;
  if (policy == AsyncPolicy::AtIssue || (policy == AsyncPolicy::Random && warp.block.random.below(2) == 0))
    move(warp, copy);
  else
    std::memset(warp.block.shared.data() + copy.to, 0xff, copy.bytes);
  copies.push_back(copy);
}

void BulkCopies::move(Warp &warp, Copy &copy) {
  copy.moved = true;
  std::memcpy(warp.block.shared.data() + copy.to, warp.block.grid.memory.host(copy.from), copy.bytes);
  warp.block.mbarriers.deliver(warp, copy.lane, copy.barrier, copy.bytes, copy.to);
}

bool BulkCopies::finish(Warp &warp, uint32_t barrier) {
  bool any = false;
  for (Copy &copy : copies)
    if (copy.barrier == barrier && !copy.moved) {
      move(warp, copy);
      any = true;
    }
  return any;
}

void BulkCopies::waited(uint32_t barrier) {
  std::erase_if(copies, [barrier](const Copy &copy) { return copy.moved && copy.barrier == barrier; });
}

} // namespace fusec::virtualgpu
