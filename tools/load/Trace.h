//===- Trace.h - recorded arrivals of requests ----------------------------------===//
//
// Two public forms are read, by the ending of the file's name:
//
//   .csv    Azure LLM inference traces: TIMESTAMP,ContextTokens,GeneratedTokens
//   .jsonl  Mooncake traces: {"timestamp": ms, "input_length", "output_length", "hash_ids"}, where each hash id stands
//           for a block of 512 prompt tokens: equal ids, equal tokens
//
// Traces hold no text; promptOf() makes token ids that share prefixes exactly
// where the trace says so.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/text/TokenId.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace fusec::load {

/// Prompt tokens that one hash id of a Mooncake trace stands for, as recorded.
inline constexpr int64_t traceBlockTokens = 512;

struct TraceRequest {
  double arrival = 0; ///< Seconds since the first.
  int64_t promptTokens = 0;
  int64_t outputTokens = 0;
  std::vector<int64_t> blocks; ///< Ids of blocks of the prompt; empty: shares with nobody.
};

struct Trace {
  std::string name;
  std::vector<TraceRequest> requests; ///< By arrival.
  int64_t blockTokens = traceBlockTokens;

  bool hasBlocks() const;
  int64_t longestContext() const;
  double seconds() const { return requests.empty() ? 0 : requests.back().arrival; }
};

/// At most `limit` requests, 0: all. Errors name the line: CorruptData for one that is not of the form, NotFound for a
/// file that cannot be opened, InvalidArgument for another ending.
Result<Trace> readTrace(const std::filesystem::path &path, size_t limit = 0);

/// The trace with lengths times `scale`; at least 1 token remains. What prompts share is scaled with them: a block's
/// length becomes a whole number of tokens first, and where there are blocks all lengths are scaled as that is.
Trace scaled(Trace trace, double scale);

/// Token ids of request `index`.
std::vector<text::TokenId> promptOf(const Trace &trace, size_t index);
/// The token that request `index` generates at `position` of its answer: shared with no prompt.
text::TokenId answerToken(size_t index, int64_t position);

} // namespace fusec::load
