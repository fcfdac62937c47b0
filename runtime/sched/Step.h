//===- Step.h - what the scheduler wants computed next -------------------------===//
//
// Plain data. Tokens of all items are packed one after the other, decode rows
// first, as the executor takes them.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/kv/KvManager.h"
#include "runtime/sched/Admission.h"

#include <cstdint>
#include <span>
#include <vector>

namespace fusec::runtime {

/// One step in numbers, for metrics and the live view.
struct StepSummary {
  StepEpoch epoch{};
  int64_t tokens = 0;
  int64_t decodeRows = 0;    ///< Tokens of requests that continue their answer.
  int64_t prefillTokens = 0; ///< Tokens of prompts, and of answers computed again after preemption.
  int64_t outputRows = 0;
  int64_t sequences = 0;
  int64_t running = 0, waiting = 0; ///< Requests, after planning.
  int64_t preempted = 0;
  Ledger ledger; ///< With the pages of this step.
};

/// Move-only: items point into `packed`.
struct Step {
  struct Item {
    RequestId request{};
    SequenceId sequence{};
    int64_t begin = 0;               ///< Position of the first token.
    std::span<const TokenId> tokens; ///< At least one.
    bool sample = false;             ///< The last row gives the request's next token.
    bool allRows = false;            ///< The logits of every row are wanted (prompt logits).

    int64_t end() const { return begin + static_cast<int64_t>(tokens.size()); }
  };

  Step() = default;
  Step(Step &&) = default;
  Step &operator=(Step &&) = default;

  std::vector<Item> items;
  std::vector<TokenId> packed;      ///< Tokens of all items.
  std::vector<PageCopy> copies;     ///< To be done first, in order.
  std::vector<RequestId> preempted; ///< Went back to waiting.
  int64_t tokens = 0;               ///< packed.size()
  StepEpoch epoch{};
  StepSummary summary;

  bool empty() const { return items.empty(); }
};

} // namespace fusec::runtime
