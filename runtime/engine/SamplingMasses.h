//===- SamplingMasses.h - the weights of a whole vocabulary ------------------------===//
//
// samplingWeight() of every score at once, with the vectors this machine has:
// most of the time of drawing a token is here. The bits are those of the function.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/engine/ScoreBlocks.h"
#include "runtime/schema/SamplingMath.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fusec::runtime {

/// Writes the weight of each score; `masses` has the size of `scores`. NaN weighs
/// nothing, +inf as much as the largest finite number.
void fillMasses(std::span<const float> scores, float best, float temperature, std::span<SamplingMass> masses);

/// Sums of the weights of neighbours.
class MassSums {
public:
  /// Neighbours that are added up.
  static constexpr size_t groupSize = 16 * ScoreBlocks::blockSize;

  void assign(std::span<const float> scores, float best, float temperature);
  SamplingMass total() const { return sum; }
  /// One for each group of groupSize scores; the last may have fewer.
  std::span<const SamplingMass> groups() const { return sums; }

private:
  std::vector<SamplingMass> sums;
  SamplingMass sum = 0;
};

/// How the weights of a vocabulary are spread: by their leading bits.
class MassHistogram {
public:
  explicit MassHistogram(std::span<const SamplingMass> masses);

  SamplingMass total() const { return sum; }
  /// Between what certainly is among some of the heaviest and what certainly is not:
  /// not as narrow as can be, because a bucket's weights are not told apart and rounded
  /// weights may swap neighbours.
  struct Border {
    SamplingMass sure = ~SamplingMass{0}; ///< Weights from here are among them ...
    SamplingMass least = 1;               ///< ... and those below this are not.
    SamplingMass sureMass = 0;            ///< What the first weigh.
    int64_t sureCount = 0;
  };
  /// Of the heaviest that reach `wanted`; of all when all do not.
  Border borderReaching(SamplingMass wanted) const;
  /// Of the `count` heaviest.
  Border borderOf(int64_t count) const;

private:
  static constexpr size_t numBuckets = 39 * 8; ///< Of masses up to 2^40.
  Border borderAt(size_t bucket) const;

  SamplingMass sum = 0;
  std::array<SamplingMass, numBuckets> massOf{};
  std::array<int64_t, numBuckets> countOf{};
};

} // namespace fusec::runtime
