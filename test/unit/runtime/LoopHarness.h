//===- LoopHarness.h - an engine's parts, one by one, on the toy model ----------===//
//
// For what an Engine hides: its executor, its pool, the moment a step runs.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/engine/EngineLoop.h"
#include "runtime/exec/HostExecutor.h"
#include "runtime/text/Tokenizer.h"
#include "test/unit/runtime/RequestRecorder.h"
#include "test/unit/runtime/ToyArtifact.h"
#include "test/unit/runtime/ToyEngine.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace fusec::runtime::test {

/// Fails where a test wants it to, and says when it runs.
class WatchedExecutor final : public Executor {
public:
  explicit WatchedExecutor(std::unique_ptr<Executor> executor) : executor(std::move(executor)) {}
  const ExecutorInfo &info() const override { return executor->info(); }
  Status launch(const StepInput &input) override {
    return failsAtLaunch ? internalError("out of luck") : executor->launch(input);
  }
  Result<StepOutput> wait() override {
    if (whileRunning)
      whileRunning();
    Result<StepOutput> output = executor->wait();
    if (failsAtEnd)
      return internalError("out of luck");
    return output;
  }
  Status copyPages(std::span<const PageCopy> copies) override { return executor->copyPages(copies); }
  void forEach(int64_t count, const std::function<void(int64_t)> &work) override { executor->forEach(count, work); }
  MemoryPlan memory() const override { return executor->memory(); }
  void setProfiling(bool on) override { executor->setProfiling(on); }
  std::vector<LaunchTime> takeProfile() override { return executor->takeProfile(); }

  bool failsAtLaunch = false, failsAtEnd = false;
  std::function<void()> whileRunning; ///< Called by wait(): the step that follows is prepared.

private:
  std::unique_ptr<Executor> executor;
};

/// The parts of an engine on the toy, with the watched executor between.
struct LoopHarness {
  explicit LoopHarness(int32_t pages = 33)
      : pages(pages), kv({.totalBlocks = pages, .pageTokens = toyPageTokens}),
        scheduler(kv, {.tokenBudget = 16, .maxSequences = 4, .maxOutputRows = 16, .contextTokens = toyContext}) {}

  Status open() {
    FUSEC_ASSIGN_OR_RETURN(artifact, Artifact::open(files.directory()));
    FUSEC_ASSIGN_OR_RETURN(text::Tokenizer loaded, text::Tokenizer::load(files.directory() / "tokenizer.json"));
    tokenizer.emplace(loaded);
    FUSEC_ASSIGN_OR_RETURN(HostDevice device, HostDevice::create(1));
    FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<HostExecutor> host,
                           HostExecutor::create(artifact, std::move(device), {"avx2", {16, 4, 16, toyContext}, pages}));
    executor = std::make_unique<WatchedExecutor>(std::move(host));
    const ModelText text{*tokenizer, endIds, toyRealVocab, toyContext};
    loop.emplace(EngineParts{*executor, kv, scheduler, monitor, text, artifact.manifest.model, 4, "toy"});
    return {};
  }

  std::shared_ptr<RequestRecorder> add(const Request &request) {
    auto recorder = std::make_shared<RequestRecorder>();
    lastId = loop->newId();
    Status added = loop->add(lastId, request, recorder);
    EXPECT_TRUE(added.ok()) << added.message();
    return recorder;
  }
  std::shared_ptr<RequestRecorder> add(TokenId first, int64_t maxTokens) {
    return add(greedyRequest({first}, maxTokens));
  }
  void runToEnd() {
    while (loop->hasWork())
      loop->step();
  }
  void expectEmptyPool() {
    EXPECT_EQ(kv.ledger().live + kv.ledger().parked, 0);
    EXPECT_TRUE(kv.check().ok()) << kv.check().message();
  }

  ToyArtifact files;
  Artifact artifact;
  std::optional<text::Tokenizer> tokenizer;
  std::vector<TokenId> endIds = {toyEos};
  std::unique_ptr<WatchedExecutor> executor;
  const int32_t pages; ///< With the sink.
  KvManager kv;
  Scheduler scheduler;
  EngineMonitor monitor;
  std::optional<EngineLoop> loop;
  RequestId lastId{}; ///< Of the last add().
};

} // namespace fusec::runtime::test
