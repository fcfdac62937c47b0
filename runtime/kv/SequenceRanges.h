//===- SequenceRanges.h - a range of virtual pages for each sequence -------------===//
//
// The contiguous layout (docs/serving/kv.md): the pages of a sequence appear side
// by side in a range of addresses, whatever their places in the pool. Virtual page
// v < numPages is page v of the pool; behind these lie the ranges, the first of
// which shows the sink everywhere and belongs to padding.
//
//   Status status = ranges.place(ids, table, stride, [&](int64_t at, BlockId page) { return cache.map(at, page); });
//   kernels read ranges.table(): row s counts up from the first virtual page of its sequence
//
// What a range shows stays until another page is needed there: a decode step of
// known sequences maps nothing. Beyond the pages that a step's table names a range
// may show pages that are others' by now. That is safe: kernels write at positions
// of the step only, and what they read beyond a sequence's end they ignore.
//
// Numbers only: no memory, no device. Threading: none; one owner.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/kv/BlockAllocator.h"

#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

namespace fusec::runtime {

class SequenceRanges {
public:
  /// For steps of at most `sequences` sequences of at most `pagesPerSequence` pages, in a pool of `numPages`.
  SequenceRanges(int64_t numPages, int64_t sequences, int64_t pagesPerSequence);

  /// Virtual pages in all.
  int64_t virtualPages() const { return numPages + (numRanges + 1) * pagesPerRange; }
  /// First virtual page of the range that shows the sink.
  int64_t sinkRange() const { return numPages; }

  /// Shows a page of the pool at a virtual page, for all later steps.
  using Map = std::function<Status(int64_t virtualPage, BlockId page)>;

  /// Makes the ranges show what the step's table [S, stride] names (sinkBlock: nothing), and fills table(). `ids` says
  /// which sequence a row is, [S], each once; empty: row s is sequence s. With an error of `map` nothing is lost: it is
  /// asked again next time.
  Status place(std::span<const uint64_t> ids, std::span<const int32_t> table, int64_t stride, const Map &map);
  /// [S, stride], of the last place().
  std::span<const int32_t> table() const { return placed; }

private:
  struct Range {
    uint64_t sequence = 0;
    uint64_t lastUse = 0;       ///< 0: nobody's.
    std::vector<BlockId> shown; ///< sinkBlock: nothing was mapped yet.
  };

  void assign(std::span<const uint64_t> ids);
  Range &leastRecentlyUsed();
  int64_t firstPage(size_t range) const { return numPages + (static_cast<int64_t>(range) + 1) * pagesPerRange; }

  int64_t numPages, numRanges, pagesPerRange;
  std::vector<Range> ranges;
  std::unordered_map<uint64_t, size_t> rangeOf; ///< By sequence.
  std::vector<size_t> rows;                     ///< The range of each row of the step.
  std::vector<int32_t> placed;
  uint64_t step = 0;
};

} // namespace fusec::runtime
