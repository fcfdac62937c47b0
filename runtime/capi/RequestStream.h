//===- RequestStream.h - what a request says, for callbacks or for a poll ---------===//
//
// The listener behind a fusec_request. The engine's thread writes; the program reads
// from any other: events from a queue, or by callbacks, and the outcome at the end.
//
//   auto stream = std::make_shared<RequestStream>(handle, callbacks);
//   request.cancel = stream->cancelFlag();     // the engine holds the stream while it holds the request
//   service.submit(request, stream);
//
// Threading: every member from any thread. The callback lock is held during callbacks
// only, so that close() can promise that none runs after it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/capi/fusec.h"
#include "runtime/engine/RequestOutcome.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

namespace fusec::capi {

/// As in fusec_request_options.
struct StreamCallbacks {
  fusec_token_callback onToken = nullptr;
  fusec_done_callback onDone = nullptr;
  void *user = nullptr;
};

class RequestStream final : public runtime::RequestListener {
public:
  /// `handle`: what callbacks are given; it is not looked at.
  RequestStream(fusec_request *handle, const StreamCallbacks &callbacks) : handle(handle), callbacks(callbacks) {}

  void onToken(const runtime::TokenEvent &event) override;
  void onDone(const runtime::RequestOutcome &outcome) override;

  /// Whether the calling thread is in a callback of any stream: then it must not wait.
  static bool isInCallback();
  /// Whether events go to a callback, not to next().
  bool hasTokenCallback() const { return callbacks.onToken != nullptr; }

  /// The time that a timeout_ms means; negative = for ever.
  static std::chrono::milliseconds waitTime(int64_t timeoutMs);

  /// FUSEC_OK, FUSEC_TIMEOUT or FUSEC_END. `event` points into the stream until the next call.
  fusec_status next(int64_t timeoutMs, fusec_event &event);
  /// FUSEC_OK or FUSEC_TIMEOUT.
  fusec_status wait(int64_t timeoutMs);

  void cancel() { cancelled.store(true, std::memory_order_relaxed); }
  const std::atomic<bool> *cancelFlag() const { return &cancelled; }

  /// Cancels, and lets no further callback run.
  void close();

  /// Null before the end; never changes afterwards.
  const runtime::RequestOutcome *outcome() const;

private:
  /// Calls `body`, under the callback lock, unless the stream is closed.
  template <typename Body> void call(Body body);

  fusec_request *const handle;
  const StreamCallbacks callbacks;
  std::atomic<bool> cancelled{false};

  std::mutex callbackMutex;
  bool closed = false; ///< Under callbackMutex.

  mutable std::mutex mutex;
  std::condition_variable changed;
  // Under mutex:
  std::deque<runtime::TokenEvent> events;
  runtime::TokenEvent current; ///< What next() gave last.
  std::vector<fusec_token_logprob> currentTop;
  std::optional<runtime::RequestOutcome> done;
  bool ended = false; ///< `done` is there and onDone has returned.
};

} // namespace fusec::capi
