//===- BatchingTest.cpp - trained models serve many as they serve one -----------===//
//
// Greedy texts and log-probabilities of requests in random interleavings, in
// pools so small that they preempt one another, equal the solo run bit for bit.
// With FUSEC_FULL=1: more seeds, and SmolLM2.
//
//===----------------------------------------------------------------------===//
#include "runtime/text/Tokenizer.h"
#include "test/e2e/CompiledModels.h"
#include "test/e2e/ModelFiles.h"
#include "test/unit/runtime/Interleaving.h"
#include "test/unit/runtime/RequestRecorder.h"

#include <gmock/gmock.h>

#include <cstdlib>

namespace fusec::e2e {
namespace {

using runtime::Engine;
using runtime::EngineOptions;
using runtime::Request;
using runtime::TokenId;
using runtime::test::RandomSource;
using runtime::test::RequestRecorder;

bool isFull() { return std::getenv("FUSEC_FULL") != nullptr; }

/// BOS and the known text of stories260K.
std::vector<TokenId> knownText() {
  std::vector<TokenId> ids = {1};
  for (TokenId id : readJson(storiesGguf().parent_path() / "expected_greedy.json")["ids"].get<std::vector<TokenId>>())
    ids.push_back(id);
  return ids;
}

std::shared_ptr<RequestRecorder> run(Engine &engine, const Request &request) {
  auto recorder = std::make_shared<RequestRecorder>();
  auto id = engine.submit(request, recorder);
  EXPECT_TRUE(id) << id.status().message();
  while (engine.hasWork())
    engine.step();
  return recorder;
}

/// The prompt is a beginning of `stem` and some other ids.
Request vary(RandomSource &random, const std::vector<TokenId> &stem, size_t longest, size_t mostTokens, size_t vocab) {
  Request request;
  request.prompt.assign(stem.begin(), stem.begin() + static_cast<std::ptrdiff_t>(random.below(longest) + 1));
  for (TokenId id : random.ids(random.below(5), vocab))
    request.prompt.push_back(id);
  request.maxTokens = static_cast<int64_t>(random.below(mostTokens) + 1);
  runtime::test::varyRequest(request, random, {"little girl", "."});
  return request;
}

const EngineOptions storiesSettings[] = {
    {.contextTokens = 256, .chunkTokens = 256, .maxSequences = 8},
    {.contextTokens = 192, .chunkTokens = 32, .maxSequences = 12, .kvTokens = 256},
    {.contextTokens = 192,
     .chunkTokens = 13,
     .maxSequences = 6,
     .kvTokens = 192,
     .policy = runtime::Policy::PrefixAware},
};

TEST(Batching, StoriesSoloEqualsBatched) {
  FUSEC_NEEDS(storiesGguf());
  const std::vector<TokenId> stem = knownText();
  for (const EngineOptions &options : storiesSettings) {
    int64_t preemptions = 0;
    for (uint32_t seed = 1; seed <= (isFull() ? 10u : 1u); ++seed) {
      SCOPED_TRACE(seed);
      auto engine = openModel(storiesGguf(), options);
      auto alone =
          openModel(storiesGguf(), {.contextTokens = options.contextTokens, .maxSequences = 2, .prefixCache = false});
      ASSERT_TRUE(engine && alone);
      runtime::test::expectSoloEqualsBatched(**engine, **alone, {.seed = seed, .next = [&](RandomSource &random) {
                                                                   return vary(random, stem, 100, 60, 512);
                                                                 }});
      preemptions += (*engine)->stats().counters[runtime::Counter::Preemptions];
    }
    if (options.kvTokens == 192)
      EXPECT_GT(preemptions, 0);
  }
}

// Pages mapped side by side instead of looked up: shared prefixes, copies on write and preemption included, the bits
// are those of the paged layout.
TEST(Batching, ContiguousEqualsPaged) {
  FUSEC_NEEDS(storiesGguf());
  const std::vector<TokenId> stem = knownText();
  for (const EngineOptions &options : storiesSettings) {
    auto contiguous = openModel(storiesGguf(), options, KvLayout::Contiguous);
    auto paged =
        openModel(storiesGguf(), {.contextTokens = options.contextTokens, .maxSequences = 2, .prefixCache = false});
    ASSERT_TRUE(contiguous && paged) << contiguous.status().message();
    EXPECT_EQ((*contiguous)->memory().rows[1].name, "kv cache (f32, contiguous)");
    runtime::test::expectSoloEqualsBatched(**contiguous, **paged, {.seed = 5, .next = [&](RandomSource &random) {
                                                                     return vary(random, stem, 100, 60, 512);
                                                                   }});
    if (options.kvTokens == 192)
      EXPECT_GT((*contiguous)->stats().counters[runtime::Counter::Preemptions], 0);
  }
}

TEST(Batching, SmolLM2SoloEqualsBatched) {
  if (!isFull())
    GTEST_SKIP() << "for time, only with FUSEC_FULL=1";
  FUSEC_NEEDS(smolLM2());
  const EngineOptions options = {.contextTokens = 192, .chunkTokens = 48, .maxSequences = 12, .kvTokens = 256};
  auto engine = openModel(smolLM2(), options);
  auto alone = openModel(smolLM2(), {.contextTokens = 192, .maxSequences = 2, .prefixCache = false});
  ASSERT_TRUE(engine && alone);
  RandomSource words(7);
  const std::vector<TokenId> stem = words.ids(90, 49152);
  runtime::test::expectSoloEqualsBatched(
      **engine, **alone, {.seed = 1, .next = [&](RandomSource &random) { return vary(random, stem, 80, 24, 49152); }});
  EXPECT_GT((*engine)->stats().counters[runtime::Counter::Preemptions], 0);
}

// A chat computes every token once: of a turn that begins with all that was said, only the last answer's last token and
// what is new. The bits are those of an engine that computes everything.
TEST(Batching, EveryTurnOfAChatComputesOnlyWhatIsNew) {
  FUSEC_NEEDS(storiesGguf());
  auto warm = openModel(storiesGguf(), {.chunkTokens = 32, .maxSequences = 2});
  auto cold = openModel(storiesGguf(), {.maxSequences = 1, .prefixCache = false});
  ASSERT_TRUE(warm && cold);
  RandomSource random(3);
  Request turn;
  turn.prompt = {1};
  turn.sampling = runtime::SamplingParams::greedy();
  turn.sampling.logprobs = 3;
  turn.ignoreEos = true;
  int64_t known = 0;
  for (int64_t answer : {20, 37, 64, 5, 90, 1, 63}) {
    for (TokenId id : random.ids(9 + static_cast<size_t>(answer) / 8, 512))
      turn.prompt.push_back(id);
    turn.maxTokens = answer;
    auto here = run(**warm, turn), there = run(**cold, turn);
    EXPECT_EQ(here->outcome->explanation.cachedTokens, known);
    const auto &found = here->outcome->choices[0], &expected = there->outcome->choices[0];
    ASSERT_EQ(found.ids, expected.ids);
    ASSERT_EQ(found.reports.size(), static_cast<size_t>(answer));
    for (size_t i = 0; i < found.reports.size(); ++i)
      EXPECT_EQ(found.reports[i].logprob, expected.reports[i].logprob) << "token " << i << " of " << answer;
    turn.prompt.insert(turn.prompt.end(), found.ids.begin(), found.ids.end());
    known = static_cast<int64_t>(turn.prompt.size()) - 1;
    known -= known % 64 < 4 ? known % 64 : 0; // Too few to copy a page for.
  }
}

// vllm 3574: the stop string cuts exactly, in the stream and in the whole.
TEST(Batching, StopStringsOnTheKnownText) {
  FUSEC_NEEDS(storiesGguf());
  auto engine = openModel(storiesGguf(), {.contextTokens = 256, .maxSequences = 4});
  ASSERT_TRUE(engine);
  Request request;
  request.prompt = {1};
  request.sampling = runtime::SamplingParams::greedy();
  request.maxTokens = 60;
  request.stopStrings = {"little girl"};
  auto cut = run(**engine, request);
  EXPECT_EQ(cut->outcome->choices[0].text, "Once upon a time, there was a ");
  EXPECT_EQ(cut->streamed[0], "Once upon a time, there was a ");
  request.stopStrings = {"little girls"};
  EXPECT_THAT(run(**engine, request)->outcome->choices[0].text,
              testing::StartsWith("Once upon a time, there was a little girl"));
}

// llama.cpp 3817.
TEST(Batching, PromptsAtTheContextsEnd) {
  FUSEC_NEEDS(storiesGguf());
  auto engine = openModel(storiesGguf(), {.maxSequences = 2});
  ASSERT_TRUE(engine);
  for (size_t length : {511, 512, 513, 5000}) {
    Request request;
    request.prompt.assign(length, 3);
    request.sampling = runtime::SamplingParams::greedy();
    request.maxTokens = 600;
    request.ignoreEos = true;
    if (length < 512) {
      EXPECT_EQ(run(**engine, request)->outcome->choices[0].ids.size(), 1u);
      continue;
    }
    auto refused = (*engine)->submit(request, std::make_shared<RequestRecorder>());
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.status().message(),
                testing::AllOf(testing::HasSubstr(std::to_string(length)), testing::HasSubstr("512")));
  }
}

} // namespace
} // namespace fusec::e2e
