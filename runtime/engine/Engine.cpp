//===- Engine.cpp - composition ----------------------------------------------===//

#include "runtime/engine/Engine.h"

#include "runtime/engine/EngineState.h"
#include "runtime/engine/LogSoftmax.h"

#include <optional>

namespace fusec::runtime {

namespace {

/// Ids to evaluate, as opposed to generate from: they may fill the whole context.
Status checkIds(const EngineState &state, std::span<const TokenId> ids, size_t least) {
  if (state.artifact.manifest.model.embedding)
    return unsupported("the artifact was compiled for embeddings (--embeddings) and gives no logits");
  int64_t vocab = state.artifact.manifest.model.vocabSize;
  if (ids.size() < least || static_cast<int64_t>(ids.size()) > state.options.contextTokens)
    return invalidArgument("expected " + std::to_string(least) + " to " + std::to_string(state.options.contextTokens) +
                           " tokens, found " + std::to_string(ids.size()));
  for (size_t i = 0; i < ids.size(); ++i)
    if (ids[i] < 0 || ids[i] >= vocab)
      return invalidArgument("ids[" + std::to_string(i) + "]: expected a token id from 0 to " +
                             std::to_string(vocab - 1) + ", found " + std::to_string(ids[i]));
  return {};
}

/// Hears of a request that the caller runs to its end.
class Outcome final : public RequestListener {
public:
  explicit Outcome(const TokenCallback &onToken = {}) : callback(onToken) {}

  void onToken(const TokenEvent &event) override {
    if (callback && !callback(event) && cancel)
      cancel();
  }
  void onDone(const RequestOutcome &outcome) override { result = outcome; }

  const TokenCallback &callback;
  std::function<void()> cancel;
  std::optional<RequestOutcome> result;
};

/// Steps until `outcome` has its result.
void runUntil(EngineLoop &loop, const Outcome &outcome) {
  while (!outcome.result)
    (void)loop.step(); // What cannot run ends with an error.
}

Status evaluate(EngineState &state, std::span<const TokenId> ids, Evaluation evaluation) {
  auto outcome = std::make_shared<Outcome>();
  FUSEC_RETURN_IF_ERROR(
      state.loop->addEvaluation(state.loop->newId(), {ids.begin(), ids.end()}, std::move(evaluation), outcome));
  runUntil(*state.loop, *outcome);
  return outcome->result->status;
}

} // namespace

Engine::Engine(std::unique_ptr<EngineState> loaded) : state(std::move(loaded)) {}
Engine::~Engine() = default;

Result<std::unique_ptr<Engine>> Engine::create(const EngineOptions &options) {
  FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<EngineState> state, EngineState::load(options));
  return std::unique_ptr<Engine>(new Engine(std::move(state)));
}

const ModelInfo &Engine::model() const { return state->artifact.manifest.model; }
const text::Tokenizer &Engine::tokenizer() const { return state->tokenizer; }
const text::ChatTemplate *Engine::chatTemplate() const { return state->chatTemplate ? &*state->chatTemplate : nullptr; }
const MemoryPlan &Engine::memory() const { return state->memory; }
const EngineOptions &Engine::options() const { return state->options; }
const ExecutorInfo &Engine::executorInfo() const { return state->executor->info(); }
GraphStats Engine::graphStats() const { return state->executor->graphStats(); }
std::span<const TokenId> Engine::endIds() const { return state->endIds; }

Result<Generation> Engine::generate(const Request &request, const TokenCallback &onToken) {
  auto outcome = std::make_shared<Outcome>(onToken);
  FUSEC_ASSIGN_OR_RETURN(RequestId id, submit(request, outcome));
  outcome->cancel = [this, id] { cancel(id); };
  runUntil(*state->loop, *outcome);
  FUSEC_RETURN_IF_ERROR(outcome->result->status);
  return std::move(outcome->result->choices.front());
}

Result<std::vector<float>> Engine::embed(std::span<const TokenId> ids) {
  Request request;
  request.prompt.assign(ids.begin(), ids.end());
  request.embed = true;
  auto outcome = std::make_shared<Outcome>();
  FUSEC_RETURN_IF_ERROR(submit(std::move(request), outcome).status());
  runUntil(*state->loop, *outcome);
  FUSEC_RETURN_IF_ERROR(outcome->result->status);
  return std::move(outcome->result->embedding);
}

Status Engine::validate(const Request &request) const { return state->loop->validate(request); }
RequestId Engine::newRequestId() { return state->loop->newId(); }

Status Engine::add(RequestId id, Request request, std::shared_ptr<RequestListener> listener,
                   std::chrono::steady_clock::time_point submitted) {
  return state->loop->add(id, std::move(request), std::move(listener), submitted);
}

Result<RequestId> Engine::submit(Request request, std::shared_ptr<RequestListener> listener) {
  FUSEC_RETURN_IF_ERROR(validate(request));
  const RequestId id = newRequestId();
  FUSEC_RETURN_IF_ERROR(add(id, std::move(request), std::move(listener), std::chrono::steady_clock::now()));
  return id;
}

void Engine::cancel(RequestId id) { state->loop->cancel(id); }
bool Engine::step() { return state->loop->step(); }
bool Engine::hasWork() const { return state->loop->hasWork(); }
const Status &Engine::health() const { return state->loop->health(); }
EngineStats Engine::stats() const { return state->monitor.snapshot(); }

Result<std::vector<float>> Engine::logits(std::span<const TokenId> ids, LogitRows rows) {
  FUSEC_RETURN_IF_ERROR(checkIds(*state, ids, 1));
  std::vector<float> values;
  Evaluation evaluation;
  evaluation.allRows = rows == LogitRows::All;
  evaluation.visit = [&](int64_t position, std::span<const float> row) {
    values.resize(evaluation.allRows ? static_cast<size_t>(position) * row.size() : 0);
    values.insert(values.end(), row.begin(), row.end());
  };
  FUSEC_RETURN_IF_ERROR(evaluate(*state, ids, evaluation));
  return values;
}

Result<std::vector<double>> Engine::logprobs(std::span<const TokenId> ids) {
  FUSEC_RETURN_IF_ERROR(checkIds(*state, ids, 2));
  std::vector<double> values(ids.size() - 1);
  auto visit = [&](int64_t position, std::span<const float> row) {
    values[static_cast<size_t>(position)] = row[ids[position + 1]] - logSumExp(row);
  };
  // The last id is only predicted, never fed.
  FUSEC_RETURN_IF_ERROR(evaluate(*state, ids.first(ids.size() - 1), {true, visit}));
  return values;
}

void Engine::reset() { state->kv->flush(); }

int64_t Engine::cachedTokens() const { return state->kv->cachedTokens(); }

void Engine::setProfiling(bool on) {
  state->executor->setProfiling(on);
  (void)state->executor->takeProfile();
}

std::vector<LaunchTime> Engine::takeProfile() { return state->executor->takeProfile(); }

} // namespace fusec::runtime
