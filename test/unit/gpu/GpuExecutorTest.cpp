//===- GpuExecutorTest.cpp - steps of the toy model on GPUs -------------------------===//

#include "runtime/exec/gpu/GpuExecutor.h"
#include "runtime/device/gpu/OpenGpuDevice.h"
#include "runtime/exec/ExecutorFactory.h"
#include "test/unit/gpu/FaultyDevice.h"
#include "test/unit/gpu/GpuTestDevices.h"
#include "test/unit/gpu/ToyGpuArtifact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

using namespace fusec;
using namespace fusec::runtime;
using namespace fusec::runtime::test;
using nlohmann::json;

namespace {

constexpr int64_t numPages = 80;
constexpr StepLimits limits{48, 6, 16, toyContext};

/// Sequences of a batch: their tokens so far, and pages scattered over the cache.
class Batch {
public:
  explicit Batch(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      std::vector<int32_t> prompt;
      for (size_t j = 0; j < 5 + i; ++j)
        prompt.push_back(static_cast<int32_t>((7 * i + 3 * j + 2) % toyRealVocab));
      sequences.push_back(std::move(prompt));
    }
  }

  size_t size() const { return sequences.size(); }
  const std::vector<int32_t> &ids(size_t i) const { return sequences[i]; }
  void append(size_t i, int32_t token) { sequences[i].push_back(token); }

  /// One step: the tokens of each sequence from `from` on; one row of logits each.
  Result<StepOutput> step(Executor &executor, const std::vector<size_t> &from) {
    std::vector<int32_t> tokens, positions, rows, ids, table;
    int64_t stride = 0;
    for (const auto &sequence : sequences)
      stride = std::max(stride, static_cast<int64_t>((sequence.size() + toyPageTokens - 1) / toyPageTokens));
    for (size_t i = 0; i < size(); ++i) {
      for (size_t p = from[i]; p < sequences[i].size(); ++p) {
        tokens.push_back(sequences[i][p]);
        positions.push_back(static_cast<int32_t>(p));
        ids.push_back(static_cast<int32_t>(i));
      }
      rows.push_back(static_cast<int32_t>(tokens.size()) - 1);
      for (int64_t page = 0; page < stride; ++page)
        table.push_back(static_cast<int32_t>(1 + (page * 6 + static_cast<int64_t>(i)) % (numPages - 1)));
    }
    return executor.step({tokens, positions, ids, table, stride, rows});
  }

  Result<StepOutput> prefill(Executor &executor) { return step(executor, std::vector<size_t>(size(), 0)); }

  Result<StepOutput> decode(Executor &executor) {
    std::vector<size_t> from;
    for (const auto &sequence : sequences)
      from.push_back(sequence.size() - 1);
    return step(executor, from);
  }

private:
  std::vector<std::vector<int32_t>> sequences;
};

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

GpuExecutorOptions options(bool usesGraphs = true) {
  GpuExecutorOptions result;
  result.limits = limits;
  result.numPages = numPages;
  result.usesGraphs = usesGraphs;
  return result;
}

/// An executor on a toy artifact and the artifact it borrows.
struct Toy {
  explicit Toy(const json &manifest = toyGpuManifest()) : files(ToyRule::Checksum, manifest) {}

  Status open(std::unique_ptr<GpuDevice> device, const GpuExecutorOptions &options) {
    FUSEC_ASSIGN_OR_RETURN(artifact, Artifact::open(files.directory()));
    FUSEC_ASSIGN_OR_RETURN(executor, GpuExecutor::create(artifact, std::move(device), options));
    return {};
  }
  Status open(const GpuExecutorOptions &options = ::options()) { return open(*openGpuDevice("virtual"), options); }

  ToyGpuArtifact files;
  Artifact artifact;
  std::unique_ptr<GpuExecutor> executor;
};

/// Decodes `steps` tokens by the model's own rule and expects each to be right.
void expectChecksums(Executor &executor, Batch &batch, int steps) {
  Result<StepOutput> logits = batch.prefill(executor);
  for (int step = 0; step <= steps; ++step) {
    ASSERT_TRUE(logits) << logits.status().message();
    ASSERT_EQ(logits->logits.size(), batch.size() * toyVocab);
    for (size_t i = 0; i < batch.size(); ++i) {
      ASSERT_EQ(best(logits->logits, i), checksum(batch.ids(i))) << "step " << step << ", sequence " << i;
      batch.append(i, checksum(batch.ids(i)));
    }
    logits = batch.decode(executor);
  }
}

