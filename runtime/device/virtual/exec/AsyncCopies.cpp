//===- AsyncCopies.cpp - cp.async of the threads of a block ------------------===//

#include "runtime/device/virtual/exec/AsyncCopies.h"
#include "runtime/device/virtual/exec/Block.h"

#include <cstring>

namespace fusec::virtualgpu {

void AsyncCopies::reset(uint32_t count) {
  threads.resize(count);
  for (Thread &thread : threads) {
    thread.committed = 0;
    thread.copies.clear();
  }
}

void AsyncCopies::issue(Warp &warp, int lane, Copy copy) {
  Thread &thread = threads[warp.firstThread() + static_cast<uint32_t>(lane)];
  copy.group = thread.committed;
  AsyncPolicy policy = warp.block.grid.settings.asyncPolicy;
  bool now = policy == AsyncPolicy::AtIssue || (policy == AsyncPolicy::Random && warp.block.random.below(2) == 0);
  if (now)
    move(warp, lane, copy);
  else
    std::memset(warp.block.shared.data() + copy.to, 0xff, copy.bytes);
  thread.copies.push_back(copy);
  if (BlockChecker *checker = warp.block.checker.get())
    checker->copyStarts(copy.to, copy.bytes);
}

void AsyncCopies::move(Warp &warp, int, Copy &copy) {
  uint8_t *to = warp.block.shared.data() + copy.to;
  if (copy.fromBytes)
    std::memcpy(to, warp.block.grid.memory.host(copy.from), copy.fromBytes);
  std::memset(to + copy.fromBytes, 0, copy.bytes - copy.fromBytes);
  copy.moved = true;
}

/// The source is charged now: whoever wrote it since the issue must be ordered.
bool AsyncCopies::finish(Warp &warp, int lane, const Copy &copy) {
  BlockChecker *checker = warp.block.checker.get();
  if (!checker)
    return true;
  checker->copyEnds(warp.firstThread() + static_cast<uint32_t>(lane), copy.to, copy.bytes);
  if (copy.fromBytes == 0)
    return true;
  LaneAccess source(1u << lane);
  source.at[lane] = copy.from;
  return checker->global(warp, source, source.mask, copy.fromBytes, AccessKind::Read);
}

std::string AsyncCopies::describe(uint32_t at) const {
  for (size_t thread = 0; thread < threads.size(); ++thread)
    for (const Copy &copy : threads[thread].copies)
      if (at >= copy.to && at < copy.to + copy.bytes)
        return " (issued by thread " + std::to_string(thread) + ")";
  return {};
}

bool AsyncCopies::checkExit(Warp &warp) const {
  if (!warp.block.checker)
    return true;
  for (uint32_t m = warp.mask; m; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const size_t left = inFlight(warp.firstThread() + static_cast<uint32_t>(lane));
    if (left == 0)
      continue;
    warp.fault(FaultKind::UnfinishedCopies,
               "the thread ends with " + std::to_string(left) + " cp.async copies it never waited for", lane);
    return false;
  }
  return true;
}

void AsyncCopies::commit(Warp &warp) {
  for (uint32_t m = warp.mask; m; m &= m - 1)
    ++threads[warp.firstThread() + static_cast<uint32_t>(std::countr_zero(m))].committed;
}

void AsyncCopies::wait(Warp &warp, uint32_t pending, bool all) {
  for (uint32_t m = warp.mask; m; m &= m - 1) {
    int lane = std::countr_zero(m);
    Thread &thread = threads[warp.firstThread() + static_cast<uint32_t>(lane)];
    size_t done = 0;
    while (done < thread.copies.size() && (all || thread.copies[done].group + pending < thread.committed)) {
      if (!thread.copies[done].moved)
        move(warp, lane, thread.copies[done]);
      if (!finish(warp, lane, thread.copies[done]))
        return;
      ++done;
    }
    thread.copies.erase(thread.copies.begin(), thread.copies.begin() + static_cast<ptrdiff_t>(done));
  }
}

} // namespace fusec::virtualgpu
