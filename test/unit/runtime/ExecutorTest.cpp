//===- ExecutorTest.cpp - steps of the toy model ------------------------------===//

#include "runtime/exec/HostExecutor.h"
#include "test/unit/runtime/ToyArtifact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

using namespace fusec;
using namespace fusec::runtime;
using namespace fusec::runtime::test;
using nlohmann::json;

namespace {

constexpr int64_t numPages = 40;

/// An executor on a toy artifact, with the parts it borrows.
struct Fixture {
  explicit Fixture(ToyRule rule = ToyRule::Checksum, int threads = 1) : files(rule), threads(threads) {}

  Status open(StepLimits limits = {16, 4, 16, toyContext}) {
    FUSEC_ASSIGN_OR_RETURN(artifact, Artifact::open(files.directory()));
    FUSEC_ASSIGN_OR_RETURN(HostDevice device, HostDevice::create(threads));
    FUSEC_ASSIGN_OR_RETURN(executor, HostExecutor::create(artifact, std::move(device), {"avx2", limits, numPages}));
    return {};
  }

  ToyArtifact files;
  int threads;
  Artifact artifact;
  std::unique_ptr<HostExecutor> executor;
};

/// Best real id of row `row`.
int best(std::span<const float> logits, size_t row) {
  std::span<const float> line = logits.subspan(row * toyVocab, toyRealVocab);
  return static_cast<int>(std::max_element(line.begin(), line.end()) - line.begin());
}

int checksum(const std::vector<int32_t> &ids) {
  int64_t sum = 0;
  for (size_t i = 0; i < ids.size(); ++i)
    sum += static_cast<int64_t>(i + 1) * (ids[i] + 1);
  return static_cast<int>(sum % toyRealVocab);
}

} // namespace

// Two sequences packed in one step, on scattered pages, with rows wanted in any order.
TEST(Executor, RunsPackedSequencesThroughScatteredPages) {
  for (int threads : {1, 2, 3}) {
    Fixture toy(ToyRule::Checksum, threads);
    Status status = toy.open();
    ASSERT_TRUE(status.ok()) << status.message();
    std::vector<int32_t> a = {3, 1, 4, 1, 5, 9, 2}, b = {6, 5, 3};
    std::vector<int32_t> tokens = a, positions = {0, 1, 2, 3, 4, 5, 6, 0, 1, 2};
    tokens.insert(tokens.end(), b.begin(), b.end());
    std::vector<int32_t> sequences = {1, 1, 1, 1, 1, 1, 1, 0, 0, 0};
    std::vector<int32_t> table = {17, 0, 39, 5}; // Row 0: b; row 1: a.
    std::vector<int32_t> rows = {9, 6, 0};
    Result<StepOutput> output = toy.executor->step({tokens, positions, sequences, table, 2, rows});
    ASSERT_TRUE(output) << output.status().message();
    ASSERT_EQ(output->logits.size(), 3u * toyVocab);
    EXPECT_EQ(best(output->logits, 0), checksum(b));
    EXPECT_EQ(best(output->logits, 1), checksum(a));
    EXPECT_EQ(best(output->logits, 2), checksum({3}));

    // One decode step of each: the cache holds what came before, and one row uses the other variant.
    a.push_back(7);
    std::vector<int32_t> token = {7}, position = {7}, sequence = {1}, row = {0};
    output = toy.executor->step({token, position, sequence, table, 2, row});
    ASSERT_TRUE(output);
    EXPECT_EQ(best(output->logits, 0), checksum(a));
  }
}

TEST(Executor, NoRowsGiveNoLogits) {
  Fixture toy;
  ASSERT_TRUE(toy.open().ok());
  std::vector<int32_t> zero = {0}, table = {1};
  Result<StepOutput> output = toy.executor->step({zero, zero, zero, table, 1, {}});
  ASSERT_TRUE(output);
  EXPECT_TRUE(output->logits.empty());
}