class GpuExecutorDevices : public testing::TestWithParam<TestDevice> {};

} // namespace

INSTANTIATE_TEST_SUITE_P(Devices, GpuExecutorDevices, testing::ValuesIn(testDevices()),
                         [](const auto &info) { return info.param.name; });

TEST_P(GpuExecutorDevices, GeneratesWithAndWithoutGraphs) {
  for (bool graphs : {true, false})
    for (size_t count : {1, 2, 3, 5}) {
      Toy toy;
      Status status = toy.open(std::move(*GetParam().open()), options(graphs));
      ASSERT_TRUE(status.ok()) << status.message();
      Batch batch(count);
      expectChecksums(*toy.executor, batch, 12);
      const GraphStats stats = toy.executor->graphStats();
      EXPECT_EQ(stats.replayed, graphs ? 13 : 0);
      EXPECT_EQ(stats[EagerReason::Prefill], graphs ? 1 : 0);
      EXPECT_EQ(stats[EagerReason::Disabled], graphs ? 0 : 14);
    }
}

// Every logit, not only the best one.
TEST_P(GpuExecutorDevices, GraphsGiveTheBitsOfLaunches) {
  Toy eager, captured;
  ASSERT_TRUE(eager.open(std::move(*GetParam().open()), options(false)).ok());
  ASSERT_TRUE(captured.open(std::move(*GetParam().open()), options(true)).ok());
  Batch batch(3);
  ASSERT_TRUE(batch.prefill(*eager.executor));
  ASSERT_TRUE(batch.prefill(*captured.executor));
  for (int step = 0; step < 10; ++step) {
    for (size_t i = 0; i < batch.size(); ++i)
      batch.append(i, static_cast<int32_t>((step * 5 + i) % toyRealVocab));
    Result<StepOutput> a = batch.decode(*eager.executor), b = batch.decode(*captured.executor);
    ASSERT_TRUE(a && b);
    EXPECT_TRUE(std::ranges::equal(a->logits, b->logits)) << "step " << step;
  }
}

