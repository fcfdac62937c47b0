//===- Engine.h - from token ids to text, on one artifact --------------------===//
//
// Composes manifest, weights, kernels, KV cache, sampler and text into the one
// object an application holds. It owns all of them.
//
//   auto engine = Engine::create({.artifact = "smollm2.fusec"});
//   if (!engine) return engine.status();
//   auto ids = (*engine)->tokenizer().encode("Once upon a time", {});
//   Request request{.prompt = *ids, .maxTokens = 64};
//   auto done = (*engine)->generate(request, [](const TokenEvent &event) {
//     std::fputs(event.textDelta.c_str(), stdout);
//     return true;
//   });
//
// One sequence is alive at a time. Its KV stays in the cache between calls: a
// prompt that shares a prefix with it computes only what differs (chat turns).
//
// Threading: one call at a time; different engines are independent. Only
// Request::cancel may be touched from another thread meanwhile.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/engine/Request.h"
#include "runtime/exec/GraphStats.h"
#include "runtime/exec/LaunchTime.h"
#include "runtime/exec/MemoryPlan.h"
#include "runtime/exec/ModelInfo.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fusec::text {
class ChatTemplate;
class Tokenizer;
} // namespace fusec::text

namespace fusec::runtime {

struct EngineState;
struct ExecutorInfo;

struct EngineOptions {
  std::filesystem::path artifact = {}; ///< Directory that holds manifest.json.
  int threads = 0;                     ///< 0 = one per physical core this process may use.
  int64_t contextTokens = 0;           ///< 0 = the smaller of the model's context and 4096.
  int64_t chunkTokens = 256;           ///< Prompt tokens per step; changes no result but those of
                                       ///< artifacts with products of a library.
  std::string level = {};              ///< CPU: "avx2", "avx512"; "" = the best this CPU runs.
  std::string device = {};             ///< "" or "host", "cuda", "cuda:1", "virtual[:sm_80]" (docs/cuda/running.md).
  bool graphs = true;                  ///< GPU: replay decode steps from captured graphs.
  /// Called on the calling thread while a GPU is being loaded; `fraction` runs from 0 to 1. May be empty.
  std::function<void(std::string_view stage, double fraction)> progress = {};
};

/// Which positions Engine::logits returns.
enum class LogitRows { Last, All };

class Engine {
public:
  /// Loads the artifact and reserves all memory. Errors name the file and what
  /// was expected: missing files, damaged manifest, no kernels for this CPU,
  /// contextTokens beyond the model's.
  static Result<std::unique_ptr<Engine>> create(const EngineOptions &options);
  ~Engine();
  Engine(const Engine &) = delete;
  Engine &operator=(const Engine &) = delete;

  const ModelInfo &model() const;
  const text::Tokenizer &tokenizer() const;
  /// Null when the artifact has no chat template.
  const text::ChatTemplate *chatTemplate() const;
  const MemoryPlan &memory() const;
  /// The options as resolved: real thread count (0 on a GPU), context, chunk and the kernels' level.
  const EngineOptions &options() const;
  /// The device that runs the kernels, and notes for the user about it.
  const ExecutorInfo &executorInfo() const;
  /// How steps were launched so far; all zero on the CPU.
  GraphStats graphStats() const;
  /// Ids that end a generation unless Request::ignoreEos; sorted.
  std::span<const TokenId> endIds() const;

  /// Generates until an end id, a stop string, maxTokens or the full context.
  /// `onToken` may be empty. An invalid request is an error and changes nothing.
  Result<Generation> generate(const Request &request, const TokenCallback &onToken = {});

  /// Raw logits after `ids`: `[vocab]` of the last position, or `[n, vocab]`.
  /// Starts from an empty cache, which drops the kept sequence.
  Result<std::vector<float>> logits(std::span<const TokenId> ids, LogitRows rows = LogitRows::Last);

  /// n-1 values: log p(ids[i+1] | ids[0..i]), natural logarithm. n >= 2, at most
  /// the context. Starts from an empty cache, which drops the kept sequence.
  Result<std::vector<double>> logprobs(std::span<const TokenId> ids);

  /// Forgets the kept sequence and returns its pages.
  void reset();
  /// Tokens whose KV is in the cache.
  int64_t cachedTokens() const;

  /// While on, each launch is timed (a little overhead per launch).
  void setProfiling(bool on);
  /// Times since profiling was switched on or last taken, in launch order.
  std::vector<LaunchTime> takeProfile();

private:
  explicit Engine(std::unique_ptr<EngineState> state);
  std::unique_ptr<EngineState> state;
};

} // namespace fusec::runtime
