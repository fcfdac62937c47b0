//===- Clocks.cpp - which accesses of a block are ordered --------------------===//

#include "runtime/device/virtual/check/Clocks.h"

#include <bit>

namespace fusec::virtualgpu {
namespace {

/// The engine's ticks start high, so that no barrier of the block orders them by itself.
constexpr uint32_t firstAgentTick = epoch::maxTick / 2;

/// Merges `from` into `into`, entry by entry.
void joinForeign(ForeignClocks &into, const ForeignClocks &from) {
  for (const auto &[serial, clock] : from) {
    SharedClock &mine = into[serial];
    if (!mine || mine == clock) {
      mine = clock;
      continue;
    }
    auto both = std::make_shared<Clock>(*mine);
    join(*both, *clock);
    mine = std::move(both);
  }
}

} // namespace

void join(Clock &into, const Clock &other) {
  if (into.empty()) {
    into = other;
    return;
  }
  for (size_t i = 0; i < into.size(); ++i)
    into[i] = std::max(into[i], other[i]);
}

void Clocks::reset(uint32_t threads, uint32_t serial) {
  blockSerial = serial;
  floorEpoch = epoch::make(1, 0, 0, false);
  anyFence = false;
  agent = threads;
  ticks.assign(threads + 1, 1);
  ticks[agent] = firstAgentTick;
  proxyTicks.assign(threads, 0);
  proxyKnown.assign(threads, nullptr);
  known.assign(threads, nullptr);
  foreign.assign(threads, nullptr);
  fenceTicks.assign(threads + 1, 0);
  fenceKnown.assign(threads, nullptr);
}

void Clocks::advance(uint32_t thread) {
  if (ticks[thread] < epoch::maxTick)
    ++ticks[thread];
  else
    overflow = true;
}

bool Clocks::knowsForeign(uint32_t thread, uint32_t serial, uint32_t other, uint32_t tick) const {
  if (!foreign[thread])
    return false;
  auto found = foreign[thread]->find(serial);
  return found != foreign[thread]->end() && other < found->second->size() && (*found->second)[other] >= tick;
}

void Clocks::publish(uint32_t first, uint32_t lanes, Published &into) {
  if (into.clock.empty())
    into.clock.assign(ticks.size(), 0);
  const Clock *last = nullptr;
  for (uint32_t m = lanes; m; m &= m - 1) {
    uint32_t thread = first + static_cast<uint32_t>(std::countr_zero(m));
    if (known[thread] && known[thread].get() != last)
      join(into.clock, *(last = known[thread].get()));
    if (foreign[thread])
      joinForeign(into.foreign, *foreign[thread]);
  }
  for (uint32_t m = lanes; m; m &= m - 1) {
    uint32_t thread = first + static_cast<uint32_t>(std::countr_zero(m));
    into.clock[thread] = std::max(into.clock[thread], ticks[thread]);
    advance(thread);
  }
}

void Clocks::acquire(uint32_t first, uint32_t lanes, const Published &from) {
  if (from.clock.empty())
    return;
  auto clock = std::make_shared<const Clock>(from.clock);
  auto others = from.foreign.empty() ? nullptr : std::make_shared<const ForeignClocks>(from.foreign);
  for (uint32_t m = lanes; m; m &= m - 1) {
    uint32_t thread = first + static_cast<uint32_t>(std::countr_zero(m));
    if (known[thread]) {
      bool covered = true;
      for (size_t i = 0; covered && i < clock->size(); ++i)
        covered = (*known[thread])[i] <= (*clock)[i];
      if (!covered) {
        auto both = std::make_shared<Clock>(*clock);
        join(*both, *known[thread]);
        known[thread] = std::move(both);
      } else {
        known[thread] = clock;
      }
    } else {
      known[thread] = clock;
    }
    if (others && foreign[thread]) {
      auto both = std::make_shared<ForeignClocks>(*foreign[thread]);
      joinForeign(*both, *others);
      foreign[thread] = std::move(both);
    } else if (others) {
      foreign[thread] = others;
    }
  }
}

/// The ticks of all threads continue from one common value, above which nothing is ordered yet.
void Clocks::meet(const std::vector<uint32_t> &threads) {
  uint32_t latest = *std::max_element(ticks.begin(), ticks.begin() + agent);
  auto clock = std::make_shared<Clock>(ticks.size(), latest);
  (*clock)[agent] = 0;
  for (uint32_t thread : threads)
    if (known[thread])
      (*clock)[agent] = std::max((*clock)[agent], (*known[thread])[agent]);
  std::shared_ptr<ForeignClocks> others;
  for (uint32_t thread : threads)
    if (foreign[thread]) {
      if (!others)
        others = std::make_shared<ForeignClocks>();
      joinForeign(*others, *foreign[thread]);
    }
  if (latest + 1 >= epoch::maxTick)
    overflow = true;
  else
    ++latest;
  for (uint32_t thread : threads) {
    ticks[thread] = latest;
    known[thread] = clock;
    if (others)
      foreign[thread] = others;
  }
  floorEpoch = epoch::make(latest, 0, 0, false);
}

Epoch Clocks::agentEpoch(uint32_t mask) {
  if (agent > 0x3ff)
    return 0; // A block of 1024 threads leaves no number: its bulk copies go unrecorded.
  advance(agent);
  return epoch::make(ticks[agent], agent & 0x3ff, mask, false);
}

void Clocks::publishAgent(Epoch made, Published &into) const {
  if (made == 0)
    return;
  if (into.clock.empty())
    into.clock.assign(ticks.size(), 0);
  into.clock[agent] = std::max(into.clock[agent], epoch::tick(made));
}

void Clocks::proxyFence(uint32_t thread) {
  proxyTicks[thread] = ticks[thread];
  proxyKnown[thread] = known[thread];
  advance(thread);
}

bool Clocks::proxyKnows(uint32_t thread, uint32_t writer, uint32_t tick) const {
  return isAgent(writer) || tick <= proxyTicks[writer] || (proxyKnown[thread] && (*proxyKnown[thread])[writer] >= tick);
}

void Clocks::fence(uint32_t thread) {
  anyFence = true;
  fenceTicks[thread] = ticks[thread];
  fenceKnown[thread] = known[thread];
  advance(thread);
}

/// Without release semantics of its own the atomic publishes what its thread knew at its last fence, and
/// of what it learned since, the part that the other threads had fenced themselves.
void Clocks::release(uint32_t thread, ReleasedAddress &at, bool ordered) {
  if (!ordered && !anyFence)
    return;
  auto made = std::make_shared<Clock>(ticks.size(), 0);
  if (ordered) {
    if (known[thread])
      join(*made, *known[thread]);
    (*made)[thread] = ticks[thread];
  } else {
    for (size_t u = 0; u < made->size(); ++u) {
      uint32_t now = known[thread] ? (*known[thread])[u] : 0;
      uint32_t then = fenceKnown[thread] ? (*fenceKnown[thread])[u] : 0;
      (*made)[u] = std::max(then, std::min(now, fenceTicks[u]));
    }
    (*made)[thread] = fenceTicks[thread];
  }
  joinForeign(at.blocks, {{blockSerial, std::move(made)}});
  if (foreign[thread])
    joinForeign(at.blocks, *foreign[thread]);
  advance(thread);
}

void Clocks::acquireFrom(uint32_t thread, const ReleasedAddress &at) {
  Published from;
  from.foreign = at.blocks;
  auto own = from.foreign.find(blockSerial);
  from.clock = own != from.foreign.end() ? *own->second : Clock(ticks.size(), 0);
  from.foreign.erase(blockSerial);
  acquire(thread, 1, from);
}

} // namespace fusec::virtualgpu
