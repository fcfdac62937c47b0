//===- Job.h - a request that the engine works on ---------------------------------===//
//
// What all jobs have in common: requests of the engine, a client who may leave
// before the answer is complete, an end that is reported once.
//
// Threading: the loop's thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "serve/Backend.h"
#include "serve/http/EventLoop.h"
#include "serve/http/Exchange.h"
#include "serve/openai/ApiError.h"
#include "serve/openai/Replies.h"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace fusec::serve {

/// What is known of a job at its end, for logs and counters.
struct JobReport {
  int status = 0;          ///< HTTP; 499 = the client left, or read too slowly.
  std::string error = {};  ///< Code of the error; empty without one.
  std::string finish = {}; ///< "stop", "length", ...; of the first text.
  Usage usage = {};
  double queueSeconds = 0, firstTokenSeconds = 0;
};

struct JobHooks {
  std::function<void()> onFirstToken;
  std::function<void(const JobReport &)> onEnd; ///< Once, last.
};

class Job {
public:
  Job(Backend &backend, http::EventLoop &loop, std::shared_ptr<http::Exchange> exchange, JobHooks hooks)
      : backend(backend), loop(loop), exchange(std::move(exchange)), hooks(std::move(hooks)) {}
  virtual ~Job() = default;
  /// Answers with an error, or ends the stream with one, and cancels what runs.
  virtual void fail(const ApiError &error) = 0;
  std::chrono::steady_clock::time_point startedAt() const { return started; }

protected:
  /// From now on the job ends when its client goes away. `self` is this job.
  void watchClient(std::weak_ptr<Job> self);
  Failure submit(runtime::Request request, std::shared_ptr<runtime::RequestListener> listener);
  void cancelAll();
  void end(JobReport report);
  void endWith(const ApiError &error);

  Backend &backend;
  http::EventLoop &loop;
  std::shared_ptr<http::Exchange> exchange; ///< Null once ended.
  JobHooks hooks;
  bool ended = false;

private:
  void onAbandoned(http::Departure why);

  std::vector<runtime::RequestId> ids;
  const std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
};

} // namespace fusec::serve
