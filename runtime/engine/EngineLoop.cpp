//===- EngineLoop.cpp ----------------------------------------------------------===//

#include "runtime/engine/EngineLoop.h"

#include "runtime/base/Digest.h"

#include <algorithm>
#include <cassert>

namespace fusec::runtime {

namespace {

/// A device that fails this often in a row will not come back.
constexpr int fatalFailures = 3;
/// Takes the place of a token that was not sampled, until its sequence is closed.
constexpr TokenId noMatter = 0;

double seconds(EngineLoop::Clock::time_point from, EngineLoop::Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

/// What KV depends on besides the tokens.
CacheScope scopeOf(const std::string &modelDigest, const std::string &tenant) {
  const std::string digest = digestText(modelDigest + '\0' + tenant);
  return CacheScope{std::strtoull(digest.substr(0, 16).c_str(), nullptr, 16)};
}

} // namespace

//===----------------------------------------------------------------------===//
// Requests come
//===----------------------------------------------------------------------===//

Status EngineLoop::validate(const Request &request) const {
  if (parts.model.embedding && !request.embed)
    return unsupported("the artifact was compiled for embeddings (--embeddings) and generates no text");
  if (request.embed && !parts.model.embedding)
    return unsupported("the artifact was compiled to generate text and gives no embeddings: compile its model with "
                       "--embeddings");
  return request.validate(parts.model.vocabSize, parts.text.contextTokens, parts.maxSequences);
}

Status EngineLoop::add(RequestId id, Request request, std::shared_ptr<RequestListener> listener,
                       Clock::time_point submitted) {
  auto active =
      std::make_unique<ActiveRequest>(id, std::move(request), std::move(listener), submitted, parts.text.sampleableIds);
  if (active->request.embed)
    addEmbedding(*active);
  else
    FUSEC_RETURN_IF_ERROR(addChoices(*active));
  return start(std::move(active));
}

Status EngineLoop::addChoices(ActiveRequest &active) {
  for (int i = 0; i < active.request.numChoices(); ++i) {
    FUSEC_ASSIGN_OR_RETURN(Choice choice, Choice::create(parts.text, active.request, i));
    active.choices.push_back(std::move(choice));
  }
  return {};
}

void EngineLoop::addEmbedding(ActiveRequest &active) {
  EmbeddingPool &pool = active.embedding.emplace(*parts.model.embedding);
  active.evaluation = Evaluation{pool.needsAllRows(),
                                 [&pool](int64_t position, std::span<const float> row) { pool.add(position, row); }};
}

Status EngineLoop::addEvaluation(RequestId id, std::vector<TokenId> ids, Evaluation evaluation,
                                 std::shared_ptr<RequestListener> listener) {
  Request request;
  request.prompt = std::move(ids);
  auto active = std::make_unique<ActiveRequest>(id, std::move(request), std::move(listener), Clock::now(),
                                                parts.text.sampleableIds);
  active->evaluation = std::move(evaluation);
  return start(std::move(active));
}

Status EngineLoop::start(std::unique_ptr<ActiveRequest> active) {
  if (!status.ok())
    return unavailable("the engine is dead: " + status.message());
  const RequestId name = RequestId{nextSequence++};
  FUSEC_RETURN_IF_ERROR(parts.scheduler.admit(scheduled(*active, name)));
  sequences[name] = {active.get(), 0, 0, std::nullopt};
  active->sequences.push_back(name);
  const RequestId id = active->id;
  if (active->request.cancel)
    watched.insert(id);
  requests[id] = std::move(active);
  return {};
}

ScheduledRequest EngineLoop::scheduled(const ActiveRequest &active, RequestId sequence) const {
  const Request &request = active.request;
  const int64_t room = parts.text.contextTokens - static_cast<int64_t>(request.prompt.size());
  ScheduledRequest out;
  out.id = sequence;
  out.scope = scopeOf(parts.modelDigest, request.tenant);
  out.prompt = request.prompt;
  const int64_t wanted = active.evaluation ? 1 : request.maxTokens; // Of an evaluation: the last row.
  out.maxTokens = std::max<int64_t>(1, wanted < 0 ? room : std::min(room, wanted));
  out.priority = request.priority;
  // A position that is not computed has no logits.
  out.usePrefix = !active.evaluation && !request.skipPrefixCache && request.promptLogprobs < 0;
  out.wantsPromptLogits = active.evaluation ? active.evaluation->allRows : request.promptLogprobs >= 0;
  return out;
}

void EngineLoop::cancel(RequestId id) {
  if (auto found = requests.find(id); found != requests.end()) {
    found->second->cancelled = true;
    watched.insert(id);
  }
}

//===----------------------------------------------------------------------===//
// A step
//===----------------------------------------------------------------------===//

bool EngineLoop::step() {
  const Clock::time_point start = Clock::now();
  endCancelled();
  Step step = parts.scheduler.next();
  if (step.items.empty()) {
    if (!requests.empty())
      failAll(internalError("scheduler: requests are waiting and none can run"));
    idleSince.reset();
    noteLoad();
    deliver();
    return false;
  }
  StepRecord line;
  Result<StepOutput> output = run(step, line);
  if (output)
    finish(step, *output);
  else
    fail(step, output.status());
  record(step, line, start);
  if (requests.empty()) { // No step follows that the rest could be given beside.
    idleSince.reset();
    deliver();
  }
  return true;
}

Result<StepOutput> EngineLoop::run(const Step &step, StepRecord &line) {
  if (!parts.executor.samplesOnDevice() || !describeSampling(step))
    sampling.clear();
  const StepInput input = batch.build(step, parts.kv, sampling);
  const Clock::time_point started = Clock::now();
  if (idleSince)
    line.gapSeconds = seconds(*idleSince, started);
  Status launched = parts.executor.copyPages(step.copies);
  if (launched.ok())
    launched = parts.executor.launch(input);
  const Clock::time_point beside = Clock::now();
  workBeside(step, started);
  if (!launched.ok())
    return launched;
  const Clock::time_point waiting = Clock::now();
  Result<StepOutput> output = parts.executor.wait();
  idleSince = Clock::now();
  line.executorSeconds = seconds(started, beside) + seconds(waiting, *idleSince);
  return output;
}

/// All that no launch has to wait for.
void EngineLoop::workBeside(const Step &step, Clock::time_point launched) {
  begin(step, launched);
  for (RequestId id : std::exchange(untold, {}))
    if (auto found = requests.find(id); found != requests.end())
      tell(*found->second);
  deliver();
  parts.scheduler.prepare();
}

/// Notes who takes part, and who lost its pages for it.
void EngineLoop::begin(const Step &step, Clock::time_point now) {
  for (RequestId name : step.preempted)
    if (auto found = sequences.find(name); found != sequences.end())
      found->second.owner->trace.preempt();
  int64_t prompts = 0, found = 0;
  for (const Step::Item &item : step.items) {
    ActiveSequence &sequence = sequences.at(item.request);
    RequestTrace &trace = sequence.owner->trace;
    const int64_t prompt = static_cast<int64_t>(sequence.owner->request.prompt.size());
    if (!trace.started()) {
      trace.start(now);
      prompts += prompt;
    }
    trace.join(stepNumber + 1, static_cast<int64_t>(step.items.size()));
    // What is passed over without having been computed is cached.
    const int64_t passed = std::max<int64_t>(0, std::min(item.begin, prompt) - sequence.known);
    trace.find(passed);
    found += passed;
    sequence.known = std::max(sequence.known, item.begin);
  }
  parts.monitor.update([&](EngineStats &stats) {
    stats.counters[Counter::PromptTokens] += prompts;
    stats.counters[Counter::PrefixQueries] += prompts;
    stats.counters[Counter::CachedPromptTokens] += found;
    stats.counters[Counter::PrefixHits] += found;
  });
}

void EngineLoop::finish(const Step &step, const StepOutput &output) {
  failuresInARow = 0;
  std::vector<TokenId> tokens(step.items.size(), noMatter);
  for (size_t i = 0; i < step.items.size(); ++i)
    takeRows(step.items[i], batch.rows(i), output);
  collectDraws(step, output);
  sample();
  const Clock::time_point now = Clock::now();
  for (const Draw &draw : draws) {
    const RequestId name = step.items[draw.item].request;
    const TokenId token = noteDraw(draw, name, now);
    if (draw.choice == sequences.at(name).choice)
      tokens[draw.item] = token;
    else if (!draw.owner->choices[draw.choice].finished())
      branches.push_back({name, draw.choice, token});
  }
  parts.scheduler.commit(step, tokens);
  for (const Branch &branch : std::exchange(branches, {}))
    part(branch);
  endTexts(step);
}

/// Reports the logits of one item.
void EngineLoop::takeRows(const Step::Item &item, Batch::Rows rows, const StepOutput &output) {
  ActiveSequence &sequence = sequences.at(item.request);
  ActiveRequest &owner = *sequence.owner;
  const int64_t end = item.begin + static_cast<int64_t>(item.tokens.size());
  owner.trace.compute(item.begin, end, sequence.known);
  sequence.known = std::max(sequence.known, end);
  for (size_t i = 0; i < rows.count; ++i) {
    const int64_t position = end - static_cast<int64_t>(rows.count - i);
    if (owner.evaluation)
      owner.evaluation->visit(position, rowOf(output, rows.first + i).logits);
    else if (item.allRows)
      owner.prompt.add(owner.request, position, rowOf(output, rows.first + i).logits);
  }
  if (item.sample && owner.evaluation)
    owner.evaluated = true;
}

EngineLoop::Row EngineLoop::rowOf(const StepOutput &output, size_t row) const {
  const size_t width = static_cast<size_t>(parts.model.rowWidth());
  if (!output.choices.empty())
    return {{}, output.choices[row]};
  return {output.logits.subspan(row * width, width), std::nullopt};
}

/// Fills in how the device is to choose; false when a row of the step needs its logits here.
bool EngineLoop::describeSampling(const Step &step) {
  sampling.clear();
  for (const Step::Item &item : step.items) {
    const ActiveSequence &sequence = sequences.at(item.request);
    const ActiveRequest &owner = *sequence.owner;
    if (owner.evaluation || item.allRows)
      return false;
    if (!item.sample)
      continue;
    const bool isShared = owner.choices.size() > 1 && owner.choices[sequence.choice].sampled() == 0;
    const std::optional<RowSampling> row = isShared ? std::nullopt : owner.choices[sequence.choice].rowSampling();
    if (!row)
      return false;
    sampling.push_back(*row);
  }
  return true;
}

void EngineLoop::collectDraws(const Step &step, const StepOutput &output) {
  draws.clear();
  for (size_t i = 0; i < step.items.size(); ++i) {
    const ActiveSequence &sequence = sequences.at(step.items[i].request);
    ActiveRequest &owner = *sequence.owner;
    if (!step.items[i].sample || owner.evaluation || owner.isCancelled())
      continue;
    const Batch::Rows rows = batch.rows(i);
    const Row row = rowOf(output, rows.first + rows.count - 1);
    draws.push_back({i, &owner, sequence.choice, row, noMatter});
    // All texts of a request part after its prompt.
    const bool isFirst = owner.choices[sequence.choice].sampled() == 0;
    for (size_t other = 1; isFirst && other < owner.choices.size(); ++other)
      draws.push_back({i, &owner, other, row, noMatter});
  }
}

void EngineLoop::sample() {
  auto choose = [&](int64_t i) {
    Draw &draw = draws[static_cast<size_t>(i)];
    Choice &text = draw.owner->choices[draw.choice];
    draw.token = draw.row.chosen ? text.accept(*draw.row.chosen) : text.next(draw.row.logits);
  };
  const bool areChosen = std::ranges::all_of(draws, [](const Draw &draw) { return draw.row.chosen.has_value(); });
  if (draws.size() > 1 && !areChosen)
    return parts.executor.forEach(static_cast<int64_t>(draws.size()), choose);
  for (size_t i = 0; i < draws.size(); ++i)
    choose(static_cast<int64_t>(i));
}

/// What a draw means for its request; the token that follows.
TokenId EngineLoop::noteDraw(const Draw &draw, RequestId name, Clock::time_point now) {
  ActiveRequest &owner = *draw.owner;
  if (ActiveSequence &sequence = sequences.at(name); draw.choice == sequence.choice) {
    untold.push_back(owner.id);
    if (sequence.lastToken)
      tokenGaps.push_back(seconds(*sequence.lastToken, now));
    sequence.lastToken = now;
  }
  if (!draw.token) {
    owner.status = draw.token.status();
    return noMatter;
  }
  if (*draw.token == TokenEvent::noToken)
    return noMatter;
  ++sampledTokens;
  owner.trace.sample(now);
  return *draw.token;
}

/// Gives a text a sequence of its own.
void EngineLoop::part(const Branch &branch) {
  ActiveRequest &owner = *sequences.at(branch.from).owner;
  if (!owner.status.ok())
    return;
  const RequestId name = RequestId{nextSequence++};
  if (Status forked = parts.scheduler.fork(branch.from, name, branch.token); !forked.ok()) {
    owner.status = forked;
    return;
  }
  sequences[name] = {&owner, branch.choice, static_cast<int64_t>(owner.request.prompt.size()), Clock::now()};
  owner.sequences.push_back(name);
}

//===----------------------------------------------------------------------===//
// Requests end
//===----------------------------------------------------------------------===//

void EngineLoop::endCancelled() {
  for (auto next = watched.begin(); next != watched.end();) {
    ActiveRequest &active = *requests.at(*next++);
    if (active.isCancelled())
      end(active);
  }
}

/// Closes the texts that the step completed, and the requests that have no other.
void EngineLoop::endTexts(const Step &step) {
  for (const Step::Item &item : step.items) {
    auto found = sequences.find(item.request);
    if (found == sequences.end()) // It went with its request.
      continue;
    ActiveRequest &owner = *found->second.owner;
    if (owner.hasEnded() || owner.isCancelled())
      end(owner);
    else if (owner.choices.size() > 1 && owner.choices[found->second.choice].finished())
      endSequence(item.request);
  }
}

void EngineLoop::endSequence(RequestId name) {
  parts.scheduler.finish(name);
  std::erase(sequences.at(name).owner->sequences, name);
  sequences.erase(name);
}

void EngineLoop::end(ActiveRequest &active) {
  while (!active.sequences.empty())
    endSequence(active.sequences.back());
  tell(active);
  const Clock::time_point now = Clock::now();
  auto outcome = std::make_unique<RequestOutcome>(active.outcome(now));
  if (!active.evaluation || active.embedding) // Others are no requests of a user's.
    parts.monitor.update([&](EngineStats &stats) {
      active.trace.observe(stats, active.request, now);
      ++stats.finished[static_cast<size_t>(active.endOf(*outcome))];
      stats.counters[Counter::RecomputedTokens] += outcome->explanation.recomputedTokens;
    });
  outbox.push_back({active.listener, {}, std::move(outcome)});
  watched.erase(active.id);
  requests.erase(active.id);
}

void EngineLoop::fail(const Step &step, const Status &error) {
  parts.scheduler.abandon(step);
  parts.monitor.update([](EngineStats &stats) { ++stats.counters[Counter::FailedSteps]; });
  for (const Step::Item &item : step.items)
    if (auto found = sequences.find(item.request); found != sequences.end()) {
      found->second.owner->status = error.withContext("step " + std::to_string(stepNumber + 1));
      end(*found->second.owner);
    }
  if (++failuresInARow < fatalFailures)
    return;
  status = error;
  failAll(error.withContext("the device has failed"));
}

void EngineLoop::failAll(const Status &error) {
  while (!requests.empty()) {
    ActiveRequest &active = *requests.begin()->second;
    active.status = error;
    end(active);
  }
}

/// Makes the text of what was sampled, for its listener.
void EngineLoop::tell(ActiveRequest &active) {
  events.clear();
  for (Choice &choice : active.choices)
    choice.tell(events);
  if (active.streams())
    for (TokenEvent &event : events)
      outbox.push_back({active.listener, std::move(event), nullptr});
}

void EngineLoop::deliver() {
  for (Delivery &delivery : std::exchange(outbox, {}))
    if (delivery.outcome)
      delivery.to->onDone(*delivery.outcome);
    else
      delivery.to->onToken(delivery.event);
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

void EngineLoop::record(const Step &step, StepRecord &line, Clock::time_point start) {
  line.number = ++stepNumber;
  line.at = parts.monitor.secondsAt(start);
  line.tokens = static_cast<int32_t>(step.tokens);
  line.rows = static_cast<int32_t>(batch.numRows());
  line.sequences = static_cast<int32_t>(step.items.size());
  line.preempted = static_cast<int32_t>(step.preempted.size());
  line.prefillTokens = static_cast<int32_t>(step.summary.prefillTokens);
  line.pool = step.summary.ledger;
  line.seconds = seconds(start, Clock::now());
  line.waiting = static_cast<int32_t>(step.summary.waiting);
  parts.monitor.record(line);
  noteLoad();
  parts.monitor.update([&](EngineStats &stats) {
    stats.counters[Counter::GenerationTokens] += sampledTokens;
    stats.counters[Counter::Preemptions] += line.preempted;
    stats.graphs = parts.executor.graphStats();
    for (double gap : tokenGaps)
      stats.histograms.observe(Measure::InterTokenLatency, gap);
  });
  tokenGaps.clear();
  sampledTokens = 0;
}

void EngineLoop::noteLoad() {
  const Ledger pool = parts.kv.ledger();
  const SchedulerStats load = parts.scheduler.stats();
  parts.monitor.update([&](EngineStats &stats) {
    stats.waiting = load.waiting;
    stats.running = load.running;
    stats.pool = pool;
    stats.hasWork = !requests.empty();
  });
}

} // namespace fusec::runtime
