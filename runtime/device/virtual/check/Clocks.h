//===- Clocks.h - which accesses of a block are ordered ----------------------===//
//
// Every thread has a tick and knows, for every other thread, up to which tick
// that thread's accesses come before its own (a vector clock). Synchronisation
// publishes and acquires clocks; shuffles, votes and mma do not.
//
// Between blocks of a launch only atomics order: a release at an address is
// acquired by a later atomic or strong read of it in any block.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/virtual/check/Epoch.h"

#include <algorithm>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

namespace fusec::virtualgpu {

/// Highest known tick per thread of a block.
using Clock = std::vector<uint32_t>;
using SharedClock = std::shared_ptr<const Clock>;
/// Known clocks of other blocks of the launch, by block serial.
using ForeignClocks = std::map<uint32_t, SharedClock>;

void join(Clock &into, const Clock &other);

/// Clocks collected by a barrier, an mbarrier or an address, to be acquired by others.
struct Published {
  Clock clock;           ///< Of the own block; empty: nothing.
  ForeignClocks foreign; ///< Of other blocks.
  void clear() { clock.clear(), foreign.clear(); }
};

/// What releases and acquires by address leave behind, for the whole launch.
struct ReleasedAddress {
  ForeignClocks blocks; ///< By block serial, the releasing block included.
};
using ReleasedAddresses = std::unordered_map<uint64_t, ReleasedAddress>;

class Clocks {
public:
  void reset(uint32_t threads, uint32_t serial);
  uint32_t serial() const { return blockSerial; }

  uint32_t tick(uint32_t thread) const { return ticks[thread]; }
  /// Whether the 32 threads from `first` on have one tick.
  bool sameTick(uint32_t first) const {
    uint32_t different = 0;
    for (uint32_t lane = 0; lane < 32; ++lane)
      different |= ticks[first + lane] ^ ticks[first];
    return different == 0;
  }
  /// Epochs below this are ordered before everything now: a barrier of the whole block came after them.
  Epoch floor() const { return floorEpoch; }
  /// Whether an access of `other` at `tick` comes before what `thread` does now.
  bool knows(uint32_t thread, uint32_t other, uint32_t tick) const {
    return thread == other || (known[thread] && (*known[thread])[other] >= tick);
  }
  /// The same for a thread of another block of the launch.
  bool knowsForeign(uint32_t thread, uint32_t serial, uint32_t other, uint32_t tick) const;

  bool hasForeign(uint32_t thread) const { return foreign[thread] != nullptr; }

  /// Adds what the threads `first + lane` of `lanes` did so far.
  void publish(uint32_t first, uint32_t lanes, Published &into);
  /// These threads now come after everything published.
  void acquire(uint32_t first, uint32_t lanes, const Published &from);
  /// All live threads met at a barrier.
  void meet(const std::vector<uint32_t> &threads);

  /// The asynchronous engine (bulk copies) counts as one more thread, whose accesses nobody knows until
  /// they are published: a new access of it, and its announcement.
  Epoch agentEpoch(uint32_t mask);
  void publishAgent(Epoch made, Published &into) const;

  /// fence.proxy.async: what the thread wrote or knows may be read by the asynchronous engine.
  void proxyFence(uint32_t thread);
  /// Whether a plain store of `writer` at `tick` may be read asynchronously on behalf of `thread`.
  bool proxyKnows(uint32_t thread, uint32_t writer, uint32_t tick) const;
  /// Whether `thread` stands for the asynchronous engine.
  bool isAgent(uint32_t thread) const { return thread == agent; }

  /// membar / fence: makes what came before it releasable by a relaxed atomic.
  void fence(uint32_t thread);
  /// An atomic or strong write at an address; `ordered`: it has release semantics itself.
  void release(uint32_t thread, ReleasedAddress &at, bool ordered);
  bool canRelease() const { return anyFence; }
  void acquireFrom(uint32_t thread, const ReleasedAddress &at);
  /// Ticks ran out of bits: later races go unseen.
  bool exhausted() const { return overflow; }

private:
  void advance(uint32_t thread);

  uint32_t blockSerial = 0;
  uint32_t agent = 0; ///< Number of the asynchronous engine; past all threads.
  Epoch floorEpoch = 0;
  bool anyFence = false, overflow = false;
  std::vector<uint32_t> ticks;
  std::vector<SharedClock> known;
  std::vector<std::shared_ptr<const ForeignClocks>> foreign;
  std::vector<uint32_t> fenceTicks; ///< Tick of each thread's last fence; 0: none.
  std::vector<SharedClock> fenceKnown;
  std::vector<uint32_t> proxyTicks; ///< Tick of each thread's last fence.proxy.async; 0: none.
  std::vector<SharedClock> proxyKnown;
};

} // namespace fusec::virtualgpu
