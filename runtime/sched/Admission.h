//===- Admission.h - what may be scheduled, and the proof that it can finish ---===//
//
// A request is admitted only if it could finish when it runs alone: its
// positions fit the model's context and their pages fit the pool. The scheduler
// can always bring about that it runs alone, so what is admitted finishes
// (docs/serving/scheduler.md has the argument).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/kv/KvManager.h"
#include "runtime/sched/RequestId.h"

#include <cstdint>
#include <vector>

namespace fusec::runtime {

/// A request as the scheduler sees it.
struct ScheduledRequest {
  RequestId id{};
  CacheScope scope{};
  std::vector<TokenId> prompt; ///< At least one token.
  int64_t maxTokens = 1;       ///< At most these are generated; 0 only computes the prompt.
  int priority = 0;            ///< Lower goes first under Policy::Priority.
  bool usePrefix = true;       ///< False: neither uses nor feeds the prefix cache.
  bool wantsPromptLogits = false;
};

/// Positions that hold KV when the request has generated all it may: the last token is never computed.
inline int64_t positionsAtEnd(int64_t promptTokens, int64_t maxTokens) {
  return promptTokens + (maxTokens > 0 ? maxTokens - 1 : 0);
}

/// InvalidArgument for an empty prompt or a negative limit, ResourceExhausted with the arithmetic for a request that
/// could never finish.
Status proveAdmission(const ScheduledRequest &request, const KvManager &kv, int64_t contextTokens);

} // namespace fusec::runtime
