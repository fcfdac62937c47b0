//===- Barriers.cpp - the 16 barriers of a block -----------------------------===//

#include "runtime/device/virtual/exec/Barriers.h"
#include "runtime/device/virtual/exec/Block.h"

#include <bit>

namespace fusec::virtualgpu {

void Barriers::arrive(Warp &warp, uint32_t barrier, uint32_t threads, bool wait) {
  if (barrier >= number)
    return warp.fault(FaultKind::BadOperand, "barrier " + std::to_string(barrier) + " does not exist (0 to 15)");
  if (threads % warpLanes != 0)
    return warp.fault(FaultKind::BarrierMisuse, "barrier " + std::to_string(barrier) + " for " +
                                                    std::to_string(threads) +
                                                    " threads: the count must be a multiple of 32");
  State &state = states[barrier];
  if (state.used && state.expected != threads)
    return warp.fault(FaultKind::BarrierMisuse, "barrier " + std::to_string(barrier) + " is used with a count of " +
                                                    std::to_string(threads) + " while others wait at it with " +
                                                    std::to_string(state.expected));
  state.used = true;
  state.expected = threads;
  state.arrived += static_cast<uint32_t>(std::popcount(warp.mask));
  if (threads && state.arrived > threads)
    return warp.fault(FaultKind::BarrierMisuse, "barrier " + std::to_string(barrier) + " expects " +
                                                    std::to_string(threads) + " threads, but " +
                                                    std::to_string(state.arrived) + " came");
  if (warp.block.checker)
    publish(warp, state, wait);
  if (wait)
    warp.wait(static_cast<int>(barrier));
  completeIfFull(warp.block, barrier);
}

void Barriers::publish(Warp &warp, State &state, bool wait) {
  for (uint32_t m = warp.mask; m && wait; m &= m - 1)
    state.waiting.push_back(warp.firstThread() + static_cast<uint32_t>(std::countr_zero(m)));
  warp.block.checker->clocks.publish(warp.firstThread(), warp.mask, state.published);
}

/// Those that waited come after everything of those that came.
void Barriers::orderThreads(Block &block, State &state) {
  Clocks &clocks = block.checker->clocks;
  if (state.waiting.size() >= block.liveThreads())
    return clocks.meet(state.waiting);
  for (uint32_t thread : state.waiting)
    clocks.acquire(thread, 1, state.published);
}

void Barriers::reduce(Warp &warp, uint32_t barrier, uint32_t threads, uint32_t values, Reduce kind, uint32_t slot) {
  if (barrier < number) {
    states[barrier].trueValues += static_cast<uint32_t>(std::popcount(values & warp.mask));
    results[barrier].push_back({&warp, warp.mask, slot, kind});
  }
  arrive(warp, barrier, threads, true);
}

void Barriers::completeIfFull(Block &block, uint32_t barrier) {
  State &state = states[barrier];
  uint32_t wanted = state.expected ? state.expected : block.liveThreads();
  if (!state.used || state.arrived < wanted)
    return;
  for (const Pending &pending : results[barrier]) {
    uint32_t hits = state.trueValues;
    if (pending.kind == Reduce::Popc) {
      uint32_t *lanes = pending.warp->lanes<uint32_t>(pending.slot);
      for (uint32_t m = pending.mask; m; m &= m - 1)
        lanes[std::countr_zero(m)] = hits;
      continue;
    }
    bool value = pending.kind == Reduce::And ? hits == state.arrived : hits > 0;
    uint32_t &predicate = pending.warp->predicate(pending.slot);
    predicate = value ? predicate | pending.mask : predicate & ~pending.mask;
  }
  results[barrier].clear();
  if (block.checker)
    orderThreads(block, state);
  state = {};
  for (const std::unique_ptr<Warp> &warp : block.warps)
    warp->release(static_cast<int>(barrier));
}

void Barriers::threadsExited(Block &block) {
  for (uint32_t barrier = 0; barrier < number; ++barrier)
    if (states[barrier].used && states[barrier].expected == 0)
      completeIfFull(block, barrier);
}

std::string Barriers::describe(const Block &block) const {
  std::string text;
  for (int barrier = 0; barrier < number; ++barrier) {
    const State &state = states[static_cast<size_t>(barrier)];
    if (!state.used)
      continue;
    uint32_t wanted = state.expected ? state.expected : block.liveThreads();
    text += (text.empty() ? "barrier " : ", barrier ") + std::to_string(barrier) + ": " +
            std::to_string(state.arrived) + " of " + std::to_string(wanted) + " threads";
  }
  return text;
}

} // namespace fusec::virtualgpu