TEST(Executor, RefusesIndicesOutOfRange) {
  Fixture toy;
  ASSERT_TRUE(toy.open({4, 2, 2, toyContext}).ok());
  std::vector<int32_t> ok = {0}, table = {1};
  std::vector<int32_t> five(5, 0), minus = {-1}, vocab = {toyVocab}, far = {4}, pages = {numPages}, one = {1};
  auto message = [&](StepInput input) {
    Result<StepOutput> output = toy.executor->step(input);
    return output ? std::string("accepted") : output.status().message();
  };
  EXPECT_EQ(message({ok, ok, ok, table, 1, ok}), "accepted");
  EXPECT_THAT(message({five, five, five, table, 1, ok}), testing::HasSubstr("expected 1 to 4 tokens, found 5"));
  EXPECT_THAT(message({{}, {}, {}, table, 1, {}}), testing::HasSubstr("found 0"));
  EXPECT_THAT(message({ok, {}, ok, table, 1, ok}), testing::HasSubstr("differ in length"));
  EXPECT_THAT(message({minus, ok, ok, table, 1, ok}), testing::HasSubstr("token id -1"));
  EXPECT_THAT(message({vocab, ok, ok, table, 1, ok}), testing::HasSubstr("token id 20"));
  EXPECT_THAT(message({ok, far, ok, table, 1, ok}), testing::HasSubstr("position 4")) << "page 1 is not in the table";
  EXPECT_THAT(message({ok, ok, one, table, 1, ok}), testing::HasSubstr("sequence 1"));
  EXPECT_THAT(message({ok, ok, ok, pages, 1, ok}), testing::HasSubstr("page 40"));
  EXPECT_THAT(message({ok, ok, ok, table, 1, one}), testing::HasSubstr("output row 1"));
  EXPECT_THAT(message({ok, ok, ok, table, 0, ok}), testing::HasSubstr("block table"));
  EXPECT_THAT(message({ok, ok, ok, five, 1, ok}), testing::HasSubstr("expected 1 to 2 sequences, found 5"));
}

TEST(Executor, ProfilesPerLaunch) {
  Fixture toy;
  ASSERT_TRUE(toy.open().ok());
  std::vector<int32_t> tokens = {1, 2}, positions = {0, 1}, sequences = {0, 0}, table = {1}, rows = {1};
  EXPECT_TRUE(toy.executor->takeProfile().empty());
  toy.executor->setProfiling(true);
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(toy.executor->step({tokens, positions, sequences, table, 1, rows}));
  std::vector<LaunchTime> times = toy.executor->takeProfile();
  ASSERT_EQ(times.size(), 3u);
  EXPECT_EQ(times[0].launch, "blk.0.append");
  EXPECT_EQ(times[2].entry, "toy_logits_r1");
  EXPECT_EQ(times[2].programs, 15);
  EXPECT_EQ(times[2].runs, 3);
  EXPECT_GT(times[2].seconds, 0);
  EXPECT_TRUE(toy.executor->takeProfile().empty());
}

// A launch none of whose variants applies does nothing, and the next one runs on.
TEST(Executor, SkipsALaunchThatNoVariantAccepts) {
  for (int threads : {1, 3}) {
    Fixture toy(ToyRule::Checksum, threads);
    json manifest = json::parse(toyManifest());
    for (json &target : manifest["targets"])
      target["kernels"]["sum"]["variants"][0]["when"] = {{"T", 1}};
    toy.files.write("manifest.json", manifest.dump());
    ASSERT_TRUE(toy.open().ok());
    toy.executor->setProfiling(true);
    std::vector<int32_t> one = {7}, zero = {0}, table = {1}, row = {0};
    Result<StepOutput> output = toy.executor->step({one, zero, zero, table, 1, row});
    ASSERT_TRUE(output);
    EXPECT_EQ(best(output->logits, 0), checksum({7}));
    EXPECT_EQ(toy.executor->takeProfile().size(), 3u);

    // Two tokens: the sums stay those of the step before.
    std::vector<int32_t> tokens = {1, 2}, positions = {0, 1}, sequences = {0, 0};
    output = toy.executor->step({tokens, positions, sequences, table, 1, row});
    ASSERT_TRUE(output);
    EXPECT_EQ(best(output->logits, 0), checksum({7}));
    std::vector<LaunchTime> times = toy.executor->takeProfile();
    ASSERT_EQ(times.size(), 2u);
    EXPECT_EQ(times[0].launch, "blk.0.append");
    EXPECT_EQ(times[1].launch, "output");
  }
}

// A sequence that goes on from copies of another's pages sees what the other has computed, and no more.
TEST(Executor, CopiesPages) {
  Fixture toy;
  ASSERT_TRUE(toy.open().ok());
  std::vector<int32_t> ids = {3, 1, 4, 1, 5}, positions = {0, 1, 2, 3, 4}, zeros(5, 0), table = {7, 8}, rows = {4};
  ASSERT_TRUE(toy.executor->step({ids, positions, zeros, table, 2, rows}));
  const PageCopy copies[] = {{BlockId{7}, BlockId{20}}, {BlockId{8}, BlockId{39}}};
  ASSERT_TRUE(toy.executor->copyPages(copies).ok());
  // The original goes on with 9, the copy with 2.
  for (auto [token, pages] : {std::pair{9, std::vector{7, 8}}, {2, {20, 39}}}) {
    std::vector<int32_t> one = {token}, place = {5}, zero = {0};
    Result<StepOutput> output = toy.executor->step({one, place, zero, pages, 2, zero});
    ASSERT_TRUE(output) << output.status().message();
    EXPECT_EQ(best(output->logits, 0), checksum({3, 1, 4, 1, 5, token}));
  }
  for (BlockId bad : {BlockId{-1}, BlockId{numPages}}) {
    const PageCopy wrong[] = {{BlockId{7}, bad}};
    EXPECT_THAT(toy.executor->copyPages(wrong).message(), testing::HasSubstr("page to copy"));
  }
}

