//===- Barriers.h - the 16 barriers of a block -------------------------------===//
//
// bar.sync and bar.arrive count threads. Without a count a barrier waits for all
// threads of the block that have not exited.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/virtual/check/Clocks.h"
#include "runtime/device/virtual/exec/Program.h"

#include <array>
#include <string>

namespace fusec::virtualgpu {

class Block;
class Warp;

class Barriers {
public:
  static constexpr int number = 16;
  enum class Reduce { None, Popc, And, Or };

  void reset() { *this = {}; }
  /// The lanes `warp.mask` come to `barrier`; `threads` = 0: all of the block. With `wait` the
  /// group stops until it is complete. Faults on counts that contradict each other.
  void arrive(Warp &warp, uint32_t barrier, uint32_t threads, bool wait);
  /// bar.red: as arrive(wait), and `values` (a mask of lanes with a true predicate) is counted.
  void reduce(Warp &warp, uint32_t barrier, uint32_t threads, uint32_t values, Reduce kind, uint32_t slot);
  /// A warp lost threads: barriers that wait for all may be complete now.
  void threadsExited(Block &block);
  /// "barrier 0: 96 of 128 threads" for those in use.
  std::string describe(const Block &block) const;

private:
  struct State {
    uint32_t arrived = 0, expected = 0; ///< expected 0: all live threads.
    uint32_t trueValues = 0;
    bool used = false;
    std::vector<uint32_t> waiting; ///< Checked mode: threads that wait.
    Published published;           ///< Checked mode: what those that came did before.
  };
  struct Pending {
    Warp *warp;
    uint32_t mask, slot;
    Reduce kind;
  };
  void publish(Warp &warp, State &state, bool wait);
  void orderThreads(Block &block, State &state);
  void completeIfFull(Block &block, uint32_t barrier);

  std::array<State, number> states{};
  std::array<std::vector<Pending>, number> results{};
};

} // namespace fusec::virtualgpu
