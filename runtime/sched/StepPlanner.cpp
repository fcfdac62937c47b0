//===- StepPlanner.cpp -------------------------------------------------------===//

#include "runtime/sched/StepPlanner.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace fusec::runtime {

void StepPlanner::prepare() {
  isAhead = true;
  plan.isSettled = runPasses();
}

Step StepPlanner::finish() {
  dropUnknown();
  if (!plan.isSettled || plan.rows.empty())
    (void)runPasses();
  step.packed.reserve(static_cast<size_t>(state.options.tokenBudget - plan.tokensLeft)); // Items point into it.
  step.items.reserve(plan.rows.size());
  addItems(true);
  addItems(false);
  state.openPlan();
  if (!step.empty())
    begin();
  return std::move(step);
}

bool StepPlanner::runPasses() {
  openBatch();
  if (!serveFirst() || !decode())
    return false;
  prefill();
  return true;
}

/// The step before is not committed yet: what counts on its tokens is not in this one.
void StepPlanner::dropUnknown() {
  for (size_t i = plan.rows.size(); i-- > 0;)
    if (plan.rows[i].entry->awaitsToken)
      state.unplan(*plan.rows[i].entry);
}

/// A static batch has places for those that wait when the last one has ended.
void StepPlanner::openBatch() {
  if (state.options.staticBatches && state.running.empty())
    state.batchPlaces = std::min<int64_t>(static_cast<int64_t>(state.waiting.size()), state.options.maxSequences);
}

//===-- Pages ---------------------------------------------------------------===//

/// Room for as many of the next `count` tokens as pages are available; returns how many.
int64_t StepPlanner::secure(Entry &entry, int64_t count) {
  while (count > 0) {
    int32_t missing = kv.blocksToReserve(entry.sequence, entry.planned + count) - kv.availableBlocks();
    if (missing <= 0 && kv.reserve(entry.sequence, entry.planned + count).ok())
      return count;
    int64_t pages = kv.blocksFor(entry.planned + count) - std::max(missing, 1);
    count = pages * kv.pageTokens() - entry.planned;
  }
  return 0;
}

/// Room for one token, for which requests behind this one are preempted, the last first. A request that has nobody
/// behind it waits: it keeps its pages until one before it needs them. Nobody is preempted ahead: who ends in the step
/// before may leave the page.
bool StepPlanner::securePreempting(Entry &entry) {
  while (secure(entry, 1) == 0) {
    if (isAhead)
      return false;
    auto victim = std::find_if(state.running.rbegin(), state.running.rend(),
                               [&](Entry *other) { return other == &entry || other->inSteps == 0; });
    if (victim == state.running.rend() || *victim == &entry)
      return false;
    step.preempted.push_back((*victim)->id);
    state.preempt(**victim);
  }
  return true;
}

/// Pages that are available and that the running requests do not need for the tokens they have already: who starts must
/// not take them, or prompts half computed would preempt each other.
int32_t StepPlanner::spareBlocks() const {
  int64_t promised = 0;
  for (const Entry *entry : state.running)
    promised += std::max<int64_t>(0, kv.blocksFor(entry->nextPositions()) -
                                         static_cast<int64_t>(kv.blocks(entry->sequence).size()));
  return static_cast<int32_t>(kv.availableBlocks() - promised);
}

/// Pages that a start leaves for the growth of what runs; nothing when it will be alone.
int32_t StepPlanner::headroom() const {
  return state.running.empty() ? 0 : state.options.reserveBlocks + static_cast<int32_t>(state.running.size());
}

/// Another request may have computed the next tokens since.
void StepPlanner::skipCached(Entry &entry) {
  if (entry.inSteps == 0 && entry.inPlan == 0 && entry.usePrefix && entry.isPrefilling())
    state.skipTo(entry, kv.extendFromCache(entry.sequence, entry.cacheable()));
}

//===-- Running requests ----------------------------------------------------===//

/// False when it is to be left to finish().
bool StepPlanner::serveFirst() {
  if (state.running.empty())
    return true;
  Entry &first = *state.running.front();
  if (first.remaining() == 0 || first.inPlan > 0)
    return true;
  skipCached(first);
  return securePreempting(first) || !isAhead;
}

