//===- FakeDevice.h - a model whose tokens depend on what pages hold ------------===//
//
// Each position of each page holds a digest of the position before it, read from
// its page, and the token. The next token is a hash over all positions of the
// context, read from the pages. So a page that is shared, reused or copied
// wrongly changes the tokens. No token depends on the batch.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/sched/Scheduler.h"

#include <map>
#include <vector>

namespace fusec::runtime::test {

class FakeDevice {
public:
  FakeDevice(int32_t totalBlocks, int64_t pageTokens)
      : pageTokens(pageTokens), pages(totalBlocks, std::vector<uint64_t>(pageTokens, 0)) {}

  /// What a step reads and writes, taken when it is planned.
  struct Launch {
    std::vector<std::vector<BlockId>> tables; ///< Per item.
  };
  static Launch launch(const Step &step, const KvManager &kv);
  /// For each item the hash of the context at its last row, from which tokens are drawn.
  std::vector<uint64_t> run(const Step &step, const Launch &launch, CacheScope (*scopeOf)(RequestId));

  /// The same for a context without any pages.
  static uint64_t contextHash(CacheScope scope, const std::vector<TokenId> &tokens);
  /// The token that choice `n` draws.
  static TokenId draw(uint64_t contextHash, int n);

private:
  uint64_t &at(const std::vector<BlockId> &table, int64_t position) {
    return pages[toIndex(table[position / pageTokens])][position % pageTokens];
  }

  int64_t pageTokens;
  std::vector<std::vector<uint64_t>> pages;
};

} // namespace fusec::runtime::test
