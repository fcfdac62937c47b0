//===- Engine.cpp - composition ----------------------------------------------===//

#include "runtime/engine/Engine.h"

#include "runtime/engine/EngineState.h"
#include "runtime/engine/GenerationLoop.h"
#include "runtime/engine/LogSoftmax.h"

#include <algorithm>

namespace fusec::runtime {

namespace {

/// Ids to evaluate, as opposed to generate from: they may fill the whole context.
Status checkIds(const EngineState &state, std::span<const TokenId> ids, size_t least) {
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

/// Runs `ids` from an empty cache in chunks and gives `visit` each chunk's first index and logits.
template <typename Visit>
Status evaluate(EngineState &state, std::span<const TokenId> ids, ChunkRows rows, Visit visit) {
  state.sequence->clear();
  int64_t chunk = rows == ChunkRows::All ? state.maxOutputRows : state.options.chunkTokens;
  int64_t total = static_cast<int64_t>(ids.size());
  for (int64_t begin = 0; begin < total; begin += chunk) {
    int64_t count = std::min(chunk, total - begin);
    bool wanted = rows == ChunkRows::All || begin + count == total;
    FUSEC_ASSIGN_OR_RETURN(StepOutput output,
                           state.sequence->append(ids.subspan(begin, count), wanted ? rows : ChunkRows::None));
    visit(begin, output.logits);
  }
  return {};
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
  FUSEC_RETURN_IF_ERROR(request.validate(model().vocabSize, state->options.contextTokens));
  return GenerationLoop::run(*state, request, onToken);
}

Result<std::vector<float>> Engine::logits(std::span<const TokenId> ids, LogitRows rows) {
  FUSEC_RETURN_IF_ERROR(checkIds(*state, ids, 1));
  std::vector<float> values;
  ChunkRows chunkRows = rows == LogitRows::All ? ChunkRows::All : ChunkRows::Last;
  FUSEC_RETURN_IF_ERROR(evaluate(*state, ids, chunkRows, [&](int64_t, std::span<const float> logits) {
    values.insert(values.end(), logits.begin(), logits.end());
  }));
  return values;
}

Result<std::vector<double>> Engine::logprobs(std::span<const TokenId> ids) {
  FUSEC_RETURN_IF_ERROR(checkIds(*state, ids, 2));
  size_t vocab = static_cast<size_t>(model().vocabSize);
  std::vector<double> values;
  // The last id is only predicted, never fed.
  FUSEC_RETURN_IF_ERROR(
      evaluate(*state, ids.first(ids.size() - 1), ChunkRows::All, [&](int64_t begin, std::span<const float> logits) {
        for (size_t row = 0; row * vocab < logits.size(); ++row) {
          std::span<const float> line = logits.subspan(row * vocab, vocab);
          values.push_back(line[ids[begin + row + 1]] - logSumExp(line));
        }
      }));
  return values;
}

void Engine::reset() { state->sequence->clear(); }
int64_t Engine::cachedTokens() const { return static_cast<int64_t>(state->sequence->tokens().size()); }

void Engine::setProfiling(bool on) {
  state->executor->setProfiling(on);
  (void)state->executor->takeProfile();
}

std::vector<LaunchTime> Engine::takeProfile() { return state->executor->takeProfile(); }

} // namespace fusec::runtime
