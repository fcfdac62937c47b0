//===- SoloBatchedTest.cpp - what a request gives does not depend on others -----===//
//
// Random requests on the toy model, whose answers all go through the paged cache:
// each must be, bit for bit, what it is alone, whatever the pool, the chunks, the
// neighbours, cached prefixes, cancellations and preemptions.
//
//===----------------------------------------------------------------------===//

#include "test/unit/runtime/Interleaving.h"
#include "test/unit/runtime/ToyEngine.h"

#include <gtest/gtest.h>

using namespace fusec;
using namespace fusec::runtime;
using namespace fusec::runtime::test;

namespace {

/// Most prompts begin like others, so that prefixes are found.
Request next(RandomSource &random, const std::vector<std::vector<TokenId>> &stems) {
  Request request;
  const std::vector<TokenId> &stem = stems[random.below(stems.size())];
  request.prompt.assign(stem.begin(), stem.begin() + static_cast<std::ptrdiff_t>(random.below(stem.size()) + 1));
  for (TokenId id : random.ids(random.below(6), toyRealVocab))
    request.prompt.push_back(id);
  request.maxTokens = static_cast<int64_t>(random.below(24) + 1);
  varyRequest(request, random, {"fa", "b"});
  request.sampling.temperature *= 6; // The toy is sure of itself.
  return request;
}

struct Setting {
  const char *name;
  EngineOptions options;
};

void PrintTo(const Setting &setting, std::ostream *stream) { *stream << setting.name; }

const Setting settings[] = {
    {"Roomy", {.chunkTokens = 64, .maxSequences = 8}},
    {"SeveralThreads", {.threads = 3, .chunkTokens = 64, .maxSequences = 8}},
    {"OneContextForAll", {.chunkTokens = 16, .maxSequences = 12, .kvTokens = 64}},
    {"SmallChunks", {.chunkTokens = 3, .maxSequences = 3, .kvTokens = 80}},
    {"NoPrefixCache", {.chunkTokens = 7, .maxSequences = 6, .kvTokens = 68, .prefixCache = false}},
    {"Priority", {.chunkTokens = 9, .maxSequences = 5, .kvTokens = 64, .policy = Policy::Priority}},
    {"PrefixAware", {.chunkTokens = 33, .maxSequences = 16, .kvTokens = 128, .policy = Policy::PrefixAware}},
};

class SoloBatched : public testing::TestWithParam<Setting> {};

} // namespace

TEST_P(SoloBatched, RandomInterleavings) {
  ToyArtifact files(ToyRule::Checksum);
  const uint32_t seeds = std::getenv("FUSEC_FULL") ? 200 : 5;
  for (uint32_t seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE(seed);
    auto alone = openToy(files, {.maxSequences = 2, .prefixCache = false});
    auto engine = openToy(files, GetParam().options);
    ASSERT_TRUE(alone && engine);
    RandomSource words(seed + 1000);
    std::vector<std::vector<TokenId>> stems;
    for (int i = 0; i < 4; ++i)
      stems.push_back(words.ids(40, toyRealVocab));
    expectSoloEqualsBatched(*engine, *alone,
                            {.seed = seed, .next = [&](RandomSource &random) { return next(random, stems); }});
    if (GetParam().options.kvTokens == 64)
      EXPECT_GT(engine->stats().counters[Counter::Preemptions], 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Toy, SoloBatched, testing::ValuesIn(settings),
                         [](const auto &info) { return std::string(info.param.name); });
