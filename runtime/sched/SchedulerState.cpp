//===- SchedulerState.cpp ----------------------------------------------------===//

#include "runtime/sched/SchedulerState.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace fusec::runtime {

/// Every running request must get a token and a row in each step, or one of them could starve.
static SchedulerOptions normalized(SchedulerOptions options) {
  options.tokenBudget = std::max<int64_t>(options.tokenBudget, 1);
  if (options.maxOutputRows <= 0)
    options.maxOutputRows = options.tokenBudget;
  options.maxSequences =
      std::clamp<int64_t>(options.maxSequences, 1, std::min(options.tokenBudget, options.maxOutputRows));
  options.maxPassed = std::max<int64_t>(options.maxPassed, 0);
  options.reserveBlocks = std::max(options.reserveBlocks, 0);
  return options;
}

SchedulerState::SchedulerState(KvManager &kv, SchedulerOptions wanted)
    : kv(kv), options(normalized(wanted)), waiting(options.maxPassed) {
  openPlan();
}

Entry *SchedulerState::find(RequestId id) const {
  auto found = entries.find(id);
  return found == entries.end() ? nullptr : found->second.get();
}

void SchedulerState::setRank(Entry &entry) const {
  bool aged = entry.preemptions >= options.maxPreemptions;
  entry.rank = !policyRow(options.policy).byPriority ? 0 : aged ? INT64_MIN : entry.priority;
}

Entry &SchedulerState::add(std::unique_ptr<Entry> owned) {
  Entry &entry = *owned;
  entry.serial = ++lastSerial;
  setRank(entry);
  entries.emplace(entry.id, std::move(owned));
  waiting.add(entry);
  plan.isSettled = false;
  return entry;
}

void SchedulerState::start(Entry &entry) {
  waiting.start(entry);
  KvManager::Opened opened = kv.open(entry.scope, entry.cacheable(), entry.usePrefix);
  entry.sequence = opened.id;
  skipTo(entry, opened.cached);
  if (!std::exchange(entry.counted, true))
    stats.promptTokens += entry.promptTokens;
  insertRunning(entry);
}

/// What was computed before preemption does not count as found.
void SchedulerState::skipTo(Entry &entry, int64_t reached) {
  int64_t found = std::min(reached, entry.promptTokens) - std::min(entry.everComputed, entry.promptTokens);
  if (found > 0) {
    entry.cachedTokens += found;
    stats.cachedPromptTokens += found;
  }
  entry.planned = reached;
  entry.everComputed = std::max(entry.everComputed, reached);
}

void SchedulerState::adopt(Entry &entry, SequenceId sequence) {
  waiting.start(entry);
  entry.sequence = sequence;
  entry.planned = kv.length(sequence);
  insertRunning(entry);
}

void SchedulerState::insertRunning(Entry &entry) {
  entry.state = RequestState::Running;
  running.insert(std::upper_bound(running.begin(), running.end(), &entry, GoesBefore()), &entry);
}

void SchedulerState::leaveRunning(Entry &entry) {
  unplan(entry);
  plan.isSettled = false; // Pages and a place become free.
  kv.close(entry.sequence);
  entry.sequence = {};
  running.erase(std::find(running.begin(), running.end(), &entry));
}

void SchedulerState::openPlan() {
  plan.rows.clear();
  plan.tokensLeft = options.tokenBudget;
  plan.rowsLeft = options.maxOutputRows;
  plan.isSettled = false;
}

void SchedulerState::unplan(Entry &entry) {
  if (std::exchange(entry.awaitsToken, false))
    entry.tokens.pop_back();
  if (entry.inPlan == 0)
    return;
  auto row = std::find_if(plan.rows.begin(), plan.rows.end(), [&](const auto &row) { return row.entry == &entry; });
  assert(row != plan.rows.end() && row->count == entry.inPlan);
  plan.tokensLeft += row->count;
  plan.rowsLeft += row->outputRows;
  entry.planned -= std::exchange(entry.inPlan, 0);
  entry.logitsPlanned = std::min(entry.logitsPlanned, std::max(entry.logitsDone, entry.planned));
  plan.rows.erase(row);
  plan.isSettled = false;
}

void SchedulerState::unplanAll() {
  while (!plan.rows.empty())
    unplan(*plan.rows.back().entry);
}

void SchedulerState::preempt(Entry &entry) {
  assert(entry.inSteps == 0 && "its token would be lost");
  leaveRunning(entry);
  entry.state = RequestState::Waiting;
  entry.planned = 0;
  ++entry.preemptions;
  ++stats.preemptions;
  setRank(entry);
  waiting.add(entry);
}

void SchedulerState::complete(Entry &entry) {
  leaveRunning(entry);
  entry.state = RequestState::Complete;
}

void SchedulerState::forget(Entry &entry) {
  if (entry.state == RequestState::Waiting)
    waiting.remove(entry);
  if (entry.state == RequestState::Running)
    leaveRunning(entry);
  entries.erase(entry.id);
}

} // namespace fusec::runtime
