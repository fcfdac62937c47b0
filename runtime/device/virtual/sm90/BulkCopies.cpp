//===- BulkCopies.cpp - cp.async.bulk of a block -----------------------------===//

#include "runtime/device/virtual/sm90/BulkCopies.h"
#include "runtime/device/virtual/exec/Block.h"

#include <cstring>

namespace fusec::virtualgpu {

void BulkCopies::issue(Warp &warp, Copy copy) {
  const AsyncPolicy policy = warp.block.grid.settings.asyncPolicy;
  if (policy == AsyncPolicy::AtIssue || (policy == AsyncPolicy::Random && warp.block.random.below(2) == 0))
    return move(warp, copy);
  std::memset(warp.block.shared.data() + copy.to, 0xff, copy.bytes);
  copies.push_back(copy);
}

void BulkCopies::move(Warp &warp, const Copy &copy) {
  std::memcpy(warp.block.shared.data() + copy.to, warp.block.grid.memory.host(copy.from), copy.bytes);
  warp.block.mbarriers.deliver(warp, copy.lane, copy.barrier, copy.bytes);
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
    move(warp, copy);
    any = true;
  }
  return any;
}

} // namespace fusec::virtualgpu
