//===- StableSort.h - a stable sort whose comparison can fail ----------------===//
#pragma once

#include "runtime/base/Status.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace fusec::text::jinja {

/// Sorts `items` by `less(a, b)`, a Result<bool>; equal items keep their order.
/// The first failing comparison ends the sort with its error. A comparison that
/// contradicts itself only costs the order, never memory safety.
template <typename T, typename Less> Status stableSort(std::vector<T> &items, Less less) {
  std::vector<T> merged;
  for (size_t width = 1; width < items.size(); width *= 2) {
    merged.clear();
    for (size_t begin = 0; begin < items.size(); begin += 2 * width) {
      size_t left = begin, middle = std::min(begin + width, items.size());
      size_t right = middle, end = std::min(begin + 2 * width, items.size());
      while (left < middle && right < end) {
        FUSEC_ASSIGN_OR_RETURN(bool rightFirst, less(items[right], items[left]));
        merged.push_back(std::move(items[rightFirst ? right++ : left++]));
      }
      while (left < middle)
        merged.push_back(std::move(items[left++]));
      while (right < end)
        merged.push_back(std::move(items[right++]));
    }
    items.swap(merged);
  }
  return {};
}

} // namespace fusec::text::jinja
