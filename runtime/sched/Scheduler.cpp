//===- Scheduler.cpp - the life of a request -----------------------------------===//

#include "runtime/sched/Scheduler.h"

#include "runtime/sched/SchedulerState.h"
#include "runtime/sched/StepPlanner.h"

#include <cassert>
#include <string>
#include <utility>

namespace fusec::runtime {

Scheduler::Scheduler(KvManager &kv, SchedulerOptions options) : state(std::make_unique<SchedulerState>(kv, options)) {}
Scheduler::Scheduler(Scheduler &&) noexcept = default;
Scheduler::~Scheduler() = default;

static Status requireUnused(const SchedulerState &state, RequestId id) {
  return !state.find(id)
             ? Status()
             : invalidArgument("request " + std::to_string(static_cast<uint64_t>(id)) + " is known already");
}

Status Scheduler::admit(ScheduledRequest request) {
  FUSEC_RETURN_IF_ERROR(requireUnused(*state, request.id));
  FUSEC_RETURN_IF_ERROR(proveAdmission(request, state->kv, state->options.contextTokens));
  auto entry = std::make_unique<Entry>();
  entry->id = request.id;
  entry->scope = request.scope;
  entry->priority = request.priority;
  entry->usePrefix = request.usePrefix;
  entry->wantsPromptLogits = request.wantsPromptLogits;
  entry->promptTokens = static_cast<int64_t>(request.prompt.size());
  entry->maxTokens = request.maxTokens;
  entry->tokens = std::move(request.prompt);
  entry->arrival = ++state->lastArrival;
  state->add(std::move(entry));
  ++state->stats.admitted;
  return {};
}

void Scheduler::prepare() { StepPlanner(*state).prepare(); }

Step Scheduler::next() {
  Step step = StepPlanner(*state).finish();
#ifndef NDEBUG
  Status balanced = state->kv.check();
  assert(balanced.ok() && "the ledger balances at every step");
#endif
  return step;
}

/// The entry an item was planned for, unless it has finished since.
static Entry *entryOf(const SchedulerState &state, const Step::Item &item) {
  Entry *entry = state.find(item.request);
  bool same = entry && entry->state == RequestState::Running && entry->sequence == item.sequence;
  return same ? entry : nullptr;
}

static void commitItem(SchedulerState &state, Entry &entry, const Step::Item &item, TokenId token) {
  state.kv.append(entry.sequence, item.tokens);
  --entry.inSteps;
  int64_t count = static_cast<int64_t>(item.tokens.size());
  int64_t again = std::clamp<int64_t>(entry.everComputed - item.begin, 0, count);
  entry.computed += count;
  entry.everComputed = std::max(entry.everComputed, item.end());
  state.stats.computedTokens += count;
  state.stats.recomputedTokens += again;
  if (item.allRows)
    entry.logitsDone = item.end();
  bool reachedEnd = item.end() == entry.total();
  if (item.sample && std::exchange(entry.awaitsToken, false))
    entry.tokens.back() = token;
  else if (item.sample)
    entry.tokens.push_back(token);
  if (reachedEnd && entry.generated() >= entry.maxTokens)
    state.complete(entry);
}

void Scheduler::commit(const Step &step, std::span<const TokenId> tokens) {
  assert(tokens.size() >= step.items.size() && "one token per item");
  if (step.empty())
    return;
  state->kv.finishStep(step.epoch);
  ++state->stats.steps;
  for (size_t i = 0; i < step.items.size(); ++i)
    if (Entry *entry = entryOf(*state, step.items[i]))
      commitItem(*state, *entry, step.items[i], tokens[i]);
}

void Scheduler::abandon(const Step &step) {
  if (step.empty())
    return;
  state->unplanAll(); // It counted on this one.
  state->kv.returnCopies(step.copies);
  state->kv.finishStep(step.epoch);
  for (const Step::Item &item : step.items)
    if (Entry *entry = entryOf(*state, item)) {
      --entry->inSteps;
      entry->planned = std::min(entry->planned, item.begin);
      entry->logitsPlanned = std::min(entry->logitsPlanned, std::max(entry->logitsDone, item.begin));
    }
}

void Scheduler::finish(RequestId id) {
  if (Entry *entry = state->find(id)) {
    state->forget(*entry);
    ++state->stats.finished;
  }
}

Status Scheduler::fork(RequestId from, RequestId to, TokenId token) {
  FUSEC_RETURN_IF_ERROR(requireUnused(*state, to));
  Entry *parent = state->find(from);
  if (!parent)
    return notFound("request " + std::to_string(static_cast<uint64_t>(from)) + " is unknown");
  if (parent->generated() < 1 || parent->inSteps > 0)
    return invalidArgument("fork: expected a request with a token and in no step, found one with " +
                           std::to_string(parent->generated()) + " tokens in " + std::to_string(parent->inSteps) +
                           " steps");
  state->unplan(*parent); // What it had reserved must be reserved again.
  auto owned = std::make_unique<Entry>(*parent);
  owned->id = to;
  owned->tokens.back() = token;
  owned->state = RequestState::Waiting;
  owned->preemptions = 0;
  owned->computed = 0;
  Entry &child = state->add(std::move(owned));
  ++state->stats.forked;
  if (parent->state == RequestState::Complete) {
    state->waiting.remove(child);
    child.state = RequestState::Complete;
  } else if (parent->state == RequestState::Running &&
             static_cast<int64_t>(state->running.size()) < state->options.maxSequences) {
    state->adopt(child, state->kv.fork(parent->sequence));
  } else {
    child.planned = 0;
  }
  return {};
}

//===-- Views ---------------------------------------------------------------===//

SchedulerStats Scheduler::stats() const {
  SchedulerStats stats = state->stats;
  stats.waiting = static_cast<int64_t>(state->waiting.size());
  stats.running = static_cast<int64_t>(state->running.size());
  return stats;
}

static RequestView viewOf(const SchedulerState &state, const Entry &entry) {
  bool runs = entry.state == RequestState::Running;
  return {entry.id,           entry.state,
          entry.promptTokens, entry.generated() - entry.awaitsToken,
          entry.maxTokens,    entry.planned,
          entry.cachedTokens, entry.computed,
          entry.preemptions,  runs ? static_cast<int64_t>(state.kv.blocks(entry.sequence).size()) : 0};
}

RequestView Scheduler::view(RequestId id) const {
  const Entry *entry = state->find(id);
  return entry ? viewOf(*state, *entry) : RequestView{};
}

std::vector<RequestView> Scheduler::views() const {
  std::vector<RequestView> views;
  views.reserve(state->entries.size());
  for (const auto &[id, entry] : state->entries)
    views.push_back(viewOf(*state, *entry));
  return views;
}

bool Scheduler::hasWork() const { return !state->waiting.empty() || !state->running.empty(); }

const SchedulerOptions &Scheduler::options() const { return state->options; }

} // namespace fusec::runtime
