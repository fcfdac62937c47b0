//===- StepPlanner.h - one step: who gets tokens, rows and pages ----------------===//
//
// In this order:
//   1. The first running request gets the page of its next token, whoever must
//      be preempted for it: so every step brings it forward.
//   2. Decode: one token of each running request that continues its answer.
//      Without a page for one, the last running request is preempted.
//   3. Prefill, with the tokens that are left: half of them, or what it needs,
//      for the first prompt; then prompts that fit entirely, so that short ones
//      do not wait for long ones; then whatever is left for all in order.
//      Waiting requests are started in this pass.
//
// prepare() goes as far as it can while a step runs; plan() does the same again
// from the start: what has a row already is passed over.
//
// Lives for one call of Scheduler::prepare or next.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/sched/SchedulerState.h"

#include <vector>

namespace fusec::runtime {

class StepPlanner {
public:
  explicit StepPlanner(SchedulerState &state) : state(state), kv(state.kv), plan(state.plan) {}
  void prepare();
  Step finish();

  /// Who may get prefill tokens.
  struct Candidate {
    Entry *entry;
    KvManager::Match match = {}; ///< Of a waiting one.
    bool matched = false;
    bool blocked = false; ///< Cannot start in this step.
  };

private:
  /// False when preparing ends early: a request lacks a page.
  bool runPasses();
  void openBatch();
  bool serveFirst();
  bool decode();
  void prefill();

  void collectCandidates();
  void collectWaiting();
  bool mayStart() const;
  const KvManager::Match &matchOf(Candidate &candidate) const;

  int64_t give(Candidate &candidate, int64_t most, bool whole);
  bool tryStart(Candidate &candidate, int64_t most, bool whole);
  int64_t affordable(const Entry &entry) const;
  int64_t secure(Entry &entry, int64_t count);
  bool securePreempting(Entry &entry);
  void expectToken(Entry &entry);
  void skipCached(Entry &entry);
  int32_t spareBlocks() const;
  int32_t headroom() const;

  StepPlan::Row *rowOf(const Entry &entry);
  void record(Entry &entry, int64_t count, bool allRows);
  void dropUnknown();
  void addItems(bool areDecode);
  void addItem(const StepPlan::Row &row);
  void begin();

  SchedulerState &state;
  KvManager &kv;
  StepPlan &plan;
  Step step;
  bool isAhead = false; ///< Preparing: tokens of the step before are not known.
  int32_t spare = 0;    ///< Available pages that no running request is known to need.
  std::vector<Candidate> candidates;
};

} // namespace fusec::runtime
