//===- ActiveRequest.cpp -------------------------------------------------------===//

#include "runtime/engine/ActiveRequest.h"

#include <algorithm>
#include <numeric>

namespace fusec::runtime {

namespace {

/// The `count` texts of the best mean log-probability, best first; of equal ones the earlier.
void keepBest(std::vector<Generation> &texts, size_t count) {
  std::vector<size_t> order(texts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return texts[a].meanLogprob != texts[b].meanLogprob ? texts[a].meanLogprob > texts[b].meanLogprob : a < b;
  });
  std::vector<Generation> best;
  for (size_t i = 0; i < count; ++i)
    best.push_back(std::move(texts[order[i]]));
  texts = std::move(best);
}

void takeEmbedding(const EmbeddingPool &pool, RequestOutcome &out) {
  if (Result<std::vector<float>> taken = pool.take())
    out.embedding = std::move(*taken);
  else
    out.status = taken.status();
}

} // namespace

bool ActiveRequest::hasEnded() const {
  if (!status.ok())
    return true;
  if (evaluation)
    return evaluated;
  return std::all_of(choices.begin(), choices.end(), [](const Choice &choice) { return choice.finished(); });
}

RequestOutcome ActiveRequest::outcome(RequestTrace::Clock::time_point now) {
  RequestOutcome out;
  out.status = status;
  out.explanation = trace.explain(now);
  out.promptLogprobs = prompt.take();
  if (embedding && evaluated && status.ok())
    takeEmbedding(*embedding, out);
  for (Choice &choice : choices) {
    choice.end(status.ok() ? FinishReason::Cancelled : FinishReason::Error);
    const int64_t sampled = choice.sampled();
    out.choices.push_back(choice.take());
    out.choices.back().timings = trace.timings(sampled);
  }
  if (streams())
    return out;
  keepBest(out.choices, static_cast<size_t>(request.n));
  return out;
}

FinishReason ActiveRequest::endOf(const RequestOutcome &outcome) const {
  if (!outcome.choices.empty())
    return outcome.choices.front().reason;
  if (!outcome.status.ok())
    return FinishReason::Error;
  return evaluated ? FinishReason::Stop : FinishReason::Cancelled;
}

} // namespace fusec::runtime
