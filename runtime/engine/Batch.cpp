//===- Batch.cpp ---------------------------------------------------------------===//

#include "runtime/engine/Batch.h"

#include <algorithm>
#include <cassert>

namespace fusec::runtime {

StepInput Batch::build(const Step &step, const KvManager &kv, std::span<const RowSampling> sampling) {
  tokens.clear();
  positions.clear();
  sequences.clear();
  outputRows.clear();
  itemRows.clear();
  for (size_t i = 0; i < step.items.size(); ++i) {
    addTokens(step.items[i], static_cast<int32_t>(i));
    addRows(step.items[i]);
  }
  fillTable(step, kv);
  return {tokens, positions, sequences, blockTable, stride, outputRows, sampling, sequenceIds};
}

void Batch::addTokens(const Step::Item &item, int32_t row) {
  tokens.insert(tokens.end(), item.tokens.begin(), item.tokens.end());
  for (size_t i = 0; i < item.tokens.size(); ++i) {
    positions.push_back(static_cast<int32_t>(item.begin + static_cast<int64_t>(i)));
    sequences.push_back(row);
  }
}

void Batch::addRows(const Step::Item &item) {
  const size_t count = item.allRows ? item.tokens.size() : item.sample ? 1 : 0;
  itemRows.push_back({outputRows.size(), count});
  for (size_t back = count; back > 0; --back)
    outputRows.push_back(static_cast<int32_t>(tokens.size() - back));
}

void Batch::fillTable(const Step &step, const KvManager &kv) {
  auto pagesOf = [&](const Step::Item &item) {
    return kv.blocksFor(item.begin + static_cast<int64_t>(item.tokens.size()));
  };
  stride = 0;
  sequenceIds.clear();
  for (const Step::Item &item : step.items)
    stride = std::max(stride, pagesOf(item));
  for (const Step::Item &item : step.items)
    sequenceIds.push_back(static_cast<uint64_t>(item.sequence));
  blockTable.assign(static_cast<size_t>(stride) * step.items.size(), toIndex(sinkBlock));
  for (size_t row = 0; row < step.items.size(); ++row) {
    const std::span<const BlockId> pages = kv.blocks(step.items[row].sequence);
    const size_t count = static_cast<size_t>(pagesOf(step.items[row]));
    assert(count <= pages.size() && "the scheduler has reserved the step's positions");
    for (size_t i = 0; i < count; ++i)
      blockTable[row * static_cast<size_t>(stride) + i] = toIndex(pages[i]);
  }
}

} // namespace fusec::runtime
