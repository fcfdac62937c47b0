//===- QueryTiles.cpp --------------------------------------------------------===//

#include "runtime/exec/QueryTiles.h"

namespace fusec::runtime {

namespace {

/// Calls `visit(first, tokens)` for each run.
template <typename Visit> void forEachRun(std::span<const int32_t> sequences, int64_t most, Visit visit) {
  const int64_t count = static_cast<int64_t>(sequences.size());
  for (int64_t first = 0, end = 0; first < count; first = end) {
    for (end = first + 1; end < count && end - first < most && sequences[end] == sequences[first];)
      ++end;
    visit(first, end - first);
  }
}

} // namespace

int64_t countQueryTiles(std::span<const int32_t> sequences, int64_t most) {
  int64_t count = 0;
  forEachRun(sequences, most, [&](int64_t, int64_t) { ++count; });
  return count;
}

void writeQueryTiles(std::span<const int32_t> sequences, int64_t most, int32_t *out) {
  forEachRun(sequences, most, [&](int64_t first, int64_t tokens) {
    *out++ = static_cast<int32_t>(first);
    *out++ = static_cast<int32_t>(tokens);
  });
}

} // namespace fusec::runtime
