//===- BlockAllocatorTest.cpp ------------------------------------------------===//

#include "runtime/kv/BlockAllocator.h"
#include "runtime/kv/KvCache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <sys/mman.h>
#include <unistd.h>
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

TEST(Buffer, LargeOnesStartAtAHugePage) {
  Result<Buffer> large = Buffer::allocate((20 << 20) + 5, "test");
  ASSERT_TRUE(large);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(large->data()) % (2 << 20), 0u);
  EXPECT_EQ(large->data()[(20 << 20) + 4], std::byte{0});
  large->data()[(20 << 20) + 4] = std::byte{1};
  Result<Buffer> small = Buffer::allocate(5, "test", 5); // whatever the threshold: usable and zero
  ASSERT_TRUE(small);
  EXPECT_EQ(small->data()[4], std::byte{0});
  EXPECT_EQ(Buffer::allocate(INT64_MAX, "test").status().code(), ErrorCode::ResourceExhausted);
}

TEST(KvCache, LaysThePagesOfAllBuffersSideBySide) {
  Result<KvCache> cache = KvCache::create({{4096, 64}, 4096 + 64, 10, 0});
  ASSERT_TRUE(cache);
  EXPECT_EQ(cache->numBuffers(), 2u);
  EXPECT_EQ(cache->pageStride(), 4096 + 64);
  EXPECT_EQ(cache->base(1) - cache->base(0), 4096);
  EXPECT_EQ(cache->bytes(), (4096 + 64) * 10);
  std::byte *last = cache->base(1) + 9 * cache->pageStride();
  EXPECT_EQ(last[63], std::byte{0});
  last[63 + 64] = std::byte{1}; // The last byte is ours, and slack for whole vectors behind it.
  constexpr int64_t absurd = int64_t{1} << 62;
  EXPECT_EQ(KvCache::create({{absurd}, absurd, 10, 0}).status().code(), ErrorCode::ResourceExhausted);
}

/// Bytes of [begin, begin + bytes) that the machine holds in memory.
static int64_t residentBytes(std::byte *begin, int64_t bytes) {
  const int64_t page = sysconf(_SC_PAGESIZE);
  std::vector<unsigned char> pages(static_cast<size_t>((bytes + page - 1) / page));
  EXPECT_EQ(mincore(begin, static_cast<size_t>(bytes), pages.data()), 0);
  return page * std::count_if(pages.begin(), pages.end(), [](unsigned char state) { return state & 1; });
}

// 30 layers and 4096 tokens, of which one page of tokens is written: with huge pages or without, at most the two
// huge pages at the ends of what was written are filled up for nothing.
TEST(KvCache, OnlyWhatIsWrittenBecomesResident) {
  const std::vector<int64_t> pageBytes(60, 64 * 3 * 64 * 4);
  Result<KvCache> cache = KvCache::create({pageBytes, 60 * pageBytes[0], 65, 0});
  ASSERT_TRUE(cache);
  for (size_t buffer = 0; buffer < cache->numBuffers(); ++buffer)
    for (int64_t at = 0; at < pageBytes[buffer]; at += 4096)
      cache->base(buffer)[cache->pageStride() + at] = std::byte{1};
  EXPECT_LE(residentBytes(cache->base(0), cache->bytes()), cache->pageStride() + 2 * (2 << 20));
  EXPECT_LE(2 * (2 << 20), cache->bytes() / 10) << "the price is below a tenth of what is planned";
}
