//===- Job.h - a request that the engine works on ---------------------------------===//
//
// What the routes know of every job: it can be made to fail, and it reports its
// end once. Threading: the loop's thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "serve/http/Exchange.h"
#include "serve/openai/ApiError.h"
#include "serve/openai/Replies.h"

#include <chrono>
#include <functional>
#include <string>

namespace fusec::serve {

/// What is known of a job at its end, for logs and counters.
struct JobReport {
  int status = 0;          ///< HTTP; 499 = the client left, or read too slowly.
  std::string error = {};  ///< Code of the error; empty without one.
  std::string finish = {}; ///< "stop", "length", ...; of the first text.
  Usage usage = {};
  double queueSeconds = 0, firstTokenSeconds = 0;
};

/// Of a job whose client is no longer there.
inline JobReport abandonedReport(http::Departure why) {
  const bool slow = why == http::Departure::TooSlow;
  return {.status = 499, .error = slow ? "client_read_too_slowly" : "client_closed_request"};
}

struct JobHooks {
  std::function<void()> onFirstToken;
  std::function<void(const JobReport &)> onEnd; ///< Once, last.
};

class Job {
public:
  virtual ~Job() = default;
  /// Answers with an error, or ends the stream with one, and cancels what runs.
  virtual void fail(const ApiError &error) = 0;
  std::chrono::steady_clock::time_point startedAt() const { return started; }

private:
  const std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
};

} // namespace fusec::serve
