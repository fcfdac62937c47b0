//===- Sampler.cpp -----------------------------------------------------------===//

#include "runtime/engine/Sampler.h"

#include "runtime/engine/LogSoftmax.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fusec::runtime {

namespace {

constexpr float impossible = -std::numeric_limits<float>::infinity();

constexpr size_t smallSelection = 256;

Status nothingPossible() { return internalError("sampling: no token has a finite logit"); }

/// Best first; equal scores by id, so that results do not depend on the sort.
bool better(float scoreA, TokenId a, float scoreB, TokenId b) { return scoreA != scoreB ? scoreA > scoreB : a < b; }

} // namespace

bool Sampler::betterCandidate(const Candidate &a, const Candidate &b) { return better(a.score, a.id, b.score, b.id); }

Sampler::Sampler(SamplingParams samplingParams, std::span<const TokenId> prompt, int64_t sampleableIds)
    : params(std::move(samplingParams)), sampleableIds(sampleableIds), seen(prompt.begin(), prompt.end()) {
  std::sort(seen.begin(), seen.end());
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
}

Result<Sampler::Choice> Sampler::next(std::span<const float> logits) {
  adjustScores(logits);
  TokenId best = argmax();
  if (best < 0)
    return nothingPossible();
  Choice choice;
  choice.id = params.temperature == 0 ? best : draw(best);
  if (params.logprobs >= 0)
    fillLogprobs(logits, choice);
  remember(choice.id);
  return choice;
}

std::optional<RowSampling> Sampler::rowSampling() const {
  const bool plain = params.logitBias.empty() && params.logprobs < 0 && params.repetitionPenalty == 1 &&
                     params.presencePenalty == 0 && params.frequencyPenalty == 0;
  if (!plain)
    return std::nullopt;
  return RowSampling{params.temperature, params.topK, params.topP, params.minP, params.seed, draws};
}

Result<Sampler::Choice> Sampler::accept(TokenId id) {
  if (id < 0)
    return nothingPossible();
  draws += params.temperature != 0;
  remember(id);
  Choice choice;
  choice.id = id;
  return choice;
}

void Sampler::remember(TokenId id) {
  ++generated[id];
  if (auto place = std::lower_bound(seen.begin(), seen.end(), id); place == seen.end() || *place != id)
    seen.insert(place, id);
}

void Sampler::adjustScores(std::span<const float> logits) {
  size_t count = std::min(logits.size(), static_cast<size_t>(std::max<int64_t>(sampleableIds, 0)));
  scores.assign(logits.begin(), logits.begin() + count);
  for (const auto &[id, bias] : params.logitBias)
    if (static_cast<size_t>(id) < count)
      scores[id] += bias;
  if (params.repetitionPenalty != 1)
    applyRepetitionPenalty();
  if (params.presencePenalty != 0 || params.frequencyPenalty != 0)
    applyCountPenalties();
  // Last, because the steps above can overflow too.
  for (float &score : scores)
    score = std::isnan(score) ? impossible : std::min(score, std::numeric_limits<float>::max());
}

void Sampler::applyRepetitionPenalty() {
  for (TokenId id : seen) {
    if (static_cast<size_t>(id) >= scores.size())
      continue;
    float &score = scores[id];
    score = score > 0 ? score / params.repetitionPenalty : score * params.repetitionPenalty;
  }
}

void Sampler::applyCountPenalties() {
  for (const auto &[id, count] : generated)
    scores[id] -= params.presencePenalty + params.frequencyPenalty * static_cast<float>(count);
}

TokenId Sampler::argmax() const {
  TokenId best = -1;
  float bestScore = impossible;
  for (size_t id = 0; id < scores.size(); ++id)
    if (scores[id] > bestScore) {
      best = static_cast<TokenId>(id);
      bestScore = scores[id];
    }
  return best;
}

TokenId Sampler::draw(TokenId best) {
  collectCandidates();
  // Before the temperature, which does not change the order: then few exponentials remain.
  if (params.topK > 0 && static_cast<size_t>(params.topK) < candidates.size())
    keepTopK(static_cast<size_t>(params.topK));
  computeWeights(scores[best]);
  if (params.topP < 1)
    keepTopP();
  if (params.minP > 0)
    keepMinP();
  return drawCandidate();
}

