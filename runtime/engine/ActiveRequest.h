//===- ActiveRequest.h - a request that has not ended ------------------------------===//
//
// Its texts, its trace, and what its end depends on. The scheduler knows each
// text as a request of its own: an ActiveSequence has that name.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/engine/Choice.h"
#include "runtime/engine/EmbeddingPool.h"
#include "runtime/engine/PromptReport.h"
#include "runtime/engine/RequestTrace.h"
#include "runtime/sched/RequestId.h"

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace fusec::runtime {

/// Evaluates rows instead of generating: given each row's position and logits, or hidden state.
struct Evaluation {
  bool allRows = false; ///< Else the last row only.
  std::function<void(int64_t position, std::span<const float> row)> visit;
};

struct ActiveRequest {
  ActiveRequest(RequestId id, Request asked, std::shared_ptr<RequestListener> listener,
                RequestTrace::Clock::time_point at, int64_t sampleableIds)
      : id(id), request(std::move(asked)), listener(std::move(listener)),
        trace(at, static_cast<int64_t>(request.prompt.size())), prompt(request, sampleableIds) {}
  ActiveRequest(const ActiveRequest &) = delete; // Choices borrow `request`.
  ActiveRequest &operator=(const ActiveRequest &) = delete;

  bool isCancelled() const { return cancelled || (request.cancel && request.cancel->load(std::memory_order_relaxed)); }
  /// Texts are ranked before any is given.
  bool streams() const { return request.numChoices() == request.n; }
  bool hasEnded() const;
  /// Moves the result out.
  RequestOutcome outcome(RequestTrace::Clock::time_point now);
  /// How it ended, by its outcome: as its first text did.
  FinishReason endOf(const RequestOutcome &outcome) const;

  const RequestId id;
  const Request request;
  const std::shared_ptr<RequestListener> listener;
  RequestTrace trace;
  PromptReport prompt;
  std::optional<Evaluation> evaluation;
  std::optional<EmbeddingPool> embedding; ///< Of an evaluation that fills it.
  std::vector<Choice> choices;            ///< All of them from the start; empty for an evaluation.
  std::vector<RequestId> sequences;       ///< Of texts that the scheduler has.
  bool cancelled = false, evaluated = false;
  Status status; ///< Not ok: it has failed.
};

/// What the scheduler knows as one request.
struct ActiveSequence {
  ActiveRequest *owner = nullptr;
  size_t choice = 0;
  int64_t known = 0; ///< Positions whose KV was computed or found once.
  std::optional<RequestTrace::Clock::time_point> lastToken;
};

} // namespace fusec::runtime
