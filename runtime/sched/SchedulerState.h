//===- SchedulerState.h - the requests of a scheduler and where they are --------===//
//
// What Scheduler (life of a request) and StepPlanner (one step) share. `running`
// is in order of goesBefore: the first is served first, the last preempted first.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/sched/Entry.h"
#include "runtime/sched/Scheduler.h"
#include "runtime/sched/StepPlan.h"
#include "runtime/sched/WaitingQueue.h"

#include <memory>
#include <unordered_map>
#include <vector>

namespace fusec::runtime {

struct SchedulerState {
  SchedulerState(KvManager &kv, SchedulerOptions options);

  Entry *find(RequestId id) const;
  /// A new request that waits.
  Entry &add(std::unique_ptr<Entry> entry);
  /// From waiting to running, on whatever prefix is cached.
  void start(Entry &entry);
  /// A running request goes on at `reached`: what it had not computed before was cached.
  void skipTo(Entry &entry, int64_t reached);
  /// From running back to waiting: gives up its pages.
  void preempt(Entry &entry);
  /// A forked sequence makes its request run.
  void adopt(Entry &entry, SequenceId sequence);
  /// From running to complete.
  void complete(Entry &entry);
  /// From anywhere to nowhere.
  void forget(Entry &entry);
  void setRank(Entry &entry) const;
  /// Begins to plan the next step.
  void openPlan();
  /// Takes back what the step that is being planned has for an entry; pages reserved for it stay.
  void unplan(Entry &entry);
  void unplanAll();

  KvManager &kv;
  SchedulerOptions options;
  std::unordered_map<RequestId, std::unique_ptr<Entry>> entries;
  WaitingQueue waiting;
  std::vector<Entry *> running;
  StepPlan plan;
  int64_t batchPlaces = 0; ///< Under staticBatches: requests that may still join the batch.
  SchedulerStats stats;
  uint64_t lastArrival = 0, lastSerial = 0;

private:
  void insertRunning(Entry &entry);
  void leaveRunning(Entry &entry);
};

} // namespace fusec::runtime
