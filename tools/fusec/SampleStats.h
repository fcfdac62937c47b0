//===- SampleStats.h - repeats of one measurement --------------------------===//
#pragma once

#include <algorithm>
#include <vector>

namespace fusec {

/// Repeats of one figure, in the order measured.
struct SampleStats {
  std::vector<double> samples;

  bool empty() const { return samples.empty(); }
  double min() const { return *std::min_element(samples.begin(), samples.end()); }
  double max() const { return *std::max_element(samples.begin(), samples.end()); }
  double median() const {
    std::vector<double> sorted = samples;
    std::sort(sorted.begin(), sorted.end());
    const size_t half = sorted.size() / 2;
    return sorted.size() % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  }
  /// (max - min) / median: how far to trust the median.
  double spread() const { return median() > 0 ? (max() - min()) / median() : 0; }
};

} // namespace fusec
