//===- EngineService.h - an engine on its own thread ------------------------------===//
//
//   FUSEC_ASSIGN_OR_RETURN(auto service, EngineService::start({.artifact = "m.fusec", .maxSequences = 16}));
//   FUSEC_ASSIGN_OR_RETURN(RequestId id, service->submit(request, listener));
//   service->cancel(id);
//   (void)service->drain(std::chrono::seconds(30));     // no new requests; the accepted ones end
//
// The thread sleeps while there is nothing to do. A listener is called on it.
//
// Threading: every member may be called from any thread; drain() and stop() not
// from a listener.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/engine/Engine.h"
#include "runtime/engine/EngineStats.h"
#include "runtime/engine/RequestOutcome.h"
#include "runtime/sched/RequestId.h"

#include <chrono>
#include <memory>

namespace fusec::runtime {

class ServiceWorker;

struct ServiceOptions {
  /// Requests that may be accepted and not finished; more are refused as Unavailable.
  int64_t maxRequests = 1024;
};

class EngineService {
public:
  using Listener = RequestListener;

  /// Loads an engine and starts its thread.
  static Result<std::unique_ptr<EngineService>> start(const EngineOptions &options,
                                                      const ServiceOptions &serviceOptions = {});
  /// Takes over a loaded engine.
  static std::unique_ptr<EngineService> adopt(std::unique_ptr<Engine> engine,
                                              const ServiceOptions &serviceOptions = {});
  /// stop().
  ~EngineService();
  EngineService(const EngineService &) = delete;
  EngineService &operator=(const EngineService &) = delete;

  /// Accepts a request; `listener` then hears of it until onDone. Errors, after
  /// which the listener is never called: InvalidArgument (names the field),
  /// ResourceExhausted (could never finish; with the arithmetic), Unavailable (too
  /// many requests, draining, stopped, or the engine is dead).
  Result<RequestId> submit(Request request, std::shared_ptr<Listener> listener);

  /// Ends a request as Cancelled within one step, in the queue, in prefill and in
  /// decode. Nothing happens when it has ended already.
  void cancel(RequestId id);

  /// Takes a lock for the time of a copy.
  EngineStats stats() const;
  /// Without a lock that a step holds: answers at once.
  EngineHealth health() const;

  /// Accepts no more, and waits until all requests have ended or the time is up:
  /// then the rest are cancelled, and Cancelled says how many.
  Status drain(std::chrono::milliseconds patience);
  /// Cancels what there is and ends the thread. Safe to call twice.
  void stop();

  // What never changes while the service lives.
  const ModelInfo &model() const;
  const text::Tokenizer &tokenizer() const;
  const text::ChatTemplate *chatTemplate() const; ///< Null when the artifact has none.
  const MemoryPlan &memory() const;
  const EngineOptions &options() const;
  const ExecutorInfo &executorInfo() const;
  std::span<const TokenId> endIds() const;
  /// Drops the cached prefixes that no request uses, soon.
  void flushPrefixCache();

private:
  explicit EngineService(std::unique_ptr<ServiceWorker> worker);
  std::unique_ptr<ServiceWorker> worker;
};

} // namespace fusec::runtime