void Sampler::collectCandidates() {
  candidates.clear();
  for (size_t id = 0; id < scores.size(); ++id)
    if (scores[id] > impossible)
      candidates.push_back({static_cast<TokenId>(id), scores[id]});
}

void Sampler::keepTopK(size_t k) {
  // The heap of partial_sort rejects most of the vocabulary by one comparison while k is small.
  if (k <= smallSelection)
    std::partial_sort(candidates.begin(), candidates.begin() + k, candidates.end(), betterCandidate);
  else
    std::nth_element(candidates.begin(), candidates.begin() + k, candidates.end(), betterCandidate);
  candidates.resize(k);
}

void Sampler::computeWeights(float best) {
  for (Candidate &candidate : candidates)
    candidate.weight = samplingWeight(candidate.score, best, params.temperature);
}

void Sampler::keepTopP() {
  SamplingMass total = 0;
  for (const Candidate &candidate : candidates)
    total += candidate.weight;
  // Quickselect by weight: [0, low) is in the nucleus and weighs `reached`, [high, end) is not in it.
  auto at = [&](size_t i) { return candidates.begin() + static_cast<std::ptrdiff_t>(i); };
  SamplingMass wanted = samplingNucleus(params.topP, total), reached = 0;
  size_t low = 0, high = candidates.size();
  while (high - low > smallSelection) {
    size_t middle = low + (high - low) / 2;
    std::nth_element(at(low), at(middle), at(high), betterCandidate);
    SamplingMass half = 0;
    for (size_t i = low; i < middle; ++i)
      half += candidates[i].weight;
    if (reached + half >= wanted) {
      high = middle;
    } else {
      reached += half;
      low = middle;
    }
  }
  std::sort(at(low), at(high), betterCandidate);
  size_t keep = low;
  while (keep < high && reached < wanted)
    reached += candidates[keep++].weight;
  candidates.resize(keep);
}

void Sampler::keepMinP() {
  // The best candidate is always kept by the steps before and has weight 1.
  const SamplingMass least = samplingLeast(params.minP);
  std::erase_if(candidates, [&](const Candidate &candidate) { return candidate.weight < least; });
}

TokenId Sampler::drawCandidate() {
  // By id: the filters leave an order that depends on the library's sort.
  auto byId = [](const Candidate &a, const Candidate &b) { return a.id < b.id; };
  if (!std::is_sorted(candidates.begin(), candidates.end(), byId))
    std::sort(candidates.begin(), candidates.end(), byId);
  SamplingMass total = 0;
  for (const Candidate &candidate : candidates)
    total += candidate.weight;
  const SamplingMass target = samplingTarget(samplingUniform(params.seed, draws++), total);
  SamplingMass reached = 0;
  for (const Candidate &candidate : candidates) {
    reached += candidate.weight;
    if (reached > target)
      return candidate.id;
  }
  return -1; // Not reached: the target is below the total.
}

void Sampler::fillLogprobs(std::span<const float> logits, Choice &choice) const {
  double normalizer = logSumExp(logits);
  auto logprob = [&](TokenId id) {
    return static_cast<float>(std::min(logits[id], std::numeric_limits<float>::max()) - normalizer);
  };
  choice.logprob = logprob(choice.id);
  std::vector<TokenId> ids;
  for (size_t id = 0; id < scores.size(); ++id)
    if (logits[id] > impossible) // False for NaN too.
      ids.push_back(static_cast<TokenId>(id));
  size_t count = std::min(static_cast<size_t>(params.logprobs), ids.size());
  std::partial_sort(ids.begin(), ids.begin() + count, ids.end(),
                    [&](TokenId a, TokenId b) { return better(logits[a], a, logits[b], b); });
  for (size_t i = 0; i < count; ++i)
    choice.topLogprobs.push_back({ids[i], logprob(ids[i])});
}

} // namespace fusec::runtime
