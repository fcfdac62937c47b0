//===- EngineLoop.h - from scheduled step to delivered tokens ----------------------===//
//
// One step() of the engine:
//
//  1. End what was cancelled.
//  2. Ask the scheduler for a step, build its arrays, launch it.
//  3. While it runs: make the texts of the step before and give its events to their
//     listeners, then prepare the step that follows.
//  4. Wait; sample each row on its own, several at once where the executor has threads;
//     commit.
//  5. End what is complete or has failed, let the texts of a request part.
//
// An error of one request (sampling, constraint) ends that request. An error of
// the executor ends the requests of that step; repeated, it is the engine's end.
//
// Borrows all parts. Threading: one thread at a time; validate() and newId() from
// any.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/engine/ActiveRequest.h"
#include "runtime/engine/Batch.h"
#include "runtime/engine/EngineMonitor.h"
#include "runtime/exec/Executor.h"
#include "runtime/kv/KvManager.h"
#include "runtime/sched/Scheduler.h"

#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace fusec::runtime {

struct EngineParts {
  Executor &executor;
  KvManager &kv;
  Scheduler &scheduler;
  EngineMonitor &monitor;
  ModelText text;
  const ModelInfo &model;
  int64_t maxSequences = 1; ///< That run at once.
  std::string modelDigest;  ///< Of the weights and how KV is stored.
};

class EngineLoop {
public:
  using Clock = std::chrono::steady_clock;

  explicit EngineLoop(EngineParts parts) : parts(std::move(parts)) {}

  /// InvalidArgument when it cannot be started.
  Status validate(const Request &request) const;
  RequestId newId() { return RequestId{nextRequest.fetch_add(1, std::memory_order_relaxed)}; }

  /// Queues a valid request. On an error its listener never hears of it.
  Status add(RequestId id, Request request, std::shared_ptr<RequestListener> listener,
             Clock::time_point submitted = Clock::now());
  /// Queues ids whose logits or hidden states are wanted; `listener` hears of the end.
  Status addEvaluation(RequestId id, std::vector<TokenId> ids, Evaluation evaluation,
                       std::shared_ptr<RequestListener> listener);
  void cancel(RequestId id);
  /// False when there was nothing to run.
  bool step();
  bool hasWork() const { return !requests.empty() || !outbox.empty(); }
  const Status &health() const { return status; }

private:
  /// What a listener is to be told.
  struct Delivery {
    std::shared_ptr<RequestListener> to;
    TokenEvent event;
    std::unique_ptr<RequestOutcome> outcome; ///< The end, instead of an event.
  };
  /// A text that goes on from the prompt of another.
  struct Branch {
    RequestId from;
    size_t choice;
    TokenId token;
  };

  Status addChoices(ActiveRequest &active);
  void addEmbedding(ActiveRequest &active);
  Status start(std::unique_ptr<ActiveRequest> active);
  ScheduledRequest scheduled(const ActiveRequest &active, RequestId sequence) const;
  RequestId addSequence(ActiveRequest &active, size_t choice, int64_t known);
  void endCancelled();
  Result<StepOutput> run(const Step &step, StepRecord &record);
  void workBeside(const Step &step, Clock::time_point launched);
  void begin(const Step &step, Clock::time_point now);
  void finish(const Step &step, const StepOutput &output);
  /// A row of what a step gives: its logits or hidden state, or the token that was chosen after it.
  struct Row {
    std::span<const float> logits;
    std::optional<TokenId> chosen;
  };
  /// A token of one text: after which row, and what it is. Draws share nothing that they write.
  struct Draw {
    size_t item; ///< Of the step.
    ActiveRequest *owner;
    size_t choice;
    Row row;
    Result<TokenId> token;
  };
  bool describeSampling(const Step &step);
  Row rowOf(const StepOutput &output, size_t row) const;
  void takeRows(const Step::Item &item, Batch::Rows rows, const StepOutput &output);
  void collectDraws(const Step &step, const StepOutput &output);
  void sample();
  TokenId noteDraw(const Draw &draw, RequestId name, Clock::time_point now);
  void part(const Branch &branch);
  void endTexts(const Step &step);
  void fail(const Step &step, const Status &error);
  void failAll(const Status &error);
  void endSequence(RequestId sequence);
  void end(ActiveRequest &active);
  void tell(ActiveRequest &active);
  void deliver();
  void noteLoad();
  void record(const Step &step, StepRecord &record, Clock::time_point start);

  EngineParts parts;
  std::atomic<uint64_t> nextRequest{1};
  uint64_t nextSequence = 1;
  std::map<RequestId, std::unique_ptr<ActiveRequest>> requests; ///< In the order of arrival.
  std::set<RequestId> watched; ///< Those of them that may be found cancelled: thousands may wait and not be.
  std::unordered_map<RequestId, ActiveSequence> sequences; ///< By the scheduler's name.
  Batch batch;
  std::vector<Delivery> outbox;
  std::vector<RequestId> untold;              ///< Requests with tokens that were not told.
  std::optional<Clock::time_point> idleSince; ///< The device has had nothing to do though there was work.
  uint64_t stepNumber = 0;
  int failuresInARow = 0;
  Status status;
  // Work space of one step.
  std::vector<Draw> draws;
  std::vector<TokenEvent> events;
  std::vector<Branch> branches;
  std::vector<RowSampling> sampling;
  std::vector<double> tokenGaps; ///< Seconds.
  int64_t sampledTokens = 0;
};

} // namespace fusec::runtime
