//===- LoadPlan.h - which requests a load test sends, and when ------------------===//
//
// A plan is made before anything is sent, from a seed: the same options give the
// same requests. Two kinds of load:
//
//   closed loop   `concurrency` clients; each sends its next request when the last
//                 one ended. Shows the highest throughput.
//   open loop     requests leave at their times, whatever the server does: at a
//                 Poisson rate, or as a trace recorded them. Shows latency.
//
//   FUSEC_ASSIGN_OR_RETURN(LoadPlan plan, makePlan({.requests = 200, .rate = 4}));
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/text/TokenId.h"
#include "tools/load/Trace.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace fusec::load {

struct WorkloadOptions {
  int64_t requests = 100;  ///< With a trace: at most so many of it; 0 = all.
  int64_t concurrency = 0; ///< Clients of a closed loop; 0 = open loop.
  double rate = 0;         ///< Requests per second of an open loop; 0 = the trace's own times.

  int64_t promptTokens = 128;
  int64_t outputTokens = 64;
  double spread = 0;        ///< Lengths are drawn evenly from (1 - spread) to (1 + spread) times those; in [0, 1].
  int64_t sharedPrefix = 0; ///< So many tokens of every prompt are the same.

  std::filesystem::path trace = {}; ///< Arrivals and lengths; see Trace.h. Empty: synthetic.
  double timeScale = 1;             ///< The trace's times are multiplied by it.
  double lengthScale = 1;           ///< So are its lengths, and what prompts share; at least 1 token remains.
  int64_t maxContext = 0;           ///< Prompt and output are cut to fit; 0 = not.

  text::TokenId firstToken = 1000; ///< Prompts are random ids from here ...
  text::TokenId lastToken = 20000; ///< ... to here.
  bool textPrompts = false;        ///< Words instead of ids, for servers that take none; lengths are then about right.
  uint64_t seed = 1;

  std::string model = {};       ///< As /v1/models names it; may be empty.
  bool ignoreEos = true;        ///< Pins the output length; an extension that vLLM, llama.cpp and fusec know.
  double disconnect = 0;        ///< Share of clients that leave before their answer is complete; in [0, 1].
  std::string extraBody = "{}"; ///< A JSON object whose members go into every request.
};

struct PlannedRequest {
  double arrival = 0; ///< Seconds from the start; open loop only.
  int64_t promptTokens = 0;
  int64_t outputTokens = 0;
  int64_t leaveAfter = -1; ///< Pieces of output after which the client disconnects; -1 = it stays.
  std::string body;        ///< JSON, for /v1/completions.
};

struct LoadPlan {
  std::vector<PlannedRequest> requests{}; ///< By arrival.
  int64_t concurrency = 0;                ///< 0: open loop.
  bool pinsLength = true;
  std::string workload{}; ///< One line for the report.
  Trace trace{};          ///< What is replayed, with the lengths that are sent; empty without one, and for words.

  /// Requests per second that an open loop offers; 0 for a closed one.
  double offeredRate() const;
};

/// InvalidArgument naming the option; errors of readTrace.
Result<LoadPlan> makePlan(const WorkloadOptions &options);

} // namespace fusec::load
