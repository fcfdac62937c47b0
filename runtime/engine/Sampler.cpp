//===- Sampler.cpp -----------------------------------------------------------===//

#include "runtime/engine/Sampler.h"

#include "runtime/engine/Argmax.h"
#include "runtime/engine/LogSoftmax.h"
#include "runtime/engine/SamplingMasses.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

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
    : params(std::move(samplingParams)), sampleableIds(std::max<int64_t>(sampleableIds, 0)) {
  if (params.repetitionPenalty != 1) {
    seen.assign(prompt.begin(), prompt.end());
    std::sort(seen.begin(), seen.end());
    seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
  }
  if (!params.allowedIds.empty())
    allowed.assign(static_cast<size_t>(this->sampleableIds + 31) / 32, 0);
  for (TokenId id : params.allowedIds)
    if (id < this->sampleableIds)
      allowed[id / 32] |= 1u << (id % 32);
}

Result<Sampler::Choice> Sampler::next(std::span<const float> logits, const Restriction &restriction) {
  TokenId best = -1;
  if (takesTheBest(restriction)) {
    best = argmax(logits.first(std::min(logits.size(), static_cast<size_t>(sampleableIds))));
  } else {
    adjustScores(logits, restriction);
    best = argmax(scores);
  }
  if (best < 0)
    return nothingPossible();
  Choice choice;
  choice.id = params.temperature == 0 ? best : draw(best);
  if (params.logprobs >= 0)
    fillLogprobs(logits, choice);
  remember(choice.id);
  return choice;
}

/// The logits need no change and no copy.
bool Sampler::takesTheBest(const Restriction &restriction) const {
  return params.temperature == 0 && isPlain() && restriction.allowed.empty() && restriction.banned.empty();
}

/// Scores are the logits.
bool Sampler::isPlain() const {
  return params.logitBias.empty() && params.repetitionPenalty == 1 && params.presencePenalty == 0 &&
         params.frequencyPenalty == 0 && allowed.empty();
}

std::optional<RowSampling> Sampler::rowSampling() const {
  if (!isPlain() || params.logprobs >= 0)
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
  if (params.presencePenalty != 0 || params.frequencyPenalty != 0)
    ++generated[id];
  if (params.repetitionPenalty == 1)
    return;
  if (auto place = std::lower_bound(seen.begin(), seen.end(), id); place == seen.end() || *place != id)
    seen.insert(place, id);
}

void Sampler::restrict(const Restriction &restriction) {
  for (std::span<const uint32_t> mask : {std::span<const uint32_t>(allowed), restriction.allowed}) {
    if (mask.empty())
      continue;
    for (size_t id = 0; id < scores.size(); ++id)
      if (id / 32 >= mask.size() || (mask[id / 32] >> (id % 32) & 1) == 0)
        scores[id] = impossible;
  }
  for (TokenId id : restriction.banned)
    if (static_cast<size_t>(id) < scores.size())
      scores[id] = impossible;
}

