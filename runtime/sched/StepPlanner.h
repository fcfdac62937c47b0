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
// Lives for one call of Scheduler::next.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/sched/SchedulerState.h"

#include <vector>

namespace fusec::runtime {

class StepPlanner {
public:
  explicit StepPlanner(SchedulerState &state);
  Step plan();

  /// Who may get prefill tokens.
  struct Candidate {
    Entry *entry;
    KvManager::Match match = {}; ///< Of a waiting one.
    bool matched = false;
    bool blocked = false; ///< Cannot start in this step.
  };

private:
  /// What a candidate got.
  struct Chunk {
    Entry *entry;
    int64_t count;
    bool allRows;
  };

  void openBatch();
  void serveFirst();
  void decode();
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
  void skipCached(Entry &entry);
  int32_t spareBlocks() const;
  int32_t headroom() const;

  void record(Entry &entry, int64_t count, bool allRows);
  void addItem(Entry &entry, int64_t count, bool allRows);
  void begin();

  SchedulerState &state;
  KvManager &kv;
  Step step;
  int64_t tokensLeft, rowsLeft;
  int32_t spare = 0; ///< Available pages that no running request is known to need.
  std::vector<Candidate> candidates;
  std::vector<Chunk> chunks;
};

} // namespace fusec::runtime
