//===- SamplingMasses.h - the weights of a whole vocabulary ------------------------===//
//
// samplingWeight() of every score at once, with the vectors this machine has:
// most of the time of drawing a token is here. The bits are those of the function.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/schema/SamplingMath.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace fusec::runtime {

/// Writes the weight of each score; `masses` has the size of `scores`.
void fillMasses(std::span<const float> scores, float best, float temperature, std::span<SamplingMass> masses);

/// How the weights of a vocabulary are spread: by their leading bits.
class MassHistogram {
public:
  explicit MassHistogram(std::span<const SamplingMass> masses);

  SamplingMass total() const { return sum; }
  /// Not above the lightest of the heaviest weights that reach `wanted`, or of the
  /// `count` heaviest. A little below, because a bucket's weights are not told
  /// apart and rounded weights may swap neighbours.
  SamplingMass lightestReaching(SamplingMass wanted) const;
  SamplingMass lightestOf(int64_t count) const;

private:
  static constexpr size_t numBuckets = 42 * 8; ///< Of masses up to 2^40.

  SamplingMass sum = 0;
  std::array<SamplingMass, numBuckets> massOf{};
  std::array<int64_t, numBuckets> countOf{};
};

} // namespace fusec::runtime
