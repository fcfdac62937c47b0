//===- SamplingMasses.cpp ------------------------------------------------------===//

#include "runtime/engine/SamplingMasses.h"

#include "runtime/device/host/CpuLevel.h"

#include <algorithm>
#include <bit>

namespace fusec::runtime {

namespace {

// One loop, compiled for three instruction sets: the runtime itself is built for the oldest CPU it supports.
#define FUSEC_MASS_LOOP                                                                                                \
  for (size_t i = 0; i < scores.size(); ++i)                                                                           \
    masses[i] = samplingWeight(scores[i], best, temperature);

using Scores = std::span<const float>;
using Masses = std::span<SamplingMass>;

[[gnu::target("avx512f,avx512dq,avx512vl")]] void fillAvx512(Scores scores, float best, float temperature,
                                                             Masses masses) {
  FUSEC_MASS_LOOP
}
[[gnu::target("avx2")]] void fillAvx2(Scores scores, float best, float temperature, Masses masses) { FUSEC_MASS_LOOP }
void fillPlain(Scores scores, float best, float temperature, Masses masses) { FUSEC_MASS_LOOP }
#undef FUSEC_MASS_LOOP

using Fill = void (*)(Scores, float, float, Masses);

Fill chooseFill() {
  if (cpuSupports("avx512"))
    return fillAvx512;
  return cpuSupports("avx2") ? fillAvx2 : fillPlain;
}

/// Eight buckets per power of two: the power and the three bits behind the leading one. Ascending with the mass; below
/// 8 a bucket for each.
size_t bucketOf(SamplingMass mass) {
  const auto width = static_cast<size_t>(std::bit_width(mass));
  return width < 4 ? static_cast<size_t>(mass) : width * 8 + ((mass >> (width - 4)) & 7);
}

/// The least mass of a bucket; of those that stay empty, not above those of the buckets behind.
SamplingMass leastOf(size_t bucket) {
  return bucket < 32 ? std::min<SamplingMass>(bucket, 7) : SamplingMass{8 + bucket % 8} << (bucket / 8 - 4);
}

/// One bucket below the lightest that is wanted; nothing is lighter than 1.
SamplingMass withMargin(size_t bucket) { return std::max<SamplingMass>(leastOf(std::max<size_t>(bucket, 1) - 1), 1); }

} // namespace

void fillMasses(Scores scores, float best, float temperature, Masses masses) {
  static const Fill fill = chooseFill();
  fill(scores, best, temperature, masses);
}

MassHistogram::MassHistogram(std::span<const SamplingMass> masses) {
  for (SamplingMass mass : masses) {
    const size_t bucket = bucketOf(mass);
    massOf[bucket] += mass;
    ++countOf[bucket];
    sum += mass;
  }
}

SamplingMass MassHistogram::lightestReaching(SamplingMass wanted) const {
  SamplingMass reached = 0;
  size_t bucket = numBuckets;
  while (bucket > 1 && reached < wanted)
    reached += massOf[--bucket];
  return withMargin(bucket);
}

SamplingMass MassHistogram::lightestOf(int64_t count) const {
  int64_t reached = 0;
  size_t bucket = numBuckets;
  while (bucket > 1 && reached < count)
    reached += countOf[--bucket];
  return withMargin(bucket);
}

} // namespace fusec::runtime
