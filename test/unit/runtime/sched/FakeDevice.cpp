//===- FakeDevice.cpp --------------------------------------------------------===//

#include "test/unit/runtime/sched/FakeDevice.h"

namespace fusec::runtime::test {

static uint64_t digest(uint64_t before, uint64_t value) {
  uint64_t mixed = (before ^ (value + 0x9e3779b97f4a7c15ull)) * 0xbf58476d1ce4e5b9ull;
  return mixed ^ (mixed >> 29);
}

FakeDevice::Launch FakeDevice::launch(const Step &step, const KvManager &kv) {
  Launch launch;
  for (const Step::Item &item : step.items) {
    std::span<const BlockId> table = kv.blocks(item.sequence);
    launch.tables.emplace_back(table.begin(), table.end());
  }
  return launch;
}

std::vector<uint64_t> FakeDevice::run(const Step &step, const Launch &launch, CacheScope (*scopeOf)(RequestId)) {
  for (PageCopy copy : step.copies)
    pages[toIndex(copy.to)] = pages[toIndex(copy.from)];
  std::vector<uint64_t> hashes;
  for (size_t i = 0; i < step.items.size(); ++i) {
    const Step::Item &item = step.items[i];
    const std::vector<BlockId> &table = launch.tables[i];
    for (int64_t position = item.begin; position < item.end(); ++position) {
      uint64_t before = position == 0 ? static_cast<uint64_t>(scopeOf(item.request)) : at(table, position - 1);
      at(table, position) = digest(before, item.tokens[position - item.begin]);
    }
    uint64_t sum = 0;
    for (int64_t position = 0; position < item.end(); ++position)
      sum += at(table, position);
    hashes.push_back(sum);
  }
  return hashes;
}

uint64_t FakeDevice::contextHash(CacheScope scope, const std::vector<TokenId> &tokens) {
  uint64_t value = static_cast<uint64_t>(scope), sum = 0;
  for (TokenId token : tokens)
    sum += value = digest(value, token);
  return sum;
}

/// Few different tokens, so that answers share prefixes too.
TokenId FakeDevice::draw(uint64_t contextHash, int n) { return static_cast<TokenId>(digest(contextHash, n) % 5); }

} // namespace fusec::runtime::test