void Sampler::adjustScores(std::span<const float> logits, const Restriction &restriction) {
  size_t count = std::min(logits.size(), static_cast<size_t>(sampleableIds));
  scores.assign(logits.begin(), logits.begin() + count);
  for (const auto &[id, bias] : params.logitBias)
    if (static_cast<size_t>(id) < count)
      scores[id] += bias;
  if (params.repetitionPenalty != 1)
    applyRepetitionPenalty();
  if (params.presencePenalty != 0 || params.frequencyPenalty != 0)
    applyCountPenalties();
  restrict(restriction);
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

TokenId Sampler::draw(TokenId best) {
  masses.resize(scores.size());
  fillMasses(scores, scores[best], params.temperature, masses);
  if (params.topK <= 0 && params.topP >= 1 && params.minP <= 0)
    return drawFromAll();
  const MassHistogram spread(masses);
  const bool hasTopK = params.topK > 0 && static_cast<size_t>(params.topK) < scores.size();
  SamplingMass least = samplingLeast(params.minP), all = spread.total();
  if (hasTopK)
    least = std::max(least, spread.lightestOf(params.topK));
  else if (params.topP < 1)
    least = std::max(least, spread.lightestReaching(samplingNucleus(params.topP, all)));
  collectCandidates(std::max<SamplingMass>(least, 1));
  if (hasTopK && static_cast<size_t>(params.topK) < candidates.size())
    keepTopK(static_cast<size_t>(params.topK));
  if (params.topP < 1)
    keepTopP(hasTopK ? massOfCandidates() : all);
  if (params.minP > 0)
    keepMinP();
  return drawCandidate();
}

TokenId Sampler::drawFromAll() {
  const SamplingMass all = std::reduce(masses.begin(), masses.end());
  const SamplingMass target = samplingTarget(samplingUniform(params.seed, draws++), all);
  SamplingMass reached = 0;
  for (size_t id = 0; id < masses.size(); ++id) {
    reached += masses[id];
    if (reached > target)
      return static_cast<TokenId>(id);
  }
  return -1; // Not reached: the target is below the total.
}

/// Those that may survive the filters: the rest of the vocabulary needs no sorting.
void Sampler::collectCandidates(SamplingMass least) {
  candidates.clear();
  for (size_t id = 0; id < scores.size(); ++id)
    if (masses[id] >= least)
      candidates.push_back({static_cast<TokenId>(id), scores[id], masses[id]});
}

SamplingMass Sampler::massOfCandidates() const {
  SamplingMass sum = 0;
  for (const Candidate &candidate : candidates)
    sum += candidate.weight;
  return sum;
}

void Sampler::keepTopK(size_t k) {
  ranked = candidates;
  auto last = ranked.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(ranked.begin(), last, ranked.end(), betterCandidate);
  keepNotWorseThan(*last);
}

/// Keeps the order by id, in which a token is drawn.
void Sampler::keepNotWorseThan(const Candidate &last) {
  std::erase_if(candidates, [&](const Candidate &candidate) { return betterCandidate(last, candidate); });
}

void Sampler::keepTopP(SamplingMass total) {
  ranked = candidates;
  // Quickselect by weight: [0, low) is in the nucleus and weighs `reached`, [high, end) is not in it.
  auto at = [&](size_t i) { return ranked.begin() + static_cast<std::ptrdiff_t>(i); };
  SamplingMass wanted = samplingNucleus(params.topP, total), reached = 0;
  size_t low = 0, high = ranked.size();
  while (high - low > smallSelection) {
    size_t middle = low + (high - low) / 2;
    std::nth_element(at(low), at(middle), at(high), betterCandidate);
    SamplingMass half = 0;
    for (size_t i = low; i < middle; ++i)
      half += ranked[i].weight;
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
    reached += ranked[keep++].weight;
  keepNotWorseThan(ranked[std::max<size_t>(keep, 1) - 1]);
}

void Sampler::keepMinP() {
  // The best candidate is always kept by the steps before and has weight 1.
  const SamplingMass least = samplingLeast(params.minP);
  std::erase_if(candidates, [&](const Candidate &candidate) { return candidate.weight < least; });
}

TokenId Sampler::drawCandidate() {
  const SamplingMass target = samplingTarget(samplingUniform(params.seed, draws++), massOfCandidates());
  SamplingMass reached = 0;
  for (const Candidate &candidate : candidates) {
    reached += candidate.weight;
    if (reached > target)
      return candidate.id;
  }
  return -1; // Not reached: the target is below the total.
}

void Sampler::fillLogprobs(std::span<const float> logits, Choice &choice) const {
  TokenReport report = reportToken(logits, sampleableIds, choice.id, params.logprobs);
  choice.logprob = report.logprob;
  choice.topLogprobs = std::move(report.top);
}

} // namespace fusec::runtime