/// False when it is to be left to finish(): nobody behind a request that lacks a page may take one first.
bool StepPlanner::decode() {
  // Victims are behind the request that needs the page, so what was visited stays.
  for (size_t i = 0; i < state.running.size(); ++i) {
    Entry &entry = *state.running[i];
    const bool isExpected = isAhead && entry.willContinue();
    if (!(entry.isDecoding() || isExpected) || plan.tokensLeft == 0 || plan.rowsLeft == 0)
      continue;
    if (!securePreempting(entry)) {
      if (isAhead)
        return false;
      continue;
    }
    if (isExpected)
      expectToken(entry);
    record(entry, 1, false);
  }
  return true;
}

/// Its next token takes its place before it is known.
void StepPlanner::expectToken(Entry &entry) {
  entry.tokens.push_back(0);
  entry.awaitsToken = true;
}

//===-- Prompts -------------------------------------------------------------===//

bool StepPlanner::mayStart() const {
  return step.preempted.empty() && !state.waiting.empty() &&
         static_cast<int64_t>(state.running.size()) < state.options.maxSequences && spare > headroom();
}

const KvManager::Match &StepPlanner::matchOf(Candidate &candidate) const {
  const Entry &entry = *candidate.entry;
  if (!std::exchange(candidate.matched, true) && entry.usePrefix)
    candidate.match = kv.match(entry.scope, entry.cacheable());
  return candidate.match;
}

/// Running prompts come first, as they hold pages; then those that wait, in the policy's order. While one that waits is
/// urgent, no other starts: what runs ends some time, and leaves it the pages it needs.
void StepPlanner::collectCandidates() {
  for (Entry *entry : state.running)
    if (entry->isPrefilling())
      candidates.push_back({entry});
  if (!mayStart())
    return;
  if (Entry *urgent = state.waiting.urgent())
    candidates.insert(candidates.begin(), {urgent});
  else
    collectWaiting();
}

static bool hasLongerPrefix(const StepPlanner::Candidate &a, const StepPlanner::Candidate &b) {
  return a.match.tokens != b.match.tokens ? a.match.tokens > b.match.tokens : goesBefore(*a.entry, *b.entry);
}

static bool hasPriority(const StepPlanner::Candidate &a, const StepPlanner::Candidate &b) {
  bool aWaits = a.entry->state == RequestState::Waiting, bWaits = b.entry->state == RequestState::Waiting;
  if (a.entry->rank != b.entry->rank || aWaits == bWaits)
    return goesBefore(*a.entry, *b.entry);
  return bWaits;
}

void StepPlanner::collectWaiting() {
  const PolicyRow &policy = policyRow(state.options.policy);
  std::vector<Entry *> first;
  state.waiting.first(policy.window, first);
  size_t running = candidates.size();
  for (Entry *entry : first)
    candidates.push_back({entry});
  if (policy.byPrefix) {
    for (size_t i = running; i < candidates.size(); ++i)
      matchOf(candidates[i]);
    std::sort(candidates.begin() + static_cast<int64_t>(running), candidates.end(), hasLongerPrefix);
  }
  if (policy.byPriority)
    std::sort(candidates.begin(), candidates.end(), hasPriority);
}

void StepPlanner::prefill() {
  if (plan.tokensLeft == 0)
    return;
  spare = spareBlocks();
  collectCandidates();
  auto served = std::find_if(candidates.begin(), candidates.end(), [&](Candidate &candidate) {
    return give(candidate, (plan.tokensLeft + 1) / 2, false) > 0;
  });
  if (served == candidates.end())
    return;
  for (Candidate &candidate : candidates)
    if (&candidate != &*served)
      give(candidate, plan.tokensLeft, true);
  for (Candidate &candidate : candidates)
    give(candidate, plan.tokensLeft, false);
}

/// Starts a waiting request when a slot and pages for all tokens it has are there, and, for `whole`, if `most` tokens
/// complete its prompt.
bool StepPlanner::tryStart(Candidate &candidate, int64_t most, bool whole) {
  Entry &entry = *candidate.entry;
  if (candidate.blocked || static_cast<int64_t>(state.running.size()) >= state.options.maxSequences)
    return false;
  if (state.options.staticBatches && state.batchPlaces == 0)
    return false;
  const KvManager::Match &match = matchOf(candidate);
  if (whole && entry.total() - match.tokens > most)
    return false;
  int64_t needed = kv.blocksFor(entry.nextPositions()) - match.tokens / kv.pageTokens() + match.idleBlocks;
  candidate.blocked = spare - needed < headroom();
  if (candidate.blocked)
    return false;
  // A page that is copied comes back after the step: for want of it a chunk is cut, but no start is refused.
  spare -= static_cast<int32_t>(needed) + match.idleSources;
  state.start(entry);
  --state.batchPlaces;
  return true;
}

