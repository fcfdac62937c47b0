//===- FirstLevelCache.h - sectors that a block moves only once -----------------===//
//
// A small model of what stands between a block and the L2: lines of 128 bytes in
// sectors of 32, 16 sets of 8 ways, the longest unused line replaced. 16 KB are
// what an A100's 192 KB leave to each of two blocks that take all the shared
// memory there is; a real cache holds at least as much. Every block begins with
// an empty one: what another block has brought is not counted on.
//
//   if (block.loads.add(address / FirstLevelCache::sectorBytes))
//     ++sectorsFromL2;
//
// Threading: one host thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <array>
#include <cstdint>

namespace fusec::virtualgpu {

class FirstLevelCache {
public:
  static constexpr uint64_t sectorBytes = 32, lineSectors = 4;
  static constexpr uint64_t sets = 16, ways = 8;

  /// Empty, in constant time.
  void reset() { oldest = now + 1; }

  /// Puts a sector in; false if it was there.
  bool add(uint64_t sector) {
    const uint64_t line = sector / lineSectors;
    const uint8_t bit = static_cast<uint8_t>(1u << sector % lineSectors);
    Line &found = find(line);
    ++now;
    if (found.lastUse < oldest || found.tag != line)
      found = {line, 0, 0};
    found.lastUse = now;
    const bool isNew = !(found.present & bit);
    found.present |= bit;
    return isNew;
  }

private:
  struct Line {
    uint64_t tag = 0, lastUse = 0; ///< Uses before `oldest` are another block's.
    uint8_t present = 0;           ///< A bit per sector.
  };

  /// The line, or the one to replace by it.
  Line &find(uint64_t line) {
    // Rows of matrices lie powers of two apart: all bits of the address choose the set.
    Line *const set = &lines[(line * 0x9e3779b97f4a7c15u >> 60) * ways];
    Line *unused = set;
    for (Line *at = set; at != set + ways; ++at) {
      if (at->tag == line && at->lastUse >= oldest)
        return *at;
      if (at->lastUse < unused->lastUse)
        unused = at;
    }
    return *unused;
  }

  std::array<Line, sets * ways> lines;
  uint64_t now = 0, oldest = 1;
};

} // namespace fusec::virtualgpu
