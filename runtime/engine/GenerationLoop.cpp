//===- GenerationLoop.cpp ----------------------------------------------------===//

#include "runtime/engine/GenerationLoop.h"

#include <algorithm>
#include <chrono>

namespace fusec::runtime {

namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

int64_t limitOf(const EngineState &state, const Request &request) {
  int64_t room = state.options.contextTokens - static_cast<int64_t>(request.prompt.size());
  return request.maxTokens < 0 ? room : std::min(room, request.maxTokens);
}

} // namespace

GenerationLoop::GenerationLoop(EngineState &state, const Request &request, const TokenCallback &onToken,
                               TextStream stream)
    : state(state), request(request), onToken(onToken), stream(std::move(stream)),
      sampler(request.sampling, request.prompt, state.sampleableIds()), tokenLimit(limitOf(state, request)) {}

Result<Generation> GenerationLoop::run(EngineState &state, const Request &request, const TokenCallback &onToken) {
  FUSEC_ASSIGN_OR_RETURN(TextStream stream, TextStream::create(state.tokenizer, request.prompt, request.stopStrings));
  GenerationLoop loop(state, request, onToken, std::move(stream));
  FUSEC_RETURN_IF_ERROR(loop.generate());
  loop.result.reason = *loop.finished;
  return std::move(loop.result);
}

Status GenerationLoop::generate() {
  Clock::time_point start = Clock::now();
  FUSEC_ASSIGN_OR_RETURN(StepOutput output, prefill());
  while (!finished) {
    FUSEC_ASSIGN_OR_RETURN(Sampler::Choice choice, choose(output));
    if (result.timings.decodeTokens == 0)
      result.timings.prefillSeconds = secondsSince(start);
    TokenId token = choice.id;
    if (isEnd(token))
      acceptEnd();
    else
      acceptToken(std::move(choice));
    if (cancelRequested())
      finish(FinishReason::Cancelled);
    if (finished)
      break;
    FUSEC_ASSIGN_OR_RETURN(output, decode(token));
  }
  if (result.timings.decodeTokens > 0)
    result.timings.decodeSeconds = secondsSince(start) - result.timings.prefillSeconds;
  return {};
}

Result<StepOutput> GenerationLoop::prefill() {
  std::span<const TokenId> prompt = request.prompt;
  int64_t done = state.sequence->keepCommonPrefix(prompt);
  int64_t total = static_cast<int64_t>(prompt.size());
  result.timings.promptTokens = total;
  result.timings.cachedTokens = done;
  StepOutput output;
  while (done < total) {
    if (cancelRequested()) {
      finish(FinishReason::Cancelled);
      return StepOutput();
    }
    int64_t count = std::min(state.options.chunkTokens, total - done);
    ChunkRows rows = done + count == total ? ChunkRows::Last : ChunkRows::None;
    FUSEC_ASSIGN_OR_RETURN(output, append(prompt.subspan(done, count), rows));
    done += count;
    result.timings.prefillTokens += count;
  }
  return output;
}

Result<StepOutput> GenerationLoop::decode(TokenId token) {
  ++result.timings.decodeTokens;
  return append({&token, 1}, ChunkRows::Last);
}

Result<StepOutput> GenerationLoop::append(std::span<const TokenId> chunk, ChunkRows rows) {
  std::optional<RowSampling> row;
  if (rows == ChunkRows::Last && state.executor->samplesOnDevice())
    row = sampler.rowSampling();
  return state.sequence->append(chunk, rows, row ? std::span(&*row, 1) : std::span<const RowSampling>());
}

Result<Sampler::Choice> GenerationLoop::choose(const StepOutput &output) {
  return output.choices.empty() ? sampler.next(output.logits) : sampler.accept(output.choices.front());
}

void GenerationLoop::acceptToken(Sampler::Choice choice) {
  result.ids.push_back(choice.id);
  TokenEvent event{choice.id, stream.push(choice.id), choice.logprob, std::move(choice.topLogprobs)};
  bool full = static_cast<int64_t>(result.ids.size()) >= tokenLimit;
  if (full && !stream.stopped())
    event.textDelta += stream.finish(); // May complete a stop string that waited for a longer one.
  if (stream.stopped())
    finish(FinishReason::Stop);
  else if (full)
    finish(FinishReason::Length);
  emit(std::move(event));
}

void GenerationLoop::acceptEnd() {
  finish(FinishReason::Stop);
  TokenEvent event;
  event.textDelta = stream.finish();
  if (!event.textDelta.empty())
    emit(std::move(event));
}

void GenerationLoop::emit(TokenEvent event) {
  result.text += event.textDelta;
  if (onToken && !onToken(event))
    finish(FinishReason::Cancelled);
}

bool GenerationLoop::isEnd(TokenId id) const {
  if (std::find(request.stopIds.begin(), request.stopIds.end(), id) != request.stopIds.end())
    return true;
  return !request.ignoreEos && std::binary_search(state.endIds.begin(), state.endIds.end(), id);
}

} // namespace fusec::runtime
