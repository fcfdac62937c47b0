//===- AsyncCopies.h - cp.async of the threads of a block --------------------===//
//
// Each thread has copies in flight, in groups it closes with commit_group. A
// copy's bytes move when the policy says so, at the latest when its group is
// waited for; until then its destination holds NaN bits.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace fusec::virtualgpu {

class Block;
class Warp;

class AsyncCopies {
public:
  struct Copy {
    uint64_t from = 0;     ///< Device address.
    uint32_t to = 0;       ///< Offset in shared memory.
    uint8_t bytes = 0;     ///< 4, 8, 16.
    uint8_t fromBytes = 0; ///< Read from the source; the rest is zeros.
    bool moved = false;
    uint32_t group = 0;
  };

  void reset(uint32_t threads);
  /// Starts a copy of one thread.
  void issue(Warp &warp, int lane, Copy copy);
  /// Closes the open group of every thread of `warp.mask`.
  void commit(Warp &warp);
  /// Completes all but the last `pending` committed groups of `warp.mask`; `all`: also uncommitted copies.
  void wait(Warp &warp, uint32_t pending, bool all);
  /// False, with a fault, when a thread of `warp.mask` has copies nobody waited for.
  bool checkExit(Warp &warp) const;
  /// Copies of `thread` that were never waited for.
  /// " (issued by thread 3)" for the copy that writes byte `at`, or empty.
  std::string describe(uint32_t at) const;
  size_t inFlight(uint32_t thread) const { return threads[thread].copies.size(); }

private:
  struct Thread {
    uint32_t committed = 0;
    std::vector<Copy> copies;
  };
  void move(Warp &warp, int lane, Copy &copy);
  bool finish(Warp &warp, int lane, const Copy &copy);
  std::vector<Thread> threads;
};

} // namespace fusec::virtualgpu
