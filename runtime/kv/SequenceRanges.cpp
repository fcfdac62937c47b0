//===- SequenceRanges.cpp -------------------------------------------------------===//

#include "runtime/kv/SequenceRanges.h"

#include <algorithm>
#include <numeric>

namespace fusec::runtime {

SequenceRanges::SequenceRanges(int64_t numPages, int64_t sequences, int64_t pagesPerSequence)
    : numPages(numPages), numRanges(sequences), pagesPerRange(pagesPerSequence),
      ranges(static_cast<size_t>(sequences)) {
  for (Range &range : ranges)
    range.shown.assign(static_cast<size_t>(pagesPerSequence), sinkBlock);
}

SequenceRanges::Range &SequenceRanges::leastRecentlyUsed() {
  return *std::min_element(ranges.begin(), ranges.end(),
                           [](const Range &a, const Range &b) { return a.lastUse < b.lastUse; });
}

/// Known sequences first, so that a new one does not take the range of one in the same step.
void SequenceRanges::assign(std::span<const uint64_t> ids) {
  ++step;
  for (uint64_t id : ids)
    if (auto known = rangeOf.find(id); known != rangeOf.end())
      ranges[known->second].lastUse = step;
  rows.clear();
  for (uint64_t id : ids) {
    auto known = rangeOf.find(id);
    if (known == rangeOf.end()) {
      Range &range = leastRecentlyUsed();
      if (range.lastUse != 0)
        rangeOf.erase(range.sequence);
      range.sequence = id;
      range.lastUse = step;
      known = rangeOf.emplace(id, static_cast<size_t>(&range - ranges.data())).first;
    }
    rows.push_back(known->second);
  }
}

Status SequenceRanges::place(std::span<const uint64_t> ids, std::span<const int32_t> table, int64_t stride,
                             const Map &map) {
  const size_t count = table.size() / static_cast<size_t>(stride);
  std::vector<uint64_t> numbers;
  if (ids.empty()) {
    numbers.resize(count);
    std::iota(numbers.begin(), numbers.end(), uint64_t{0});
    ids = numbers;
  }
  if (ids.size() != count || count > ranges.size() || stride > pagesPerRange)
    return internalError("step: " + std::to_string(count) + " rows of " + std::to_string(stride) + " pages for " +
                         std::to_string(ids.size()) + " sequences do not fit " + std::to_string(numRanges) +
                         " ranges of " + std::to_string(pagesPerRange));
  assign(ids);
  placed.resize(table.size());
  for (size_t row = 0; row < count; ++row) {
    const int64_t first = firstPage(rows[row]);
    Range &range = ranges[rows[row]];
    for (int64_t i = 0; i < stride; ++i) {
      const BlockId page{table[row * static_cast<size_t>(stride) + static_cast<size_t>(i)]};
      placed[row * static_cast<size_t>(stride) + static_cast<size_t>(i)] = static_cast<int32_t>(first + i);
      if (page == sinkBlock || range.shown[i] == page)
        continue;
      FUSEC_RETURN_IF_ERROR(map(first + i, page));
      range.shown[i] = page;
    }
  }
  return {};
}

} // namespace fusec::runtime
