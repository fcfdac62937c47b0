//===- Mbarriers.cpp - the mbarriers of a block ------------------------------===//

#include "runtime/device/virtual/sm90/Mbarriers.h"
#include "runtime/device/virtual/exec/Block.h"

namespace fusec::virtualgpu {

constexpr uint32_t mostArrivals = (1u << 20) - 1;

static std::string named(uint32_t at) { return "the mbarrier at shared byte " + std::to_string(at); }

Mbarriers::Barrier *Mbarriers::find(Warp &warp, int lane, uint32_t at) {
  auto found = barriers.find(at);
  if (found != barriers.end())
    return checkInitialised(warp, lane, at, found->second) ? &found->second : nullptr;
  warp.fault(FaultKind::BarrierMisuse, named(at) + " was not initialised", lane, at);
  return nullptr;
}

/// The thread must come after the one that initialised the barrier.
bool Mbarriers::checkInitialised(Warp &warp, int lane, uint32_t at, const Barrier &barrier) {
  const BlockChecker *checker = warp.block.checker.get();
  const uint32_t thread = warp.firstThread() + static_cast<uint32_t>(lane);
  if (!checker || checker->clocks.knows(thread, barrier.initThread, barrier.initTick))
    return true;
  warp.fault(FaultKind::BarrierMisuse,
             named(at) + " is used with no barrier after its initialisation by thread " +
                 std::to_string(barrier.initThread),
             lane, at);
  return false;
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
  place->second.expected = place->second.missing = arrivals;
  if (BlockChecker *checker = warp.block.checker.get()) {
    place->second.initThread = warp.firstThread() + static_cast<uint32_t>(lane);
    place->second.initTick = checker->clocks.tick(place->second.initThread);
    checker->barrierLives(at, true);
  }
}

void Mbarriers::invalidate(Warp &warp, int lane, uint32_t at) {
  if (!find(warp, lane, at))
    return;
  barriers.erase(at);
  if (warp.block.checker)
    warp.block.checker->barrierLives(at, false);
}

void Mbarriers::completeIfFull(Barrier &barrier) {
  if (barrier.missing != 0 || barrier.bytes != 0)
    return;
  ++barrier.phase;
  barrier.missing = barrier.expected;
  // Phases follow each other, so what is known adds up.
  if (!barrier.arrived.clock.empty())
    join(barrier.completed.clock, barrier.arrived.clock);
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
  barrier->bytes += bytes;
  barrier->missing -= count;
  if (warp.block.checker)
    warp.block.checker->clocks.publish(warp.firstThread(), 1u << lane, barrier->arrived);
  completeIfFull(*barrier);
}

void Mbarriers::expect(Warp &warp, int lane, uint32_t at, int64_t bytes) {
  if (Barrier *barrier = find(warp, lane, at))
    barrier->bytes += bytes;
}

void Mbarriers::deliver(Warp &warp, int lane, uint32_t at, int64_t bytes, uint32_t to) {
  auto found = barriers.find(at);
  if (found == barriers.end())
    return warp.fault(FaultKind::BarrierMisuse, named(at) + " was not initialised", lane, at);
  Barrier *barrier = &found->second;
  if (warp.block.checker)
    warp.block.checker->bulkEnds(to, static_cast<uint32_t>(bytes), barrier->arrived);
  barrier->bytes -= bytes;
  completeIfFull(*barrier);
}

bool Mbarriers::isComplete(Warp &warp, int lane, uint32_t at, uint32_t parity) {
  Barrier *barrier = find(warp, lane, at);
  // The phase before the current one is the one of the other parity; before the first, that counts as complete.
  const bool complete = barrier && (barrier->phase & 1) != (parity & 1);
  if (complete)
    warp.block.bulkCopies.waited(at);
  if (complete && warp.block.checker)
    warp.block.checker->clocks.acquire(warp.firstThread() + static_cast<uint32_t>(lane), 1, barrier->completed);
  return complete;
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
