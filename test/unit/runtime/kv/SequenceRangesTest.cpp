//===- SequenceRangesTest.cpp - virtual pages of sequences, and the memory under them ---===//

#include "runtime/kv/SequenceRanges.h"
#include "runtime/kv/KvCache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

namespace fusec::runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t numPages = 12, mostSequences = 3, mostPages = 4;

/// What is mapped where, as a device would see it.
struct Recorder {
  std::map<int64_t, BlockId> shown;
  int calls = 0;

  SequenceRanges::Map map() {
    return [this](int64_t at, BlockId page) {
      ++calls;
      shown[at] = page;
      return Status();
    };
  }
};

TEST(SequenceRanges, RowsCountUpAndShowTheirPages) {
  SequenceRanges ranges(numPages, mostSequences, mostPages);
  EXPECT_EQ(ranges.virtualPages(), numPages + 4 * mostPages);
  Recorder device;
  const uint64_t ids[] = {7, 9};
  const int32_t table[] = {5, 3, 0, 2, 8, 4};
  ASSERT_TRUE(ranges.place(ids, table, 3, device.map()).ok());
  const std::span<const int32_t> rows = ranges.table();
  ASSERT_EQ(rows.size(), 6u);
  for (int row = 0; row < 2; ++row) {
    EXPECT_GE(rows[row * 3], ranges.sinkRange() + mostPages) << "not the sink's range";
    EXPECT_EQ(rows[row * 3 + 1], rows[row * 3] + 1);
    EXPECT_EQ(rows[row * 3 + 2], rows[row * 3] + 2);
  }
  EXPECT_EQ(device.shown.at(rows[1]), BlockId{3});
  EXPECT_EQ(device.shown.at(rows[5]), BlockId{4});
  EXPECT_FALSE(device.shown.contains(rows[2])) << "the sink means that there is no page";
  EXPECT_EQ(device.calls, 5);
  ASSERT_TRUE(ranges.place(ids, table, 3, device.map()).ok());
  EXPECT_EQ(device.calls, 5) << "the next step of the same sequences maps nothing";
}

TEST(SequenceRanges, AFailedMappingIsAskedForAgain) {
  SequenceRanges ranges(numPages, mostSequences, mostPages);
  const uint64_t ids[] = {1};
  const int32_t table[] = {5, 6};
  Recorder device;
  int left = 1;
  auto failing = [&](int64_t at, BlockId page) {
    return left-- > 0 ? device.map()(at, page) : resourceExhausted("no more");
  };
  EXPECT_THAT(ranges.place(ids, table, 2, failing).message(), HasSubstr("no more"));
  ASSERT_TRUE(ranges.place(ids, table, 2, device.map()).ok());
  EXPECT_EQ(device.calls, 2) << "the one that worked is kept";
  EXPECT_EQ(device.shown.at(ranges.table()[1]), BlockId{6});
}

TEST(SequenceRanges, NamesAStepThatDoesNotFit) {
  SequenceRanges ranges(numPages, mostSequences, mostPages);
  Recorder device;
  const int32_t five[] = {1, 2, 3, 4, 5};
  const uint64_t four[] = {1, 2, 3, 4}, one[] = {1};
  EXPECT_THAT(ranges.place(one, five, 5, device.map()).message(), HasSubstr("ranges of 4"));
  EXPECT_THAT(ranges.place(four, std::span(five).first(4), 1, device.map()).message(), HasSubstr("3 ranges"));
  EXPECT_THAT(ranges.place(one, std::span(five).first(4), 2, device.map()).message(), HasSubstr("2 rows"));
  EXPECT_EQ(device.calls, 0);
}

// Random steps of sequences that come, grow, change pages and go: what a row's virtual pages show is always the row.
TEST(SequenceRanges, RandomStepsShowWhatTheTableSays) {
  std::mt19937 random(7);
  auto pick = [&](uint32_t n) { return static_cast<int32_t>(random() % n); };
  SequenceRanges ranges(numPages, mostSequences, mostPages);
  Recorder device;
  int64_t rowsSeen = 0, pagesSeen = 0;
  for (int step = 0; step < 20000; ++step) {
    std::vector<uint64_t> ids;
    for (int tries = 1 + pick(mostSequences); tries > 0; --tries)
      if (const uint64_t id = static_cast<uint64_t>(step / 50 + pick(5)); !std::ranges::count(ids, id))
        ids.push_back(id);
    const int64_t stride = 1 + pick(mostPages);
    std::vector<int32_t> table;
    for (size_t i = 0; i < ids.size() * static_cast<size_t>(stride); ++i)
      table.push_back(pick(numPages));
    ASSERT_TRUE(ranges.place(ids, table, stride, device.map()).ok());
    const std::span<const int32_t> rows = ranges.table();
    std::vector<int32_t> firsts;
    for (size_t row = 0; row < ids.size(); ++row) {
      firsts.push_back(rows[row * stride]);
      for (int64_t i = 0; i < stride; ++i) {
        const int32_t page = table[row * stride + i];
        ASSERT_EQ(rows[row * stride + i], firsts.back() + i);
        if (page != 0)
          ASSERT_EQ(device.shown.at(firsts.back() + i), BlockId{page}) << "step " << step;
        pagesSeen += page != 0;
      }
    }
    std::ranges::sort(firsts);
    ASSERT_EQ(std::ranges::adjacent_find(firsts), firsts.end()) << "two sequences in one range, step " << step;
    rowsSeen += static_cast<int64_t>(ids.size());
  }
  EXPECT_GT(rowsSeen, 25000);
  EXPECT_LT(device.calls, pagesSeen) << "some pages stay mapped";
}

TEST(KvCache, VirtualPagesShowPagesOfThePool) {
  constexpr int64_t stride = 8192;
  Result<KvCache> cache = KvCache::create({{4096, 4096}, stride, 4, 4 + 3});
  ASSERT_TRUE(cache) << cache.status().message();
  EXPECT_EQ(cache->bytes(), 4 * stride);
  auto value = [&](size_t buffer, int64_t page) { return cache->base(buffer) + page * stride + 100; };
  EXPECT_EQ(*value(0, 6), std::byte{0}) << "not mapped yet: zeros";
  *value(1, 2) = std::byte{42};
  ASSERT_TRUE(cache->map(6, BlockId{2}).ok());
  ASSERT_TRUE(cache->map(4, BlockId{2}).ok());
  EXPECT_EQ(*value(1, 6), std::byte{42});
  *value(1, 4) = std::byte{43};
  EXPECT_EQ(*value(1, 6), std::byte{43}) << "one page, two places";
  EXPECT_EQ(*value(1, 2), std::byte{43});
  cache->copyPage({BlockId{2}, BlockId{3}});
  ASSERT_TRUE(cache->map(6, BlockId{3}).ok());
  *value(1, 6) = std::byte{44};
  EXPECT_EQ(*value(1, 4), std::byte{43}) << "the copy is another page";
  EXPECT_EQ(*value(1, 3), std::byte{44});
}

TEST(KvCache, NamesTooManyMappings) {
  const int64_t limit = PageFile::mappingLimit();
  if (limit == 0)
    GTEST_SKIP() << "the kernel does not say how many mappings it allows";
  EXPECT_THAT(KvCache::create({{4096}, 4096, 4, 4 + limit}).status().message(), HasSubstr("vm.max_map_count"));
}

} // namespace
} // namespace fusec::runtime
