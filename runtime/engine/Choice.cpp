//===- Choice.cpp --------------------------------------------------------------===//

#include "runtime/engine/Choice.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace fusec::runtime {

namespace {

/// A seed of its own for each text; that of text 0 is the request's, so that n does not change it. The finaliser is
/// that of SplitMix64 (Steele, Lea, Flood 2014).
uint64_t seedOf(uint64_t seed, int index) {
  if (index == 0)
    return seed;
  uint64_t x = seed + static_cast<uint64_t>(index) * 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

SamplingParams paramsOf(const Request &request, int index) {
  SamplingParams params = request.sampling;
  params.seed = seedOf(params.seed, index);
  if (request.bestOf > request.n) // They are ranked by it.
    params.logprobs = std::max(params.logprobs, 0);
  return params;
}

int64_t limitOf(const ModelText &model, const Request &request) {
  int64_t room = model.contextTokens - static_cast<int64_t>(request.prompt.size());
  return request.maxTokens < 0 ? room : std::min(room, request.maxTokens);
}

} // namespace

Choice::Choice(const ModelText &model, const Request &request, int index, TextStream stream)
    : model(&model), request(&request), index(index), stream(std::move(stream)),
      sampler(paramsOf(request, index), request.prompt, model.sampleableIds), tokenLimit(limitOf(model, request)) {}

Result<Choice> Choice::create(const ModelText &model, const Request &request, int index) {
  FUSEC_ASSIGN_OR_RETURN(TextStream stream,
                         TextStream::create(model.tokenizer, request.prompt, request.stopStrings, request.includeStop));
  Choice choice(model, request, index, std::move(stream));
  if (request.minTokens > 0) {
    choice.banned = request.stopIds;
    if (!request.ignoreEos)
      choice.banned.insert(choice.banned.end(), model.endIds.begin(), model.endIds.end());
  }
  if (request.constraint) {
    choice.constraint = request.constraint->start();
    choice.mask.resize(static_cast<size_t>(model.sampleableIds + 31) / 32);
  }
  return choice;
}

Result<TokenId> Choice::next(std::span<const float> logits) {
  const Sampler::Restriction limits = restriction();
  if (constraint && !constraint->status().ok())
    return constraint->status();
  if (constraint && constraint->finished()) { // Complete, and no end id to say so.
    acceptEnd(TokenEvent::noToken);
    return TokenEvent::noToken;
  }
  FUSEC_ASSIGN_OR_RETURN(Sampler::Choice chosen, sampler.next(logits, limits));
  return goOn(std::move(chosen));
}

std::optional<RowSampling> Choice::rowSampling() const {
  return constraint || !mayEnd() ? std::nullopt : sampler.rowSampling();
}

Result<TokenId> Choice::accept(TokenId id) {
  FUSEC_ASSIGN_OR_RETURN(Sampler::Choice chosen, sampler.accept(id));
  return goOn(std::move(chosen));
}

Result<TokenId> Choice::goOn(Sampler::Choice chosen) {
  assert(!untold && "a token is told before the next");
  const TokenId id = chosen.id;
  logprobSum += chosen.logprob;
  if (isEnd(id) && mayEnd()) {
    ++numSampled;
    acceptEnd(id);
    return id;
  }
  FUSEC_RETURN_IF_ERROR(advanceConstraint(id));
  acceptToken(std::move(chosen));
  return id;
}

Sampler::Restriction Choice::restriction() {
  Sampler::Restriction found;
  if (constraint) {
    constraint->allowed(mask);
    found.allowed = mask;
  }
  if (!mayEnd())
    found.banned = banned;
  return found;
}

Status Choice::advanceConstraint(TokenId id) {
  if (!constraint || constraint->accept(id))
    return {};
  return internalError("constraint: token " + std::to_string(id) + " was allowed and is now refused");
}

void Choice::acceptToken(Sampler::Choice chosen) {
  const bool looksForStops = mayEnd();
  ++numSampled;
  result.ids.push_back(chosen.id);
  report(chosen);
  const bool full = numSampled >= tokenLimit, complete = constraint && constraint->finished();
  untold = {{chosen.id, "", chosen.logprob, std::move(chosen.topLogprobs), index}, looksForStops, full || complete};
  if (!request->stopStrings.empty())
    writeText();
  if (stream.stopped() || complete)
    end(FinishReason::Stop);
  else if (full)
    end(FinishReason::Length);
}

void Choice::acceptEnd(TokenId id) {
  end(FinishReason::Stop);
  result.stopId = id;
  untold.emplace();
  untold->isLast = true;
  untold->event.choice = index;
}

void Choice::writeText() {
  if (std::exchange(untold->isWritten, true))
    return;
  TokenEvent &event = untold->event;
  if (event.id != TokenEvent::noToken)
    event.textDelta = stream.push(event.id, untold->looksForStops);
  if (untold->isLast && !stream.stopped())
    event.textDelta += stream.finish(); // May complete a stop string that waited for a longer one.
  result.stopString = stream.matchedStop();
  result.text += event.textDelta;
}

void Choice::tell(std::vector<TokenEvent> &events) {
  if (!untold)
    return;
  writeText();
  if (untold->event.id != TokenEvent::noToken || !untold->event.textDelta.empty())
    events.push_back(std::move(untold->event));
  untold.reset();
}

void Choice::report(const Sampler::Choice &chosen) {
  if (request->sampling.logprobs >= 0)
    result.reports.push_back({chosen.id, chosen.logprob, chosen.topLogprobs});
}

Generation Choice::take() {
  if (reasonToEnd)
    result.reason = *reasonToEnd;
  if (request->bestOf > request->n && numSampled > 0)
    result.meanLogprob = logprobSum / static_cast<double>(numSampled);
  return std::move(result);
}

bool Choice::isEnd(TokenId id) const {
  if (std::find(request->stopIds.begin(), request->stopIds.end(), id) != request->stopIds.end())
    return true;
  return !request->ignoreEos && std::binary_search(model->endIds.begin(), model->endIds.end(), id);
}

} // namespace fusec::runtime
