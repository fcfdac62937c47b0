//===- Entry.h - what the scheduler knows about one request --------------------===//
#pragma once

#include "runtime/sched/Admission.h"

#include <climits>
#include <cstdint>
#include <tuple>
#include <vector>

namespace fusec::runtime {

enum class RequestState : uint8_t {
  Waiting,  ///< Holds no page.
  Running,  ///< Has a sequence.
  Complete, ///< All it may generate is there; waits for finish().
};

struct Entry {
  RequestId id{};
  CacheScope scope{};
  RequestState state = RequestState::Waiting;
  int priority = 0;
  bool usePrefix = true, wantsPromptLogits = false;
  std::vector<TokenId> tokens; ///< Prompt and answer; the last one has no KV until it is asked to continue.
  int64_t promptTokens = 0, maxTokens = 0;

  SequenceId sequence{};     ///< While running.
  int64_t planned = 0;       ///< Tokens computed, cached or in a step.
  int32_t inSteps = 0;       ///< Unfinished steps that name it.
  int64_t inPlan = 0;        ///< Of `planned`: tokens in the step that is being planned.
  bool awaitsToken = false;  ///< The last of `tokens` holds a place: an unfinished step gives it.
  int64_t logitsDone = 0;    ///< Prompt rows whose logits were given, ...
  int64_t logitsPlanned = 0; ///< ... or are in a step.

  int64_t rank = 0;      ///< Priority in effect.
  uint64_t arrival = 0;  ///< Forks have their parent's.
  uint64_t serial = 0;   ///< Unique.
  uint64_t patience = 0; ///< While waiting: goes first once so many requests were started.

  bool counted = false;     ///< It, or who it was forked from, has started before.
  int64_t cachedTokens = 0; ///< Prompt tokens found cached that it had not computed itself.
  int64_t computed = 0;     ///< Tokens computed, also those computed again.
  int64_t everComputed = 0; ///< Longest length reached.
  int32_t preemptions = 0;

  int64_t total() const { return static_cast<int64_t>(tokens.size()); }
  int64_t generated() const { return total() - promptTokens; }
  int64_t remaining() const { return total() - planned; }
  bool isDecoding() const { return remaining() == 1 && generated() > 0; }
  /// An unfinished step gives a token that is not its last.
  bool willContinue() const {
    return remaining() == 0 && inSteps > 0 && inPlan == 0 && !awaitsToken && generated() + 1 < maxTokens;
  }
  bool isPrefilling() const { return remaining() > 0 && !isDecoding(); }
  bool needsPromptRows() const { return wantsPromptLogits && logitsPlanned < promptTokens; }
  /// Positions it must have room for to give one more token.
  int64_t nextPositions() const { return std::min(total() + 1, positionsAtEnd(promptTokens, maxTokens)); }
  /// The tokens whose KV may come from the cache, and one more: rows whose logits are wanted are computed.
  std::span<const TokenId> cacheable() const {
    return std::span(tokens).first(needsPromptRows() ? logitsPlanned + 1 : total());
  }
};

/// Best first: the order in which requests get what they need, and the reverse of that in which they are preempted.
inline bool goesBefore(const Entry &a, const Entry &b) {
  return std::tie(a.rank, a.arrival, a.serial) < std::tie(b.rank, b.arrival, b.serial);
}

struct GoesBefore {
  bool operator()(const Entry *a, const Entry *b) const { return goesBefore(*a, *b); }
};

} // namespace fusec::runtime