TEST_P(GpuExecutorDevices, ProfilesPerLaunch) {
  Toy toy;
  ASSERT_TRUE(toy.open(std::move(*GetParam().open()), options()).ok());
  EXPECT_EQ(toy.executor->info().driver.empty(), GetParam().name.starts_with("Virtual"));
  Batch batch(1);
  ASSERT_TRUE(batch.prefill(*toy.executor));
  EXPECT_TRUE(toy.executor->takeProfile().empty());
  toy.executor->setProfiling(true);
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(batch.decode(*toy.executor));
  std::vector<LaunchTime> times = toy.executor->takeProfile();
  ASSERT_EQ(times.size(), 3u);
  EXPECT_EQ(times[0].launch, "blk.0.append");
  EXPECT_EQ(times[2].entry, "toy_logits_r1");
  EXPECT_EQ(times[2].programs, 15);
  EXPECT_EQ(times[2].runs, 3);
  EXPECT_GE(times[2].seconds, 0);
  EXPECT_TRUE(toy.executor->takeProfile().empty());
  EXPECT_EQ(toy.executor->graphStats()[EagerReason::Profiling], 3);
  toy.executor->setProfiling(false);
  ASSERT_TRUE(batch.decode(*toy.executor));
  EXPECT_EQ(toy.executor->graphStats().replayed, 1);
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

// Contexts of 1, 2, 3 to 4 and 5 to 8 pages; batches of 3 and 4 share a bucket.
TEST(GpuExecutor, CapturesOneGraphPerBucket) {
  Toy toy;
  ASSERT_TRUE(toy.open().ok());
  Batch one(1);
  ASSERT_TRUE(one.prefill(*toy.executor)); // 5 tokens: 2 pages.
  std::vector<int64_t> captured;
  for (int step = 0; step < 27; ++step) {
    one.append(0, 1);
    ASSERT_TRUE(one.decode(*toy.executor));
    captured.push_back(toy.executor->graphStats().captured);
  }
  // Lengths 6 to 32: two pages up to 8, four up to 16, eight up to 32.
  EXPECT_EQ(captured[0], 1);
  EXPECT_EQ(captured[2], 1);
  EXPECT_EQ(captured[3], 2);
  EXPECT_EQ(captured[10], 2);
  EXPECT_EQ(captured[11], 3);
  EXPECT_EQ(captured[26], 3);
  EXPECT_EQ(toy.executor->graphStats().replayed, 27);
  for (size_t count : {3, 4}) {
    Batch batch(count);
    ASSERT_TRUE(batch.prefill(*toy.executor));
    ASSERT_TRUE(batch.decode(*toy.executor)); // The last tokens again: at most 8, two pages.
    EXPECT_EQ(toy.executor->graphStats().captured, 4);
  }
}

// Three sequences in a bucket of four, through kernels that also run the row that is not there: it reads and writes
// the sink only.
TEST(GpuExecutor, PaddingRowsTouchOnlyTheSink) {
  Toy toy(toyGpuManifest(/*tiles=*/true));
  ASSERT_TRUE(toy.open().ok());
  Batch batch(3);
  expectChecksums(*toy.executor, batch, 20);
  EXPECT_EQ(toy.executor->graphStats().replayed, 21);
}

TEST(GpuExecutor, CountsWhatRunsWithoutAGraph) {
  Toy toy;
  GpuExecutorOptions few = options();
  few.maxGraphSequences = 2;
  ASSERT_TRUE(toy.open(few).ok());
  Batch batch(3);
  ASSERT_TRUE(batch.prefill(*toy.executor));
  ASSERT_TRUE(batch.decode(*toy.executor));
  ASSERT_TRUE(batch.decode(*toy.executor));
  const GraphStats stats = toy.executor->graphStats();
  EXPECT_EQ(stats[EagerReason::Prefill], 1);
  EXPECT_EQ(stats[EagerReason::TooManySequences], 2);
  EXPECT_EQ(stats.captured + stats.replayed, 0);
}

TEST(GpuExecutor, GoesOnWithoutCaptures) {
  for (bool atStart : {true, false}) {
    Toy toy;
    Faults faults{.failsWhileCapturing = !atStart, .refusesCapture = atStart};
    ASSERT_TRUE(toy.open(makeFaulty(*openGpuDevice("virtual"), faults), options()).ok());
    Batch batch(2);
    expectChecksums(*toy.executor, batch, 5);
    const GraphStats stats = toy.executor->graphStats();
    EXPECT_EQ(stats[EagerReason::CaptureFailed], 6);
    EXPECT_EQ(stats.captured, 0);
    // One note per bucket, not per step: contexts of two and of three pages.
    EXPECT_THAT(toy.executor->info().notes, testing::Each(std::string("a decode step runs without a graph: ") +
                                                          (atStart ? "no captures today" : "no such launch today")));
    EXPECT_EQ(toy.executor->info().notes.size(), 2u);
  }
}

// What the driver captured is not what the plan for the key says.
TEST(GpuExecutor, AGraphThatHoldsSomethingElseIsAnError) {
  struct Case {
    std::function<void(std::vector<GpuGraphLaunch> &)> change;
    const char *message;
  };
  const Case cases[] = {{[](auto &list) { list[1].grid.x = 7; },
                         "launch 1: planned toy_sum <<<1, 32, 0>>> with 6 parameters, captured "
                         "toy_sum <<<7, 32, 0>>>"},
                        {[](auto &list) { list[2].function = "toy_logits"; }, "planned toy_logits_r1"},
                        {[](auto &list) { list[0].parameters[2] += 4; }, "with 6 parameters whose values differ"},
                        {[](auto &list) { list[0].block.x = 64; }, "captured toy_append <<<1, 64, 0>>>"},
                        {[](auto &list) { list[0].sharedBytes = 16; }, "captured toy_append <<<1, 32, 16>>>"},
                        {[](auto &list) { list.pop_back(); }, "planned 3 launches, captured 2"},
                        {[](auto &list) { list.push_back(list[0]); }, "planned 3 launches, captured 4"},
                        {[](auto &list) { std::swap(list[0], list[1]); }, "launch 0: planned toy_append"}};
  for (const Case &row : cases) {
    Toy toy;
    Faults faults{.changeCapture = row.change};
    ASSERT_TRUE(toy.open(makeFaulty(*openGpuDevice("virtual"), faults), options()).ok());
    Batch batch(1);
    ASSERT_TRUE(batch.prefill(*toy.executor));
    Result<StepOutput> logits = batch.decode(*toy.executor);
    ASSERT_FALSE(logits);
    EXPECT_EQ(logits.status().code(), ErrorCode::Internal);
    EXPECT_THAT(logits.status().message(), testing::StartsWith("captured graph for T=1, S=1, B=2, R=1, C=8, W=0: "));
    EXPECT_THAT(logits.status().message(), testing::HasSubstr(row.message));
  }
}

TEST(GpuExecutor, AFaultIsAnErrorOfTheStepAndOfTheNext) {
  json manifest = toyGpuManifest();
  manifest["targets"][2]["kernels"]["sum"]["variants"][0]["entry"] = "toy_stray";
  Toy toy(manifest);
  ASSERT_TRUE(toy.open().ok());
  Batch batch(1);
  EXPECT_FALSE(batch.prefill(*toy.executor));
  EXPECT_FALSE(batch.decode(*toy.executor));
}

TEST(GpuExecutor, RefusesIndicesOutOfRange) {
  Toy toy;
  ASSERT_TRUE(toy.open().ok());
  std::vector<int32_t> zero = {0}, table = {numPages};
  Result<StepOutput> logits = toy.executor->step({zero, zero, zero, table, 1, zero});
  EXPECT_THAT(logits.status().message(), testing::HasSubstr("page 80 is not in [0, 80)"));
}

TEST(GpuExecutor, CopiesPages) {
  Toy toy;
  ASSERT_TRUE(toy.open().ok());
  std::vector<int32_t> ids = {3, 1, 4, 1, 5}, positions = {0, 1, 2, 3, 4}, zeros(5, 0), table = {7, 8}, rows = {4};
  ASSERT_TRUE(toy.executor->step({ids, positions, zeros, table, 2, rows}));
  const PageCopy copies[] = {{BlockId{7}, BlockId{20}}, {BlockId{8}, BlockId{39}}};
  ASSERT_TRUE(toy.executor->copyPages(copies).ok());
  std::vector<int32_t> one = {9}, place = {5}, zero = {0}, copied = {20, 39};
  Result<StepOutput> there = toy.executor->step({one, place, zero, table, 2, zero});
  ASSERT_TRUE(there);
  const int expected = best(there->logits, 0);
  Result<StepOutput> here = toy.executor->step({one, place, zero, copied, 2, zero});
  ASSERT_TRUE(here) << here.status().message();
  EXPECT_EQ(best(here->logits, 0), expected);
  const PageCopy wrong[] = {{BlockId{7}, BlockId{numPages}}};
  EXPECT_THAT(toy.executor->copyPages(wrong).message(), testing::HasSubstr("page to copy"));
}

TEST(GpuExecutor, LaunchesOneStepAtATime) {
  Toy toy;
  ASSERT_TRUE(toy.open().ok());
  EXPECT_THAT(toy.executor->wait().status().message(), testing::HasSubstr("nothing was launched"));
  std::vector<int32_t> one = {9}, zero = {0}, table = {7};
  ASSERT_TRUE(toy.executor->launch({one, zero, zero, table, 1, zero}).ok());
  EXPECT_THAT(toy.executor->launch({one, zero, zero, table, 1, zero}).message(), testing::HasSubstr("not waited for"));
  EXPECT_TRUE(toy.executor->wait());
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

TEST(GpuExecutor, PlansItsMemory) {
  Toy toy;
  std::vector<double> fractions;
  GpuExecutorOptions with = options();
  with.progress = [&](std::string_view, double fraction) { fractions.push_back(fraction); };
  ASSERT_TRUE(toy.open(with).ok());
  const MemoryPlan plan = toy.executor->memory();
  std::vector<std::string> names;
  for (const MemoryPlan::Row &row : plan.rows)
    names.push_back(row.name);
  EXPECT_THAT(names, testing::ElementsAre("weights (GPU)", "kv cache (f32, GPU)", "activations (GPU)", "logits (GPU)",
                                          "step inputs (GPU)", "pinned host memory"));
  EXPECT_EQ(plan.rows[0].bytes, toyWeightsBytes + 256);
  EXPECT_EQ(plan.rows[1].bytes, numPages * 16 + 256);
  EXPECT_EQ(plan.rows[3].bytes, 16 * 20 * 4 + 64);
  EXPECT_THAT(fractions, testing::ElementsAre(1.0));
  EXPECT_EQ(toy.executor->info().level, "sm_80");
  EXPECT_EQ(toy.executor->info().threads, 0);
}

TEST(GpuExecutor, ShowsTheSumThatDoesNotFit) {
  Toy toy;
  Faults faults{.freeBytes = 3 << 20};
  GpuExecutorOptions large = options();
  large.numPages = 1 << 20;
  Status status = toy.open(makeFaulty(*openGpuDevice("virtual"), faults), large);
  EXPECT_EQ(status.code(), ErrorCode::ResourceExhausted);
  EXPECT_THAT(status.message(), testing::HasSubstr("weights 1 MiB + kv cache 17 MiB + activations 1 MiB + logits 1 MiB "
                                                   "+ step inputs 1 MiB = 17 MiB, 3 MiB of"));
  large.numPages = INT64_MAX / 8;
  EXPECT_THAT(toy.open(large).message(), testing::HasSubstr("exceed the address space"));
}

TEST(GpuExecutor, NamesWhatCannotBeLoaded) {
  Toy damaged;
  damaged.files.write("kernels/sm_80/toy.ptx", "no PTX");
  EXPECT_THAT(damaged.open().message(), testing::HasSubstr("kernels/sm_80/toy.ptx"));
  Toy gone;
  std::filesystem::remove(gone.files.directory() / "kernels/sm_80/toy.ptx");
  EXPECT_THAT(gone.open().message(), testing::HasSubstr("kernels/sm_80/toy.ptx"));
  json manifest = toyGpuManifest();
  manifest["targets"][2]["kernels"]["sum"]["variants"][0]["entry"] = "toy_missing";
  Toy other(manifest);
  EXPECT_THAT(other.open().message(), testing::HasSubstr("toy_missing"));
  manifest = toyGpuManifest();
  manifest["targets"][2]["kernels"]["sum"]["variants"][0]["shared_bytes"] = 1 << 20;
  Toy greedy(manifest);
  EXPECT_THAT(greedy.open().message(), testing::HasSubstr("'toy_sum' needs 1048576 bytes of shared memory"));
}

TEST(ExecutorFactory, OpensByName) {
  ToyGpuArtifact files;
  Result<Artifact> artifact = Artifact::open(files.directory());
  ASSERT_TRUE(artifact);
  auto open = [&](const std::string &device) {
    ExecutorOptions setup;
    setup.device = device;
    setup.threads = 1;
    setup.limits = limits;
    setup.numPages = numPages;
    setup.level = device.empty() || device == "host" ? "avx2" : "";
    Result<std::unique_ptr<Executor>> executor = createExecutor(*artifact, setup);
    return executor ? (*executor)->info().device + " " + (*executor)->info().level : executor.status().message();
  };
  EXPECT_EQ(open(""), "host avx2");
  EXPECT_EQ(open("host"), "host avx2");
  EXPECT_EQ(open("virtual"), "virtual sm_80 sm_80");
  EXPECT_EQ(open("virtual:sm_80"), "virtual sm_80 sm_80");
  EXPECT_THAT(open("tpu"), testing::HasSubstr("device 'tpu': expected host, cuda, cuda:N, virtual or virtual:sm_NN"));
}

TEST(ExecutorFactory, NamesWhatTheArtifactHas) {
  ToyArtifact hostOnly;
  Result<Artifact> artifact = Artifact::open(hostOnly.directory());
  ASSERT_TRUE(artifact);
  ExecutorOptions setup;
  setup.limits = limits;
  setup.numPages = numPages;
  setup.device = "virtual";
  EXPECT_EQ(createExecutor(*artifact, setup).status().message(),
            "the artifact has no kernels for virtual sm_80 (sm_80): it has host kernels for avx512, avx2; compile the "
            "model with: fusec compile MODEL --target cuda -o DIRECTORY");
  json manifest = toyGpuManifest();
  manifest["targets"].erase(0);
  manifest["targets"].erase(0);
  ToyGpuArtifact cudaOnly(ToyRule::Checksum, manifest);
  artifact = Artifact::open(cudaOnly.directory());
  ASSERT_TRUE(artifact) << artifact.status().message();
  setup.device = "";
  EXPECT_EQ(createExecutor(*artifact, setup).status().message(),
            "the artifact has no kernels for the CPU: it has CUDA kernels for sm_80; run it with --device cuda, or "
            "compile the model with: fusec compile MODEL --target host -o DIRECTORY");
}
