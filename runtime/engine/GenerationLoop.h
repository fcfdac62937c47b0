//===- GenerationLoop.h - one request from prompt to finish -------------------===//
//
//  1. Keep the KV of the prompt's common prefix with the last sequence, compute
//     the rest in chunks.
//  2. Sample a token, on the device where that is possible; an end id ends the
//     generation.
//  3. Turn it into text, give it to the callback; a stop string, the token limit
//     or the callback ends the generation.
//  4. Compute the token, go to 2.
//
// Lives for one call; borrows everything. Threading: one thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/engine/EngineState.h"
#include "runtime/engine/Request.h"
#include "runtime/engine/Sampler.h"
#include "runtime/engine/TextStream.h"

#include <optional>
#include <span>

namespace fusec::runtime {

class GenerationLoop {
public:
  /// `request` is valid.
  static Result<Generation> run(EngineState &state, const Request &request, const TokenCallback &onToken);

private:
  GenerationLoop(EngineState &state, const Request &request, const TokenCallback &onToken, TextStream stream);
  Status generate();
  Result<StepOutput> prefill();
  Result<StepOutput> decode(TokenId token);
  Result<StepOutput> append(std::span<const TokenId> chunk, ChunkRows rows);
  Result<Sampler::Choice> choose(const StepOutput &output);
  void acceptToken(Sampler::Choice choice);
  void acceptEnd();
  void emit(TokenEvent event);
  bool isEnd(TokenId id) const;
  bool cancelRequested() const { return request.cancel && request.cancel->load(std::memory_order_relaxed); }
  void finish(FinishReason reason) { finished = finished.value_or(reason); }

  EngineState &state;
  const Request &request;
  const TokenCallback &onToken;
  TextStream stream;
  Sampler sampler;
  int64_t tokenLimit; ///< maxTokens and the context.
  std::optional<FinishReason> finished;
  Generation result;
};

} // namespace fusec::runtime
