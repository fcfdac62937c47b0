//===- ServiceWorker.h - the thread that runs an engine ---------------------------===//
//
// Requests and cancellations come through an inbox under a lock; between steps
// the thread takes what is there. It sleeps on a condition while the inbox is
// empty and the engine has no work.
//
// Threading: every member from any thread; drain() and stop() not from a listener.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/engine/Engine.h"
#include "runtime/engine/EngineService.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_set>
#include <vector>

namespace fusec::runtime {

class ServiceWorker {
public:
  ServiceWorker(std::unique_ptr<Engine> engine, const ServiceOptions &options);
  ~ServiceWorker() { stop(); }

  Result<RequestId> submit(Request request, std::shared_ptr<RequestListener> listener);
  void cancel(RequestId id);
  void flushPrefixCache();
  EngineStats stats() const;
  EngineHealth health() const;
  Status drain(std::chrono::milliseconds patience);
  void stop();
  /// For what never changes.
  const Engine &engine() const { return *owned; }

private:
  using Clock = std::chrono::steady_clock;
  struct Submission {
    RequestId id;
    Request request;
    std::shared_ptr<RequestListener> listener;
    Clock::time_point at;
  };
  /// What the thread has not seen yet.
  struct Inbox {
    std::vector<Submission> submissions;
    std::vector<RequestId> cancellations;
    bool flush = false;
    bool isEmpty() const { return submissions.empty() && cancellations.empty() && !flush; }
  };

  void run();
  bool takeInbox(bool mayWait);
  void apply(Inbox taken);
  void noteProgress();
  void requestEnded(RequestId id);

  class CountingListener;

  std::unique_ptr<Engine> owned;
  const ServiceOptions options;

  mutable std::mutex mutex;
  std::condition_variable wake;  ///< The inbox or `stopping` changed.
  std::condition_variable ended; ///< A request ended.
  Inbox inbox;
  std::unordered_set<RequestId> open; ///< Accepted and not ended.
  bool accepting = true, stopping = false;
  Status dead; ///< Copy of the engine's health.

  std::atomic<uint64_t> progress{0};
  std::atomic<Clock::rep> lastProgress;
  std::mutex joining; ///< stop() may be called twice at once.
  std::thread thread; ///< Last: it uses all of the above.
};

} // namespace fusec::runtime
