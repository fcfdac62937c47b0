//===- SamplingMasses.cpp ------------------------------------------------------===//

#include "runtime/engine/SamplingMasses.h"

#include "runtime/engine/VectorVersions.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

namespace fusec::runtime {

namespace {

constexpr float highest = std::numeric_limits<float>::max();
/// Large enough that the second half of a block's work need not wait for the first.
constexpr size_t block = 256;
static_assert(MassSums::groupSize % block == 0);

/// samplingWeight() in two halves: what needs 32 bits, and then what needs 64, so that vectors hold twice as many in
/// the first, which is most of the work.
struct WeightParts {
  std::array<uint32_t, block> units, shift;

  [[gnu::always_inline]] void compute(const float *scores, size_t count, float best, float temperature) {
#pragma clang fp contract(off)
    for (size_t i = 0; i < count; ++i) {
      const float exact = (std::min(scores[i], highest) - best) / temperature;
      const bool counts = exact > -28.0f;
      const SamplingPower power = samplingExp(counts ? exact : -28.0f);
      units[i] = counts ? static_cast<uint32_t>(static_cast<int32_t>(power.mantissa * 16777216.0f)) : 0;
      shift[i] = static_cast<uint32_t>(-power.exponent);
    }
  }
  [[gnu::always_inline]] SamplingMass weight(size_t i) const { return (SamplingMass{units[i]} << 16) >> shift[i]; }
};

/// Calls `use(parts, begin, count)` for each block; whole ones have a constant count, which becomes code of its own.
template <typename Use>
[[gnu::always_inline]] inline void forEachBlock(std::span<const float> scores, float best, float temperature, Use use) {
  WeightParts parts;
  size_t begin = 0;
  for (; begin + block <= scores.size(); begin += block) {
    parts.compute(scores.data() + begin, block, best, temperature);
    use(parts, begin, block);
  }
  parts.compute(scores.data() + begin, scores.size() - begin, best, temperature);
  use(parts, begin, scores.size() - begin);
}

[[gnu::always_inline]] inline void fill(std::span<const float> scores, float best, float temperature,
                                        SamplingMass *masses) {
  forEachBlock(scores, best, temperature,
               [&](const WeightParts &parts, size_t begin, size_t count) __attribute__((always_inline)) {
                 for (size_t i = 0; i < count; ++i)
                   masses[begin + i] = parts.weight(i);
               });
}

[[gnu::always_inline]] inline SamplingMass sumOf(std::span<const float> scores, float best, float temperature) {
  SamplingMass sum = 0;
  forEachBlock(scores, best, temperature,
               [&](const WeightParts &parts, size_t, size_t count) __attribute__((always_inline)) {
                 for (size_t i = 0; i < count; ++i)
                   sum += parts.weight(i);
               });
  return sum;
}

using Scores = std::span<const float>;

FUSEC_AVX512 void fillAvx512(Scores scores, float best, float temperature, SamplingMass *masses) {
  fill(scores, best, temperature, masses);
}
FUSEC_AVX2 void fillAvx2(Scores scores, float best, float temperature, SamplingMass *masses) {
  fill(scores, best, temperature, masses);
}
void fillPlain(Scores scores, float best, float temperature, SamplingMass *masses) {
  fill(scores, best, temperature, masses);
}

FUSEC_AVX512 SamplingMass sumAvx512(Scores scores, float best, float temperature) {
  return sumOf(scores, best, temperature);
}
FUSEC_AVX2 SamplingMass sumAvx2(Scores scores, float best, float temperature) {
  return sumOf(scores, best, temperature);
}
SamplingMass sumPlain(Scores scores, float best, float temperature) { return sumOf(scores, best, temperature); }

/// Eight buckets per power of two: the power and the three bits behind the leading one. Ascending with the mass; below
/// 16 a bucket for each.
size_t bucketOf(SamplingMass mass) {
  const auto width = static_cast<size_t>(std::bit_width(mass));
  return width < 4 ? static_cast<size_t>(mass) : (width - 3) * 8 + ((mass >> (width - 4)) & 7);
}

/// The least mass of a bucket.
SamplingMass leastOf(size_t bucket) { return bucket < 8 ? bucket : SamplingMass{8 + bucket % 8} << (bucket / 8 - 1); }

} // namespace

void fillMasses(Scores scores, float best, float temperature, std::span<SamplingMass> masses) {
  static const auto version = versionForThisCpu(fillAvx512, fillAvx2, fillPlain);
  version(scores, best, temperature, masses.data());
}

void MassSums::assign(Scores scores, float best, float temperature) {
  static const auto version = versionForThisCpu(sumAvx512, sumAvx2, sumPlain);
  sums.clear();
  sum = 0;
  for (size_t begin = 0; begin < scores.size(); begin += groupSize) {
    sums.push_back(version(scores.subspan(begin, std::min(groupSize, scores.size() - begin)), best, temperature));
    sum += sums.back();
  }
}

MassHistogram::MassHistogram(std::span<const SamplingMass> masses) {
  for (SamplingMass mass : masses) {
    const size_t bucket = bucketOf(mass);
    massOf[bucket] += mass;
    ++countOf[bucket];
    sum += mass;
  }
}

/// The heaviest end in `bucket`. A neighbour's weights may belong on the other side: two buckets away none does.
MassHistogram::Border MassHistogram::borderAt(size_t bucket) const {
  Border border{leastOf(bucket + 2), std::max<SamplingMass>(leastOf(std::max<size_t>(bucket, 1) - 1), 1), 0, 0};
  for (size_t above = bucket + 2; above < numBuckets; ++above) {
    border.sureMass += massOf[above];
    border.sureCount += countOf[above];
  }
  return border;
}

MassHistogram::Border MassHistogram::borderReaching(SamplingMass wanted) const {
  SamplingMass reached = 0;
  size_t bucket = numBuckets;
  while (bucket > 0 && reached < wanted)
    reached += massOf[--bucket];
  return borderAt(bucket);
}

MassHistogram::Border MassHistogram::borderOf(int64_t count) const {
  int64_t reached = 0;
  size_t bucket = numBuckets;
  while (bucket > 0 && reached < count)
    reached += countOf[--bucket];
  return borderAt(bucket);
}

} // namespace fusec::runtime
