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
// Many requests at once: submit() them, and step() until there is nothing to do;
// EngineService does it on a thread of its own. generate() is the same for one.
// KV stays cached after a request, so that a prompt with a known
// prefix (the next turn of a chat) computes only what is new.
//
// What a request gives depends on the request alone: not on others in the same
// step, on how its prompt was cut, on cached prefixes or on preemption.
//
// Threading: one call at a time; different engines are independent. Only
// Request::cancel may be touched from another thread meanwhile.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/engine/EngineStats.h"
#include "runtime/engine/Request.h"
#include "runtime/engine/RequestOutcome.h"
#include "runtime/exec/GraphStats.h"
#include "runtime/exec/LaunchTime.h"
#include "runtime/exec/MemoryPlan.h"
#include "runtime/exec/ModelInfo.h"
#include "runtime/sched/Policy.h"
#include "runtime/sched/RequestId.h"

#include <chrono>
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
  int64_t contextTokens = 0;           ///< 0 = the smaller of the model's context and 4096, or what the pool holds.
  int64_t chunkTokens = 256;           ///< Tokens per step, of all sequences; changes no result but those of
                                       ///< artifacts with products of a library.
  int64_t maxSequences = 1;            ///< Sequences that run at once.
  int64_t kvBytes = 0;                 ///< Of the KV pool; 0 = from kvTokens.
  int64_t kvTokens = 0;                ///< Tokens that the KV pool holds; 0 = a full context for each sequence.
  Policy policy = Policy::Fcfs;        ///< Who is served first.
  bool staticBatches = false;          ///< Request-level batching, to compare with (SchedulerOptions).
  bool prefixCache = true;             ///< Keep KV of finished requests for prompts that begin alike.
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
  /// contextTokens beyond the model's, a pool that does not hold one context, more
  /// memory than the machine has.
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

  /// Generates one request until an end id, a stop string, maxTokens or the full
  /// context; others that were submitted go on meanwhile. `onToken` may be empty.
  /// An invalid request is an error and changes nothing. The text with index 0.
  Result<Generation> generate(const Request &request, const TokenCallback &onToken = {});

  /// Accepts a request; `listener` hears of it from step(). Errors, after which it
  /// never does: InvalidArgument, ResourceExhausted (could never finish),
  /// Unavailable (the engine is dead).
  Result<RequestId> submit(Request request, std::shared_ptr<RequestListener> listener);
  /// Ends a request as Cancelled with the next step. Unknown ids are ignored.
  void cancel(RequestId id);
  /// Runs one step of the model for as many requests as fit. False when there was
  /// nothing to do.
  bool step();
  /// Whether a request has not ended.
  bool hasWork() const;
  /// Not ok when the device has failed for good.
  const Status &health() const;
  /// Counters, histograms and the last steps.
  EngineStats stats() const;

  /// The embedding of `ids`: [width], of length 1 in L2, the same bits beside any other requests. At most the context.
  /// Unsupported unless the artifact was compiled for embeddings.
  Result<std::vector<float>> embed(std::span<const TokenId> ids);

  /// Raw logits after `ids`: `[vocab]` of the last position, or `[n, vocab]`. All
  /// of it is computed, cached or not. Unsupported by an artifact for embeddings.
  Result<std::vector<float>> logits(std::span<const TokenId> ids, LogitRows rows = LogitRows::Last);

  /// n-1 values: log p(ids[i+1] | ids[0..i]), natural logarithm. n >= 2, at most
  /// the context. All of it is computed, cached or not. Unsupported by an artifact for embeddings.
  Result<std::vector<double>> logprobs(std::span<const TokenId> ids);

  /// Forgets all cached prefixes and returns their pages.
  void reset();
  /// Tokens whose KV later prompts can find.
  int64_t cachedTokens() const;

  /// While on, each launch is timed (a little overhead per launch).
  void setProfiling(bool on);
  /// Times since profiling was switched on or last taken, in launch order.
  std::vector<LaunchTime> takeProfile();

private:
  friend class ServiceWorker;
  /// The parts of submit(): the first two may be called from any thread.
  Status validate(const Request &request) const;
  RequestId newRequestId();
  Status add(RequestId id, Request request, std::shared_ptr<RequestListener> listener,
             std::chrono::steady_clock::time_point submitted);

  explicit Engine(std::unique_ptr<EngineState> state);
  std::unique_ptr<EngineState> state;
};

} // namespace fusec::runtime