/// Tokens that fit the rows that are left.
int64_t StepPlanner::affordable(const Entry &entry) const {
  int64_t remaining = entry.remaining();
  if (entry.needsPromptRows())
    return entry.planned < entry.logitsPlanned ? entry.logitsPlanned - entry.planned
                                               : std::min(remaining, plan.rowsLeft);
  bool samples = entry.generated() < entry.maxTokens;
  return samples && plan.rowsLeft == 0 ? remaining - 1 : remaining;
}

/// Gives a candidate up to `most` tokens, or none unless they complete its prompt when `whole`. Returns how many.
int64_t StepPlanner::give(Candidate &candidate, int64_t most, bool whole) {
  Entry &entry = *candidate.entry;
  if (most == 0 || (entry.state == RequestState::Waiting && !tryStart(candidate, most, whole)))
    return 0;
  skipCached(entry);
  int64_t count = std::min(most, affordable(entry));
  if (whole && count < entry.remaining())
    return 0;
  bool allRows = entry.needsPromptRows() && entry.planned >= entry.logitsPlanned;
  if (const StepPlan::Row *row = rowOf(entry); row && row->allRows != allRows)
    return 0; // One item has rows for all its tokens, or for none.
  count = secure(entry, count);
  if (count > 0)
    record(entry, count, allRows);
  return std::max<int64_t>(count, 0);
}

/// Null when it has none yet.
StepPlan::Row *StepPlanner::rowOf(const Entry &entry) {
  if (entry.inPlan == 0)
    return nullptr;
  return &*std::find_if(plan.rows.begin(), plan.rows.end(), [&](const auto &row) { return row.entry == &entry; });
}

void StepPlanner::record(Entry &entry, int64_t count, bool allRows) {
  StepPlan::Row *row = rowOf(entry);
  if (!row)
    row = &plan.rows.emplace_back(&entry, entry.isDecoding(), allRows);
  entry.planned += count;
  entry.inPlan += count;
  if (allRows)
    entry.logitsPlanned = entry.planned;
  const bool samples = entry.remaining() == 0 && entry.generated() < entry.maxTokens;
  const int64_t outputRows = allRows ? count : samples;
  row->count += count;
  row->outputRows += outputRows;
  plan.tokensLeft -= count;
  plan.rowsLeft -= outputRows;
}

//===-- The step ------------------------------------------------------------===//

void StepPlanner::addItems(bool areDecode) {
  for (const StepPlan::Row &row : plan.rows)
    if (row.isDecode == areDecode)
      addItem(row);
}

void StepPlanner::addItem(const StepPlan::Row &row) {
  Entry &entry = *row.entry;
  Step::Item item;
  item.request = entry.id;
  item.sequence = entry.sequence;
  item.begin = entry.planned - row.count;
  item.sample = entry.remaining() == 0 && entry.generated() < entry.maxTokens;
  item.allRows = row.allRows;
  const size_t offset = step.packed.size();
  const auto from = entry.tokens.begin() + item.begin;
  step.packed.insert(step.packed.end(), from, from + row.count);
  item.tokens = {step.packed.data() + offset, static_cast<size_t>(row.count)};
  step.summary.outputRows += row.outputRows;
  (row.isDecode ? step.summary.decodeRows : step.summary.prefillTokens) += row.count;
  entry.inPlan = 0;
  ++entry.inSteps;
  step.items.push_back(item);
}

void StepPlanner::begin() {
  std::vector<SequenceId> named;
  named.reserve(step.items.size());
  for (const Step::Item &item : step.items)
    named.push_back(item.sequence);
  step.copies = kv.takeCopies();
  step.epoch = kv.beginStep(named);
  step.tokens = static_cast<int64_t>(step.packed.size());
  StepSummary &summary = step.summary;
  summary.epoch = step.epoch;
  summary.tokens = step.tokens;
  summary.sequences = static_cast<int64_t>(step.items.size());
  summary.running = static_cast<int64_t>(state.running.size());
  summary.waiting = static_cast<int64_t>(state.waiting.size());
  summary.preempted = static_cast<int64_t>(step.preempted.size());
  summary.ledger = kv.ledger();
}

} // namespace fusec::runtime
