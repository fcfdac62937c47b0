//===- Scheduler.h - which tokens of which requests the next step computes ------===//
//
//   KvManager kv({.totalBlocks = pages, .pageTokens = 64});
//   Scheduler scheduler(kv, {.tokenBudget = 256, .maxSequences = 16, .contextTokens = 4096});
//   scheduler.admit({.id = RequestId{1}, .prompt = ids, .maxTokens = 100});
//   for (Step step = scheduler.next(); !step.empty(); step = scheduler.next()) {
//     ...                                     // step.copies, then step.items on the device; sample
//     scheduler.commit(step, sampled);        // Then fork and finish as the tokens ask for.
//   }
//
// Every step holds one token of every running request (decode) and, in what the
// budget leaves, chunks of prompts. Pages are taken as tokens need them; when
// they run out, the last request in the policy's order is preempted: it gives
// its pages back, waits, and computes its tokens again. Whatever is admitted
// finishes (Admission.h, docs/serving/scheduler.md).
//
// Several steps may be planned before the first is committed; they are committed
// in order. A request whose next token is not known yet is not in the later one.
// It may be prepared for it, though:
//
//   Step step = scheduler.next();           // On the device.
//   scheduler.prepare();                    // While it runs: who is in the next one, and its pages.
//   scheduler.commit(step, sampled);        // Then fork and finish.
//   step = scheduler.next();                // The rest: tokens are filled in, who ended is left out.
//
// Deterministic: no clock, no randomness. Knows ids, token counts and the
// KvManager, which it borrows; no text, no device. Threading: none; one owner.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/kv/KvManager.h"
#include "runtime/sched/Admission.h"
#include "runtime/sched/Entry.h"
#include "runtime/sched/Policy.h"
#include "runtime/sched/Step.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace fusec::runtime {

struct SchedulerOptions {
  int64_t tokenBudget = 256;    ///< Most tokens of a step.
  int64_t maxSequences = 16;    ///< Most running requests; also limited by the two around it.
  int64_t maxOutputRows = 0;    ///< Most rows of a step that give logits; 0: as many as tokens.
  int64_t contextTokens = 4096; ///< Most tokens of a request.
  Policy policy = Policy::Fcfs;
  /// Request-level batching, to compare with: those that wait start together, when all before them have ended.
  bool staticBatches = false;
  int64_t maxPassed = 64;     ///< Requests started past a waiting one before it goes first.
  int32_t reserveBlocks = 0;  ///< Pages a start must leave free, besides one for each running request.
  int32_t maxPreemptions = 4; ///< Under Policy::Priority: preempted so often, a request goes before all others.
};

/// Since the start.
struct SchedulerStats {
  int64_t admitted = 0, finished = 0, forked = 0, preemptions = 0;
  int64_t steps = 0, computedTokens = 0;
  int64_t recomputedTokens = 0;     ///< Computed again after preemption.
  int64_t promptTokens = 0;         ///< Of started requests; a request counts once, however often it is preempted ...
  int64_t cachedPromptTokens = 0;   ///< ... and so do the tokens it found cached.
  int64_t waiting = 0, running = 0; ///< Now.
};

/// One request, for metrics, explanations and the live view.
struct RequestView {
  RequestId id{};
  RequestState state{};
  int64_t promptTokens = 0, generated = 0, maxTokens = 0;
  int64_t planned = 0;      ///< Tokens whose KV is there or on its way.
  int64_t cachedTokens = 0; ///< Prompt tokens found cached.
  int64_t computed = 0;     ///< Tokens computed, with those computed again.
  int32_t preemptions = 0;
  int64_t pages = 0;
};

struct SchedulerState;

class Scheduler {
public:
  /// `kv` must outlive the scheduler, which is its only user.
  Scheduler(KvManager &kv, SchedulerOptions options);
  Scheduler(Scheduler &&) noexcept;
  ~Scheduler();

  /// Errors as for proveAdmission, and InvalidArgument for an id in use; nothing is kept then.
  Status admit(ScheduledRequest request);

  /// Plans what is known already of the step that next() will give. Requests whose token an unfinished step gives are
  /// planned as if they went on. Preempts nobody, and stops where that would be needed. Costs next() nothing: who ends
  /// or forks meanwhile gives what was planned for it back.
  void prepare();

  /// Plans and begins the next step. Empty when nothing can run now: nothing is admitted, or all that runs is in steps
  /// that are not committed.
  Step next();

  /// The step was computed; `tokens[i]` continues items[i] where it samples, and is ignored elsewhere. Requests that
  /// finished meanwhile are skipped. One that has all its tokens gives its pages back at once.
  void commit(const Step &step, std::span<const TokenId> tokens);

  /// The step failed: its requests are as before it, and may be finished or tried again. Steps planned after it must
  /// be abandoned too, in their order.
  void abandon(const Step &step);

  /// Forgets a request, in any state: done, stopped or cancelled. Unknown ids are ignored.
  void finish(RequestId id);

  /// `to` continues like `from`, with `token` in place of from's last one: on the same pages if it can start at once,
  /// else it waits like a new request of from's age. InvalidArgument when `from` has no token yet or is in a step,
  /// when `to` is in use; NotFound for an unknown `from`.
  Status fork(RequestId from, RequestId to, TokenId token);

  SchedulerStats stats() const;
  /// Empty state for an unknown id.
  RequestView view(RequestId id) const;
  std::vector<RequestView> views() const;
  bool hasWork() const; ///< Requests wait or run.
  const SchedulerOptions &options() const;

private:
  std::unique_ptr<SchedulerState> state;
};

} // namespace fusec::runtime
