//===- BlockAllocatorTest.cpp ------------------------------------------------===//

#include "runtime/kv/BlockAllocator.h"
#include "runtime/kv/KvCache.h"
#include "runtime/kv/KvSequence.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <vector>

using namespace fusec;
using namespace fusec::runtime;

TEST(BlockAllocator, NeverHandsOutTheSinkOrALivePage) {
  BlockAllocator allocator(9);
  std::set<BlockId> seen;
  for (int i = 0; i < 8; ++i) {
    Result<BlockId> block = allocator.allocate();
    ASSERT_TRUE(block);
    EXPECT_NE(*block, sinkBlock);
    EXPECT_TRUE(seen.insert(*block).second);
  }
  Result<BlockId> none = allocator.allocate();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.status().code(), ErrorCode::ResourceExhausted);
  EXPECT_EQ(none.status().message(), "kv cache: all 8 pages are in use");
}

TEST(BlockAllocator, RefusesWhatItsOwnerDoesNotHold) {
  BlockAllocator allocator(4);
  BlockId block = *allocator.allocate();
  ASSERT_TRUE(allocator.release(block).ok());
  EXPECT_EQ(allocator.release(block).code(), ErrorCode::Internal) << "double free";
  EXPECT_EQ(allocator.retain(block).code(), ErrorCode::Internal) << "retain of a free page";
  for (int32_t unknown : {-1, 4, 1 << 30})
    EXPECT_EQ(allocator.release(BlockId{unknown}).code(), ErrorCode::Internal) << unknown;
  EXPECT_EQ(allocator.release(sinkBlock).code(), ErrorCode::Internal);
  EXPECT_TRUE(allocator.checkLedger().ok());
  EXPECT_EQ(allocator.freeBlocks(), 3);
}

// Random traces against a map of reference counts.
TEST(BlockAllocator, LedgerBalancesOnRandomTraces) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    int32_t total = 1 + static_cast<int32_t>(random() % 40);
    BlockAllocator allocator(total);
    std::map<BlockId, int> model;
    for (int step = 0; step < 400; ++step) {
      BlockId id{static_cast<int32_t>(random() % (total + 2)) - 1};
      bool live = model.count(id);
      switch (random() % 3) {
      case 0:
        if (Result<BlockId> block = allocator.allocate()) {
          ASSERT_FALSE(model.count(*block));
          model[*block] = 1;
        } else {
          ASSERT_EQ(static_cast<int32_t>(model.size()), total - 1);
        }
        break;
      case 1:
        ASSERT_EQ(allocator.retain(id).ok(), live);
        model[id] += live;
        break;
      default:
        ASSERT_EQ(allocator.release(id).ok(), live);
        model[id] -= live;
      }
      std::erase_if(model, [](const auto &entry) { return entry.second == 0; });
      ASSERT_TRUE(allocator.checkLedger().ok());
      ASSERT_EQ(allocator.liveBlocks(), static_cast<int32_t>(model.size()));
      for (const auto &[block, count] : model)
        ASSERT_EQ(allocator.referenceCount(block), count);
    }
  }
}

TEST(KvSequence, ReservesAndTruncatesByWholePages) {
  BlockAllocator allocator(5);
  {
    KvSequence sequence(allocator, 16);
    ASSERT_TRUE(sequence.reserve(17).ok());
    EXPECT_EQ(sequence.blocks().size(), 2u);
    EXPECT_EQ(sequence.capacityTokens(), 32);
    sequence.truncate(16);
    EXPECT_EQ(sequence.blocks().size(), 1u);
    sequence.truncate(100);
    EXPECT_EQ(sequence.blocks().size(), 1u);
    // 5 pages are wanted, 4 exist: nothing may change.
    EXPECT_EQ(sequence.reserve(65).code(), ErrorCode::ResourceExhausted);
    EXPECT_EQ(sequence.blocks().size(), 1u);
    EXPECT_EQ(allocator.liveBlocks(), 1);
  }
  EXPECT_EQ(allocator.freeBlocks(), 4) << "the destructor returns the pages";
  EXPECT_TRUE(allocator.checkLedger().ok());
}

TEST(KvCache, LaysPagesOutPerBuffer) {
  std::vector<int64_t> pageBytes = {4096, 64};
  Result<KvCache> cache = KvCache::create(pageBytes, 10);
  ASSERT_TRUE(cache);
  EXPECT_EQ(cache->numBuffers(), 2u);
  EXPECT_GE(cache->bytes(), 4096 * 10 + 64 * 10);
  cache->base(1)[64 * 10 - 1] = std::byte{1}; // The last byte is ours.
  std::vector<int64_t> absurd = {int64_t{1} << 62};
  EXPECT_EQ(KvCache::create(absurd, 10).status().code(), ErrorCode::ResourceExhausted);
}