TEST(Executor, LaunchesThenWaits) {
  Fixture toy;
  ASSERT_TRUE(toy.open().ok());
  EXPECT_THAT(toy.executor->wait().status().message(), testing::HasSubstr("nothing was launched"));
  {
    std::vector<int32_t> ids = {3, 1}, positions = {0, 1}, zeros = {0, 0}, table = {7}, rows = {1};
    ASSERT_TRUE(toy.executor->launch({ids, positions, zeros, table, 1, rows}).ok());
  } // The input's arrays are no longer needed.
  Result<StepOutput> output = toy.executor->wait();
  ASSERT_TRUE(output);
  EXPECT_EQ(best(output->logits, 0), checksum({3, 1}));
  EXPECT_FALSE(toy.executor->wait());
  EXPECT_FALSE(toy.executor->launch({}).ok());
  EXPECT_FALSE(toy.executor->wait()) << "a refused step is not launched";
}

TEST(Executor, CallsEachOnceOnItsThreads) {
  for (int threads : {1, 3}) {
    Fixture toy(ToyRule::Checksum, threads);
    ASSERT_TRUE(toy.open().ok());
    for (int64_t count : {0, 1, 2, 100}) {
      std::vector<int> calls(static_cast<size_t>(count)); // Each call writes its own.
      toy.executor->forEach(count, [&](int64_t i) { ++calls[static_cast<size_t>(i)]; });
      EXPECT_THAT(calls, testing::Each(1));
    }
    std::vector<int32_t> token = {7}, zero = {0};
    Result<StepOutput> output = toy.executor->step({token, zero, zero, zero, 1, zero});
    ASSERT_TRUE(output);
    EXPECT_EQ(best(output->logits, 0), checksum({7})) << "steps go on afterwards";
  }
}

TEST(Executor, PlansItsMemory) {
  Fixture toy;
  ASSERT_TRUE(toy.open().ok());
  MemoryPlan plan = toy.executor->memory();
  ASSERT_EQ(plan.rows.size(), 6u);
  EXPECT_EQ(plan.rows[0].name, "weights (mapped)");
  EXPECT_EQ(plan.rows[0].bytes, toyWeightsBytes);
  EXPECT_EQ(plan.rows[1].name, "kv cache (f32)");
  EXPECT_EQ(plan.rows[1].bytes, numPages * 16);
  EXPECT_EQ(plan.rows[2].name, "activations");
  EXPECT_EQ(plan.rows[2].bytes, 64 + 64); // sums f32 [16], and slack.
  EXPECT_EQ(plan.rows[3].name, "logits");
  EXPECT_EQ(plan.rows[3].bytes, 16 * 20 * 4 + 64);
  EXPECT_GT(plan.rows[5].bytes, 256);
}

TEST(Executor, SlotsTakeTheirLargestBuffer) {
  Result<Manifest> manifest = parseManifest(toyManifest(), "m", toyWeightsBytes);
  ASSERT_TRUE(manifest);
  manifest->buffers[7].slot = 1; // sums now shares the logits' slot.
  SymbolValues maxima;
  maxima[Symbol::Tokens] = 1000;
  maxima[Symbol::OutputRows] = 1;
  Result<ActivationArena> arena = ActivationArena::create(*manifest, maxima);
  ASSERT_TRUE(arena);
  EXPECT_EQ(arena->slotBytes(1), 4032 + 64);
  maxima[Symbol::Tokens] = int64_t{1} << 60;
  EXPECT_EQ(ActivationArena::create(*manifest, maxima).status().code(), ErrorCode::ResourceExhausted);
}

TEST(Artifact, NamesWhatIsMissing) {
  EXPECT_THAT(Artifact::open("/nonexistent").status().message(), testing::HasSubstr("no artifact here"));
  ToyArtifact files;
  files.write("weights.bin", "short");
  EXPECT_THAT(Artifact::open(files.directory()).status().message(), testing::HasSubstr("weights file of 5 bytes"));
  std::filesystem::remove(files.directory() / "weights.bin");
  EXPECT_THAT(Artifact::open(files.directory()).status().message(), testing::HasSubstr("weights.bin"));
}

TEST(Executor, NamesAMissingKernel) {
  Fixture toy;
  json manifest = json::parse(toyManifest());
  manifest["targets"][1]["kernels"]["sum"]["variants"][0]["entry"] = "toy_missing";
  toy.files.write("manifest.json", manifest.dump());
  EXPECT_THAT(toy.open().message(), testing::HasSubstr("no kernel named 'toy_missing'"));
}
