//===- PrefixBoundTest.cpp ---------------------------------------------------===//

#include "tools/load/PrefixBound.h"

#include "runtime/kv/KvManager.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

using namespace fusec;
using namespace fusec::load;

namespace {

TraceRequest request(std::vector<int64_t> blocks) {
  TraceRequest request;
  request.promptTokens = static_cast<int64_t>(blocks.size()) * traceBlockTokens;
  request.outputTokens = 1;
  request.blocks = std::move(blocks);
  return request;
}

TEST(PrefixBound, CountsTokensButNeverTheLast) {
  Trace trace{"t", {request({1, 2}), request({1, 2}), request({1, 3}), request({2, 1})}};
  // Of 4096 tokens: of the second request all but its last, of the third one block.
  EXPECT_DOUBLE_EQ(prefixBound(trace, 64, 1000).unlimited, (1023.0 + 512) / 4096);
  EXPECT_DOUBLE_EQ(prefixBound(trace, 64, 1000).clairvoyant, prefixBound(trace, 64, 1000).unlimited);
  EXPECT_DOUBLE_EQ(prefixBound(trace, 48, 1000).unlimited, (1023.0 + 512) / 4096) << "pages that blocks do not fill";
}

TEST(PrefixBound, ClairvoyantKeepsWhatIsNeededNext) {
  // With one page of a whole block: least recently used finds nothing, keeping block 1 finds it twice.
  Trace trace{"t", {request({1, 4}), request({2, 5}), request({1, 6}), request({3, 7}), request({1, 8})}};
  EXPECT_DOUBLE_EQ(prefixBound(trace, 512, 1).clairvoyant, 2 * 512.0 / (10 * 512));
}

TEST(PrefixBound, CountsPromptsThatEndInsideABlock) {
  Trace trace{"t", {request({1, 2}), request({1, 2}), request({1, 2}), request({1, 2, 3})}};
  trace.requests[0].promptTokens = 700; // 10 pages and 60 tokens.
  trace.requests[1].promptTokens = 660;
  trace.requests[2].promptTokens = 720;
  EXPECT_DOUBLE_EQ(prefixBound(trace, 64, 1000).unlimited, (659.0 + 700 + 720) / (700 + 660 + 720 + 1536));
}

// No cache finds more than the bounds: for blocks of pages, of parts of pages and of neither, and for any lengths.
struct BoundTest : testing::TestWithParam<int64_t> {};

TEST_P(BoundTest, HoldsForTheKvManager) {
  std::mt19937 random(3);
  Trace trace{"t", {}, GetParam()};
  for (int i = 0; i < 300; ++i) {
    std::vector<int64_t> blocks;
    for (int64_t block = 0; block < 1 + static_cast<int64_t>(random() % 4); ++block)
      blocks.push_back(block * 10 + static_cast<int64_t>(random() % 3));
    trace.requests.push_back(request(blocks));
    int64_t whole = static_cast<int64_t>(blocks.size()) * trace.blockTokens;
    trace.requests.back().promptTokens =
        std::max<int64_t>(1, whole - static_cast<int64_t>(random() % 3 * (random() % 40)));
  }
  for (int32_t pages : {40, 80, 160, 8000}) {
    runtime::KvManager kv({.totalBlocks = pages + 1, .pageTokens = 64});
    int64_t hits = 0, tokens = 0;
    for (size_t i = 0; i < trace.requests.size(); ++i) {
      std::vector<text::TokenId> prompt = promptOf(trace, i);
      auto [id, cached] = kv.open({}, prompt);
      hits += cached;
      tokens += static_cast<int64_t>(prompt.size());
      ASSERT_TRUE(kv.reserve(id, static_cast<int64_t>(prompt.size())).ok());
      kv.append(id, std::span(prompt).subspan(cached));
      kv.close(id);
    }
    PrefixBound bound = prefixBound(trace, 64, pages);
    double found = static_cast<double>(hits) / static_cast<double>(tokens);
    EXPECT_LE(found, bound.clairvoyant + 1e-12) << pages;
    EXPECT_LE(bound.clairvoyant, bound.unlimited + 1e-12) << pages;
    if (pages == 8000) // Nothing was evicted; fewer than 4 tokens of a page are not copied.
      EXPECT_NEAR(found, bound.unlimited, 3.0 * 300 / static_cast<double>(tokens));
    else
      EXPECT_GT(found, 0) << pages;
  }
}

INSTANTIATE_TEST_SUITE_P(Blocks, BoundTest, testing::Values(512, 128, 16, 100));

} // namespace
