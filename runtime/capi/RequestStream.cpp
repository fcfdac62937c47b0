//===- RequestStream.cpp -------------------------------------------------------===//

#include "runtime/capi/RequestStream.h"

#include <algorithm>

using fusec::runtime::RequestOutcome;
using fusec::runtime::TokenEvent;

namespace fusec::capi {

namespace {

/// 34 years: for ever, and still far from where a clock's numbers end.
constexpr int64_t longestWaitMs = int64_t(1) << 40;

/// The stream whose callback runs on this thread.
thread_local const RequestStream *calling = nullptr;

std::vector<fusec_token_logprob> rowsOf(const TokenEvent &event) {
  std::vector<fusec_token_logprob> rows;
  rows.reserve(event.topLogprobs.size());
  for (const runtime::TokenLogprob &row : event.topLogprobs)
    rows.push_back({row.id, row.logprob});
  return rows;
}

fusec_event viewOf(const TokenEvent &event, const std::vector<fusec_token_logprob> &top) {
  fusec_event view{};
  view.struct_size = sizeof(view);
  view.text = event.textDelta.c_str();
  view.text_length = event.textDelta.size();
  view.top = top.empty() ? nullptr : top.data();
  view.top_count = top.size();
  view.id = event.id;
  view.choice = event.choice;
  view.logprob = event.logprob;
  return view;
}

} // namespace

//===----------------------------------------------------------------------===//
// On the engine's thread
//===----------------------------------------------------------------------===//

template <typename Body> void RequestStream::call(Body body) {
  std::lock_guard lock(callbackMutex);
  if (closed)
    return;
  calling = this;
  body();
  calling = nullptr;
}

void RequestStream::onToken(const TokenEvent &event) {
  if (!hasTokenCallback()) {
    std::lock_guard lock(mutex);
    events.push_back(event);
    changed.notify_all();
    return;
  }
  const std::vector<fusec_token_logprob> top = rowsOf(event);
  const fusec_event view = viewOf(event, top);
  call([&] {
    if (callbacks.onToken(callbacks.user, handle, &view) != 0)
      cancel();
  });
}

void RequestStream::onDone(const RequestOutcome &outcome) {
  {
    std::lock_guard lock(mutex);
    done = outcome;
  }
  if (callbacks.onDone)
    call([&] { callbacks.onDone(callbacks.user, handle); });
  std::lock_guard lock(mutex);
  ended = true;
  changed.notify_all();
}

//===----------------------------------------------------------------------===//
// On the program's threads
//===----------------------------------------------------------------------===//

bool RequestStream::isInCallback() { return calling != nullptr; }

std::chrono::milliseconds RequestStream::waitTime(int64_t timeoutMs) {
  return std::chrono::milliseconds(timeoutMs < 0 ? longestWaitMs : std::min(timeoutMs, longestWaitMs));
}

fusec_status RequestStream::next(int64_t timeoutMs, fusec_event &event) {
  std::unique_lock lock(mutex);
  if (!changed.wait_for(lock, waitTime(timeoutMs), [&] { return !events.empty() || ended; }))
    return FUSEC_TIMEOUT;
  if (events.empty())
    return FUSEC_END;
  current = std::move(events.front());
  events.pop_front();
  currentTop = rowsOf(current);
  event = viewOf(current, currentTop);
  return FUSEC_OK;
}

fusec_status RequestStream::wait(int64_t timeoutMs) {
  std::unique_lock lock(mutex);
  return changed.wait_for(lock, waitTime(timeoutMs), [&] { return ended; }) ? FUSEC_OK : FUSEC_TIMEOUT;
}

void RequestStream::close() {
  cancel();
  if (calling == this) { // The lock is this thread's already.
    closed = true;
    return;
  }
  std::lock_guard lock(callbackMutex);
  closed = true;
}

const RequestOutcome *RequestStream::outcome() const {
  std::lock_guard lock(mutex);
  return done ? &*done : nullptr;
}

} // namespace fusec::capi
