//===- FailureTest.cpp - a device that fails ---------------------------------------===//

#include "runtime/engine/EngineLoop.h"
#include "runtime/exec/HostExecutor.h"
#include "runtime/text/Tokenizer.h"
#include "test/unit/runtime/RequestRecorder.h"
#include "test/unit/runtime/ToyArtifact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace fusec;
using namespace fusec::runtime;
using namespace fusec::runtime::test;

namespace {

/// Fails where a test wants it to.
class FaultyExecutor final : public Executor {
public:
  explicit FaultyExecutor(std::unique_ptr<Executor> executor) : executor(std::move(executor)) {}
  const ExecutorInfo &info() const override { return executor->info(); }
  Status launch(const StepInput &input) override {
    return failing ? internalError("out of luck") : executor->launch(input);
  }
  Result<StepOutput> wait() override { return executor->wait(); }
  Status copyPages(std::span<const PageCopy> copies) override { return executor->copyPages(copies); }
  MemoryPlan memory() const override { return executor->memory(); }
  void setProfiling(bool on) override { executor->setProfiling(on); }
  std::vector<LaunchTime> takeProfile() override { return executor->takeProfile(); }

  bool failing = false;

private:
  std::unique_ptr<Executor> executor;
};

/// The parts of an engine on the toy, with the faulty executor between.
struct Parts {
  static constexpr int32_t pages = 33;

  Status open() {
    FUSEC_ASSIGN_OR_RETURN(artifact, Artifact::open(files.directory()));
    FUSEC_ASSIGN_OR_RETURN(text::Tokenizer loaded, text::Tokenizer::load(files.directory() / "tokenizer.json"));
    tokenizer.emplace(loaded);
    FUSEC_ASSIGN_OR_RETURN(HostDevice device, HostDevice::create(1));
    FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<HostExecutor> host,
                           HostExecutor::create(artifact, std::move(device), {"avx2", {16, 4, 16, toyContext}, pages}));
    executor = std::make_unique<FaultyExecutor>(std::move(host));
    const ModelText text{*tokenizer, endIds, toyRealVocab, toyContext};
    loop.emplace(EngineParts{*executor, kv, scheduler, monitor, text, toyVocab, 4, "toy"});
    return {};
  }

  std::shared_ptr<RequestRecorder> add(TokenId first, int64_t maxTokens) {
    Request request;
    request.prompt = {first};
    request.sampling = SamplingParams::greedy();
    request.maxTokens = maxTokens;
    auto recorder = std::make_shared<RequestRecorder>();
    Status added = loop->add(loop->newId(), request, recorder);
    EXPECT_TRUE(added.ok()) << added.message();
    return recorder;
  }

  ToyArtifact files;
  Artifact artifact;
  std::optional<text::Tokenizer> tokenizer;
  std::vector<TokenId> endIds = {toyEos};
  std::unique_ptr<FaultyExecutor> executor;
  KvManager kv{{.totalBlocks = pages, .pageTokens = toyPageTokens}};
  Scheduler scheduler{kv, {.tokenBudget = 16, .maxSequences = 4, .maxOutputRows = 16, .contextTokens = toyContext}};
  EngineMonitor monitor;
  std::optional<EngineLoop> loop;
};

} // namespace

TEST(Failure, AStepThatFailsEndsItsRequestsOnly) {
  Parts engine;
  ASSERT_TRUE(engine.open().ok());
  std::vector<std::shared_ptr<RequestRecorder>> victims;
  for (TokenId first : {0, 1, 2, 3})
    victims.push_back(engine.add(first, 5));
  auto waiting = engine.add(4, 5); // The fifth of four that run at once.
  engine.loop->step();
  engine.executor->failing = true;
  engine.loop->step();
  engine.executor->failing = false;
  while (engine.loop->hasWork())
    engine.loop->step();
  for (auto &victim : victims) {
    EXPECT_EQ(victim->outcome->status.code(), ErrorCode::Internal);
    EXPECT_THAT(victim->outcome->status.message(), testing::HasSubstr("step 2: out of luck"));
    EXPECT_EQ(victim->outcome->choices[0].ids.size(), 1u) << "what there was until then";
    EXPECT_EQ(victim->outcome->choices[0].reason, FinishReason::Error);
  }
  EXPECT_TRUE(waiting->outcome->status.ok());
  EXPECT_EQ(waiting->outcome->choices[0].text, "fghij");
  EXPECT_TRUE(engine.loop->health().ok());
  EXPECT_EQ(engine.kv.ledger().live + engine.kv.ledger().parked, 0);
  EXPECT_TRUE(engine.kv.check().ok());
  EXPECT_EQ(engine.monitor.snapshot().counters[Counter::FailedSteps], 1);
  EXPECT_EQ(engine.monitor.snapshot().finished[static_cast<size_t>(FinishReason::Error)], 4);
}

TEST(Failure, ADeviceThatKeepsFailingIsTheEnd) {
  Parts engine;
  ASSERT_TRUE(engine.open().ok());
  engine.executor->failing = true;
  std::vector<std::shared_ptr<RequestRecorder>> all;
  for (int i = 0; i < 20; ++i)
    all.push_back(engine.add(0, 5));
  while (engine.loop->hasWork())
    engine.loop->step();
  for (auto &one : all)
    EXPECT_FALSE(one->outcome->status.ok());
  EXPECT_FALSE(engine.loop->health().ok());
  Request request;
  request.prompt = {1};
  EXPECT_EQ(engine.loop->add(engine.loop->newId(), request, std::make_shared<RequestRecorder>()).code(),
            ErrorCode::Unavailable);
  EXPECT_EQ(engine.kv.ledger().live, 0);
}
