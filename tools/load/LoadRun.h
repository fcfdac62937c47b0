//===- LoadRun.h - sends a plan to a server and times the answers ---------------===//
//
// One thread with an event loop; a new connection per request. Works with every
// server that has OpenAI's /v1/completions and streams.
//
//   FUSEC_ASSIGN_OR_RETURN(LoadResult result, runLoad(plan, {.url = "http://127.0.0.1:8000"}));
//
// Threading: blocks the calling thread until all requests have ended.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "tools/load/LoadPlan.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace fusec::load {

struct LoadOptions {
  std::string url;             ///< "http://host:port[/prefix]".
  std::string apiKey = {};     ///< Sent as a bearer token when not empty.
  double timeoutSeconds = 600; ///< Of one request.
  int64_t warmups = 0;         ///< The plan's first requests are sent once before, one by one, and not counted.
  const std::atomic<bool> *interrupted = nullptr;                ///< Ends the run early; may be null.
  std::function<void(size_t ended, size_t total)> progress = {}; ///< May be empty.
};

/// Times are seconds since the first request was due.
struct RequestRecord {
  double due = 0;               ///< When it should have been sent.
  double sent = 0;              ///< When it was: before the connection is made.
  double first = -1;            ///< First piece with text; -1 = none.
  double end = 0;               ///< Last byte, or the failure.
  std::vector<double> pieces{}; ///< Arrival of each piece with text.
  int64_t promptTokens = 0;     ///< As the server counts them; else as planned.
  int64_t cachedTokens = -1;    ///< Of the prompt; -1 = not reported.
  int64_t outputTokens = 0;     ///< As the server counts them; else the pieces.
  bool left = false;            ///< The client disconnected on purpose.
  int httpStatus = 0;           ///< 0: no answer.
  std::string error{};          ///< Empty: complete, or left on purpose.

  bool isComplete() const { return error.empty() && !left; }
  double timeToFirst() const { return first - sent; }
  double endToEnd() const { return end - sent; }
  /// Seconds per output token after the first; 0 for fewer than two.
  double timePerToken() const { return outputTokens > 1 ? (end - first) / static_cast<double>(outputTokens - 1) : 0; }
};

struct LoadResult {
  std::vector<RequestRecord> records; ///< As in the plan.
  double seconds = 0;                 ///< From the first request to the last answer.
  double clientCpuSeconds = 0;        ///< Of this process meanwhile.
  bool interrupted = false;
};

/// InvalidArgument for a URL of another form, Unavailable when the server cannot be reached at all.
Result<LoadResult> runLoad(const LoadPlan &plan, const LoadOptions &options);

/// GET of a path of the server, for the report's context; errors as above and for a status other than 200.
Result<std::string> fetchText(const LoadOptions &options, const std::string &path);

} // namespace fusec::load
