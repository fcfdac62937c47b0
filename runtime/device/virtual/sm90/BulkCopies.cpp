//===- BulkCopies.cpp - cp.async.bulk of a block -----------------------------===//

#include "runtime/device/virtual/sm90/BulkCopies.h"
#include "runtime/device/virtual/check/BlockChecker.h"
#include "runtime/device/virtual/exec/Block.h"

#include <cstring>

namespace fusec::virtualgpu {

void BulkCopies::issue(Warp &warp, Copy copy) {
  copy.warp = &warp;
  if (BlockChecker *checker = warp.block.checker.get()) {
    if (!checker->bulkCopyStarts(warp, copy.lane, copy.to, copy.bytes))
      return;
    checker->clocks.publish(warp.firstThread(), 1u << copy.lane, copy.before);
  }
  const AsyncPolicy policy = warp.block.grid.settings.asyncPolicy;
  if (policy == AsyncPolicy::AtIssue || (policy == AsyncPolicy::Random && warp.block.random.below(2) == 0))
    return move(copy);
  std::memset(warp.block.shared.data() + copy.to, 0xff, copy.bytes);
  copies.push_back(copy);
}

/// The source is charged now: whoever wrote it since the request must be ordered.
void BulkCopies::move(const Copy &copy) {
  Warp &warp = *copy.warp;
  if (BlockChecker *checker = warp.block.checker.get()) {
    LaneAccess source(1u << copy.lane);
    source.at[copy.lane] = copy.from;
    if (!checker->global(warp, source, source.mask, copy.bytes, AccessKind::Read))
      return;
    checker->bulkCopyEnds(copy.to, copy.bytes);
  }
  std::memcpy(warp.block.shared.data() + copy.to, warp.block.grid.memory.host(copy.from), copy.bytes);
  warp.block.mbarriers.deliver(warp, copy.lane, copy.barrier, copy.bytes, copy.before);
}

bool BulkCopies::finish(Warp &warp, uint32_t barrier) {
  std::vector<Copy> left;
  left.swap(copies);
  bool any = false;
  for (const Copy &copy : left) {
    if (copy.barrier != barrier) {
      copies.push_back(copy);
      continue;
    }
    move(copy);
    any = true;
  }
  return any;
}

void BulkCopies::checkEnd(Block &block) const {
  if (copies.empty())
    return;
  Warp &warp = *copies.front().warp;
  warp.fault(FaultKind::UnfinishedCopies,
             "the block ends with " + std::to_string(copies.size()) + " bulk copies nobody waited for",
             copies.front().lane);
}

} // namespace fusec::virtualgpu
