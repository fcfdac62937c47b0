//===- ServiceWorker.cpp -------------------------------------------------------===//

#include "runtime/engine/ServiceWorker.h"

namespace fusec::runtime {

/// Passes everything on, and tells the worker of the end.
class ServiceWorker::CountingListener final : public RequestListener {
public:
  CountingListener(ServiceWorker &worker, RequestId id, std::shared_ptr<RequestListener> listener)
      : worker(worker), id(id), listener(std::move(listener)) {}
  void onToken(const TokenEvent &event) override { listener->onToken(event); }
  void onDone(const RequestOutcome &outcome) override {
    listener->onDone(outcome);
    worker.requestEnded(id);
  }

private:
  ServiceWorker &worker;
  const RequestId id;
  const std::shared_ptr<RequestListener> listener;
};

ServiceWorker::ServiceWorker(std::unique_ptr<Engine> engine, const ServiceOptions &options)
    : owned(std::move(engine)), options(options), lastProgress(Clock::now().time_since_epoch().count()),
      thread([this] { run(); }) {}

//===----------------------------------------------------------------------===//
// From any thread
//===----------------------------------------------------------------------===//

Result<RequestId> ServiceWorker::submit(Request request, std::shared_ptr<RequestListener> listener) {
  FUSEC_RETURN_IF_ERROR(owned->validate(request));
  const RequestId id = owned->newRequestId();
  std::lock_guard lock(mutex);
  if (!dead.ok())
    return unavailable("the engine is dead: " + dead.message());
  if (!accepting)
    return unavailable("the server is ending and takes no more requests");
  if (static_cast<int64_t>(open.size()) >= options.maxRequests)
    return unavailable("too many requests: " + std::to_string(open.size()) +
                       " are accepted and not finished; try again later");
  if (open.empty()) // Liveness counts from here, not from the end of the last request.
    noteProgress();
  open.insert(id);
  auto counting = std::make_shared<CountingListener>(*this, id, std::move(listener));
  inbox.submissions.push_back({id, std::move(request), std::move(counting), Clock::now()});
  wake.notify_one();
  return id;
}

void ServiceWorker::cancel(RequestId id) {
  std::lock_guard lock(mutex);
  if (!open.contains(id))
    return;
  inbox.cancellations.push_back(id);
  wake.notify_one();
}

void ServiceWorker::flushPrefixCache() {
  std::lock_guard lock(mutex);
  inbox.flush = true;
  wake.notify_one();
}

EngineStats ServiceWorker::stats() const {
  EngineStats stats = owned->stats();
  std::lock_guard lock(mutex);
  stats.queued = static_cast<int64_t>(inbox.submissions.size());
  stats.hasWork = !open.empty();
  return stats;
}

EngineHealth ServiceWorker::health() const {
  EngineHealth found;
  found.steps = progress.load();
  std::lock_guard lock(mutex);
  found.status = dead;
  found.accepting = accepting && dead.ok();
  found.hasWork = !open.empty();
  if (found.hasWork) {
    const Clock::duration last{lastProgress.load()};
    found.secondsSinceProgress = std::chrono::duration<double>(Clock::now().time_since_epoch() - last).count();
  }
  return found;
}

Status ServiceWorker::drain(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex);
  accepting = false;
  if (ended.wait_for(lock, patience, [&] { return open.empty(); }))
    return {};
  const size_t cut = open.size();
  inbox.cancellations.assign(open.begin(), open.end());
  wake.notify_one();
  ended.wait(lock, [&] { return open.empty(); });
  return cancelled(std::to_string(cut) + " requests were cancelled at the end of the time to drain");
}

void ServiceWorker::stop() {
  std::lock_guard once(joining);
  {
    std::lock_guard lock(mutex);
    accepting = false;
    stopping = true;
    inbox.cancellations.assign(open.begin(), open.end());
    wake.notify_one();
  }
  if (thread.joinable())
    thread.join();
}

//===----------------------------------------------------------------------===//
// On the engine's thread
//===----------------------------------------------------------------------===//

void ServiceWorker::run() {
  bool hasWork = false;
  while (takeInbox(!hasWork)) {
    (void)owned->step();
    noteProgress();
    hasWork = owned->hasWork();
    if (!owned->health().ok()) {
      std::lock_guard lock(mutex);
      dead = owned->health();
    }
  }
}

/// False when the thread is to end: stopping, and no request is left.
bool ServiceWorker::takeInbox(bool mayWait) {
  Inbox taken;
  {
    std::unique_lock lock(mutex);
    if (mayWait)
      wake.wait(lock, [&] { return stopping || !inbox.isEmpty(); });
    taken = std::exchange(inbox, {});
    if (stopping && open.empty())
      return false;
  }
  apply(std::move(taken));
  return true;
}

void ServiceWorker::apply(Inbox taken) {
  for (Submission &submission : taken.submissions) {
    std::shared_ptr<RequestListener> listener = submission.listener;
    Status added = owned->add(submission.id, std::move(submission.request), listener, submission.at);
    if (added.ok())
      continue;
    RequestOutcome refused;
    refused.status = added;
    listener->onDone(refused);
  }
  for (RequestId id : taken.cancellations)
    owned->cancel(id);
  if (taken.flush)
    owned->reset();
}

void ServiceWorker::noteProgress() {
  progress.fetch_add(1, std::memory_order_relaxed);
  lastProgress.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
}

void ServiceWorker::requestEnded(RequestId id) {
  std::lock_guard lock(mutex);
  open.erase(id);
  ended.notify_all();
}

} // namespace fusec::runtime
