//===- Mbarriers.cpp - the mbarriers of a block ------------------------------===//

#include "runtime/device/virtual/sm90/Mbarriers.h"
#include "runtime/device/virtual/check/BlockChecker.h"
#include "runtime/device/virtual/exec/Block.h"

namespace fusec::virtualgpu {

constexpr uint32_t mostArrivals = (1u << 20) - 1;

static std::string named(uint32_t at) { return "the mbarrier at shared byte " + std::to_string(at); }

Mbarriers::Barrier *Mbarriers::find(Warp &warp, int lane, uint32_t at) {
  auto found = barriers.find(at);
  if (found == barriers.end()) {
    warp.fault(FaultKind::BarrierMisuse, named(at) + " was not initialised", lane, at);
    return nullptr;
  }
  const Barrier &barrier = found->second;
  if (warp.block.checker && !warp.block.checker->clocks.knows(warp.firstThread() + static_cast<uint32_t>(lane),
                                                              barrier.initThread, barrier.initTick)) {
    warp.fault(FaultKind::BarrierMisuse, named(at) + " is used with no barrier after its initialisation", lane, at);
    return nullptr;
  }
  return &found->second;
}

void Mbarriers::init(Warp &warp, int lane, uint32_t at, uint32_t arrivals) {
  if (at % 8 != 0 || at + 8 > warp.block.shared.size())
    return warp.fault(FaultKind::BadOperand, named(at) + " is not 8 aligned bytes of the block's shared memory", lane,
                      at);
  if (arrivals == 0 || arrivals > mostArrivals)
    return warp.fault(FaultKind::BadOperand, named(at) + " expects " + std::to_string(arrivals) + " arrivals", lane,
                      at);
  auto [place, isNew] = barriers.try_emplace(at);
  if (!isNew)
    return warp.fault(FaultKind::BarrierMisuse, named(at) + " is initialised again while it is in use", lane, at);
  Barrier &barrier = place->second;
  barrier.expected = barrier.missing = arrivals;
  barrier.initThread = warp.firstThread() + static_cast<uint32_t>(lane);
  if (warp.block.checker)
    barrier.initTick = warp.block.checker->clocks.tick(barrier.initThread);
}

void Mbarriers::invalidate(Warp &warp, int lane, uint32_t at) {
  if (find(warp, lane, at))
    barriers.erase(at);
}

void Mbarriers::completeIfFull(Barrier &barrier) {
  if (barrier.missing != 0 || barrier.bytes != 0)
    return;
  ++barrier.phase;
  barrier.missing = barrier.expected;
  barrier.complete = std::move(barrier.arrived);
  barrier.arrived.clear();
}

void Mbarriers::arrive(Warp &warp, int lane, uint32_t at, uint32_t count, int64_t bytes) {
  Barrier *barrier = find(warp, lane, at);
  if (!barrier)
    return;
  if (count > barrier->missing)
    return warp.fault(
        FaultKind::BarrierMisuse,
        named(at) + " expects " + std::to_string(barrier->expected) + " arrivals per phase, but more came", lane, at);
  if (warp.block.checker)
    warp.block.checker->clocks.publish(warp.firstThread(), 1u << lane, barrier->arrived);
  barrier->bytes += bytes;
  barrier->missing -= count;
  completeIfFull(*barrier);
}

void Mbarriers::expect(Warp &warp, int lane, uint32_t at, int64_t bytes) {
  if (Barrier *barrier = find(warp, lane, at))
    barrier->bytes += bytes;
}

void Mbarriers::deliver(Warp &warp, int lane, uint32_t at, int64_t bytes, const Published &before) {
  Barrier *barrier = find(warp, lane, at);
  if (!barrier)
    return;
  if (!before.clock.empty())
    join(barrier->arrived.clock, before.clock);
  barrier->bytes -= bytes;
  completeIfFull(*barrier);
}

bool Mbarriers::isComplete(Warp &warp, int lane, uint32_t at, uint32_t parity) {
  Barrier *barrier = find(warp, lane, at);
  // The phase before the current one is the one of the other parity; before the first, that counts as complete.
  if (!barrier || (barrier->phase & 1) == (parity & 1))
    return false;
  if (warp.block.checker)
    warp.block.checker->clocks.acquire(warp.firstThread(), 1u << lane, barrier->complete);
  return true;
}

std::string Mbarriers::describe() const {
  std::string text;
  for (const auto &[at, barrier] : barriers)
    text += (text.empty() ? "mbarrier at " : ", mbarrier at ") + std::to_string(at) + ": phase " +
            std::to_string(barrier.phase) + ", " + std::to_string(barrier.missing) + " of " +
            std::to_string(barrier.expected) + " arrivals and " + std::to_string(barrier.bytes) + " bytes missing";
  return text;
}

} // namespace fusec::virtualgpu
