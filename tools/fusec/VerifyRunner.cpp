//===- VerifyRunner.cpp ----------------------------------------------------===//
#include "tools/fusec/VerifyRunner.h"

#include "runtime/engine/Engine.h"
#include "runtime/text/Tokenizer.h"

#include <algorithm>
#include <memory>

namespace fusec {

namespace {

/// Logits of one run; two runs are held at a time.
constexpr int64_t maxTraceBytes = int64_t(1) << 30;

Result<std::unique_ptr<runtime::Engine>> open(const VerifySetup &setup, int64_t contextTokens) {
  runtime::EngineOptions options;
  options.artifact = setup.artifact;
  options.device = setup.device;
  options.graphs = setup.graphs;
  options.level = setup.level;
  options.threads = setup.threads;
  options.contextTokens = contextTokens;
  options.chunkTokens = setup.chunkTokens > 0 ? setup.chunkTokens : std::max<int64_t>(contextTokens, 1);
  return runtime::Engine::create(options);
}

/// The model's context, known once an engine has read the manifest.
Result<int64_t> contextOf(const VerifySetup &setup) {
  VerifySetup small = setup;
  small.chunkTokens = 1;
  FUSEC_ASSIGN_OR_RETURN(auto engine, open(small, 1));
  return engine->model().contextLength;
}

Result<std::vector<text::TokenId>> promptOf(const text::Tokenizer &tokenizer, std::string_view text, int64_t tokens) {
  FUSEC_ASSIGN_OR_RETURN(std::vector<text::TokenId> ids, tokenizer.encode(text));
  FUSEC_ASSIGN_OR_RETURN(std::vector<text::TokenId> more, tokenizer.encode(text, {.addSpecial = false}));
  if (ids.empty() || more.empty())
    return invalidArgument("the prompt gives no tokens");
  while (static_cast<int64_t>(ids.size()) < tokens)
    ids.insert(ids.end(), more.begin(), more.end());
  ids.resize(static_cast<size_t>(tokens));
  return ids;
}

Result<std::vector<text::TokenId>> continuationOf(runtime::Engine &engine, const std::vector<text::TokenId> &prompt,
                                                  int64_t tokens) {
  if (tokens == 0)
    return std::vector<text::TokenId>();
  runtime::Request request;
  request.prompt = prompt;
  request.sampling = runtime::SamplingParams::greedy();
  request.maxTokens = tokens;
  request.ignoreEos = true;
  engine.reset();
  FUSEC_ASSIGN_OR_RETURN(runtime::Generation generation, engine.generate(request));
  return generation.ids;
}

} // namespace

Result<VerifyRunner> VerifyRunner::create(const VerifySetup &subject, VerifyLengths lengths, std::string_view text) {
  FUSEC_ASSIGN_OR_RETURN(int64_t context, contextOf(subject));
  VerifyRunner runner;
  runner.generate = std::clamp<int64_t>(lengths.generateTokens, 0, std::max<int64_t>(context - 2, 0));
  const int64_t promptTokens = std::clamp<int64_t>(lengths.promptTokens, 1, context - runner.generate);
  FUSEC_ASSIGN_OR_RETURN(auto engine, open(subject, promptTokens + runner.generate));
  const int64_t vocab = engine->model().vocabSize, all = promptTokens + runner.generate;
  if (all * vocab * 4 > maxTraceBytes)
    return resourceExhausted("the logits of " + std::to_string(all) + " tokens take " +
                             std::to_string((all * vocab * 4) >> 20) + " MiB per run, more than " +
                             std::to_string(maxTraceBytes >> 20) + ": choose at most " +
                             std::to_string(maxTraceBytes / 4 / vocab - runner.generate) + " with --tokens");
  FUSEC_ASSIGN_OR_RETURN(runner.prompt, promptOf(engine->tokenizer(), text, promptTokens));
  runner.resolvedThreads = engine->options().threads;
  runner.resolvedLevel = engine->options().level;
  runner.name = engine->model().name;
  runner.trace.vocab = vocab;
  FUSEC_ASSIGN_OR_RETURN(runner.trace.continuation, continuationOf(*engine, runner.prompt, runner.generate));
  runner.sequence = runner.prompt;
  runner.sequence.insert(runner.sequence.end(), runner.trace.continuation.begin(), runner.trace.continuation.end());
  FUSEC_ASSIGN_OR_RETURN(runner.trace.logits, engine->logits(runner.sequence, runtime::LogitRows::All));
  return runner;
}

Result<VerifyTrace> VerifyRunner::run(const VerifySetup &setup) const {
  FUSEC_ASSIGN_OR_RETURN(auto engine, open(setup, promptTokens() + generate));
  VerifyTrace other;
  other.vocab = engine->model().vocabSize;
  FUSEC_ASSIGN_OR_RETURN(other.continuation, continuationOf(*engine, prompt, generate));
  FUSEC_ASSIGN_OR_RETURN(other.logits, engine->logits(sequence, runtime::LogitRows::All));
  return other;
}

} // namespace fusec
