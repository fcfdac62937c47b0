//===- ScoreBlocks.h - the best of each block of a row of scores ------------------===//
//
// One pass over the row, after which the few scores that matter are found without
// another: blocks whose best is below a bound are passed over.
//
//   ScoreBlocks blocks;
//   blocks.assign(logits);
//   blocks.forEachFrom(blocks.boundOf(40), [&](int32_t id, float score) { ... }); // The 40 best, and some more.
//
// NaN counts as -inf and +inf as the largest finite number.
//
// Borrows the scores. Threading: one thread at a time.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace fusec::runtime {

class ScoreBlocks {
public:
  static constexpr size_t blockSize = 64;

  void assign(std::span<const float> scores);

  std::span<const float> scores() const { return values; }
  /// Best of each block of blockSize scores; the last may be shorter.
  std::span<const float> maxima() const { return best; }
  /// The lowest id of the best score; -1 when none is above -inf.
  int32_t bestId() const;
  /// At least `count` scores are not below it; -inf when it would take another pass to say.
  float boundOf(size_t count) const;

  /// Visits (id, score), by id, of all scores above -inf that are not below `bound`.
  template <typename Visit> void forEachFrom(float bound, Visit visit) const {
    bound = std::max(bound, std::numeric_limits<float>::lowest());
    for (size_t block = 0; block < best.size(); ++block) {
      if (best[block] < bound)
        continue;
      for (uint64_t found = findFrom(bound, block); found != 0; found &= found - 1) {
        const size_t id = block * blockSize + static_cast<size_t>(std::countr_zero(found));
        visit(static_cast<int32_t>(id), std::min(values[id], std::numeric_limits<float>::max()));
      }
    }
  }

private:
  /// A bit for each score of a block that is not below the bound.
  uint64_t findFrom(float bound, size_t block) const;

  std::span<const float> values;
  std::vector<float> best;
  mutable std::vector<float> ranked; ///< Work space.
};

} // namespace fusec::runtime
