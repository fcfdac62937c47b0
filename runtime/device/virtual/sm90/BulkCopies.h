//===- BulkCopies.h - cp.async.bulk of a block -------------------------------===//
//
// A copy's bytes move when the policy says so, at the latest when somebody waits
// in vain for the mbarrier it reports to. Until then its destination holds NaN
// bits.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fusec::virtualgpu {

class Block;
class Warp;

class BulkCopies {
public:
  struct Copy {
    uint64_t from = 0; ///< Device address.
    uint32_t to = 0;   ///< Offset in shared memory.
    uint32_t bytes = 0;
    uint32_t barrier = 0; ///< Offset of the mbarrier.
    int lane = 0;         ///< Who asked.
    bool moved = false;
  };

  void reset() { copies.clear(); }
  void issue(Warp &warp, Copy copy);
  /// Completes the copies that report to this mbarrier; true when there were some.
  bool finish(Warp &warp, uint32_t barrier);
  /// Somebody saw the mbarrier's phase complete.
  void waited(uint32_t barrier);
  /// Copies nobody waited for.
  std::size_t inFlight() const { return copies.size(); }

private:
  void move(Warp &warp, Copy &copy);
  std::vector<Copy> copies;
};

} // namespace fusec::virtualgpu
