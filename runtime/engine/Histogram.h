//===- Histogram.h - counts of a value by bucket ----------------------------------===//
//
//   Histogram seconds(bounds);
//   seconds.observe(0.2);
//   seconds.count(i);      // values <= bounds[i], and above the bound before
//
// Values; one thread at a time.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fusec::runtime {

class Histogram {
public:
  /// `bounds`: ascending upper ends, kept by reference: a constant table.
  explicit Histogram(std::span<const double> bounds) : upper(bounds), counts(bounds.size() + 1, 0) {}

  void observe(double value) {
    ++counts[static_cast<size_t>(std::lower_bound(upper.begin(), upper.end(), value) - upper.begin())];
    sum += value;
    ++total;
  }

  std::span<const double> bounds() const { return upper; }
  /// Values of one bucket; bounds().size() is the one above all bounds.
  int64_t count(size_t bucket) const { return counts[bucket]; }
  int64_t observations() const { return total; }
  double sumOfValues() const { return sum; }

private:
  std::span<const double> upper;
  std::vector<int64_t> counts;
  double sum = 0;
  int64_t total = 0;
};

} // namespace fusec::runtime
