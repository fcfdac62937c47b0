//===- Sampler.cpp -----------------------------------------------------------===//

#include "runtime/engine/Sampler.h"

#include "runtime/engine/Argmax.h"
#include "runtime/engine/LogSoftmax.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace fusec::runtime {

namespace {

constexpr float impossible = -std::numeric_limits<float>::infinity();

constexpr size_t smallSelection = 256;

/// Temperatures: more than a weight's and a bound's rounding. The weight at a depth is 2^40 exp(-depth).
constexpr double depthMargin = 0.01;

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
  const std::span<const float> scores =
      scoresOf(logits.first(std::min(logits.size(), static_cast<size_t>(sampleableIds))), restriction);
  const bool isDrawn = params.temperature != 0;
  if (isDrawn)
    blocks.assign(scores);
  const TokenId best = isDrawn ? blocks.bestId() : argmax(scores);
  if (best < 0)
    return nothingPossible();
  Choice choice;
  choice.id = isDrawn ? draw(std::min(scores[best], std::numeric_limits<float>::max())) : best;
  if (params.logprobs >= 0)
    fillLogprobs(logits, choice);
  remember(choice.id);
  return choice;
}

/// NaN and +inf may be among them: whoever reads them leaves the first out and takes the second for the largest number.
std::span<const float> Sampler::scoresOf(std::span<const float> logits, const Restriction &restriction) {
  if (isPlain() && restriction.allowed.empty() && restriction.banned.empty())
    return logits;
  adjustScores(logits, restriction);
  return adjusted;
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
  if (!allowed.empty())
    restrict(allowed);
  if (!restriction.allowed.empty())
    restrict(restriction.allowed);
  for (TokenId id : restriction.banned)
    if (static_cast<size_t>(id) < adjusted.size())
      adjusted[id] = impossible;
}

/// A word of the mask at a time: most say all or nothing.
void Sampler::restrict(std::span<const uint32_t> mask) {
  constexpr size_t wordBits = 32;
  for (size_t begin = 0; begin < adjusted.size(); begin += wordBits) {
    const uint32_t bits = begin / wordBits < mask.size() ? mask[begin / wordBits] : 0;
    const size_t end = std::min(begin + wordBits, adjusted.size());
    if (bits == 0)
      std::fill(adjusted.begin() + static_cast<std::ptrdiff_t>(begin),
                adjusted.begin() + static_cast<std::ptrdiff_t>(end), impossible);
    else if (~bits != 0)
      for (size_t id = begin; id < end; ++id)
        adjusted[id] = bits >> (id - begin) & 1 ? adjusted[id] : impossible;
  }
}

void Sampler::adjustScores(std::span<const float> logits, const Restriction &restriction) {
  adjusted.assign(logits.begin(), logits.end());
  for (const auto &[id, bias] : params.logitBias)
    if (static_cast<size_t>(id) < adjusted.size())
      adjusted[id] += bias;
  if (params.repetitionPenalty != 1)
    applyRepetitionPenalty();
  if (params.presencePenalty != 0 || params.frequencyPenalty != 0)
    applyCountPenalties();
  restrict(restriction);
}

void Sampler::applyRepetitionPenalty() {
  for (TokenId id : seen) {
    if (static_cast<size_t>(id) >= adjusted.size())
      continue;
    float &score = adjusted[id];
    score = score > 0 ? score / params.repetitionPenalty : score * params.repetitionPenalty;
  }
}

void Sampler::applyCountPenalties() {
  for (const auto &[id, count] : generated)
    adjusted[id] -= params.presencePenalty + params.frequencyPenalty * static_cast<float>(count);
}

TokenId Sampler::draw(float best) {
  const bool hasTopK = params.topK > 0 && static_cast<size_t>(params.topK) < blocks.scores().size();
  if (!hasTopK && params.topP >= 1 && params.minP <= 0)
    return drawFromAll(best);
  const SamplingMass least = std::max<SamplingMass>(samplingLeast(params.minP), 1);
  // Below this depth weights are less than `least`.
  const double deepest = std::log(static_cast<double>(samplingOne) / static_cast<double>(least)) + depthMargin;
  SamplingMass all = 0;
  if (hasTopK)
    weighTopK(best, deepest);
  else if (params.topP < 1)
    all = weighNucleus(best, deepest);
  else
    weighFrom(boundAt(best, deepest), best);
  collectCandidates(std::max(least, border.least));
  if (hasTopK)
    keepTopK();
  if (params.topP < 1)
    keepTopP(hasTopK ? massOfCandidates() : all);
  if (params.minP > 0)
    keepMinP();
  return drawCandidate();
}

TokenId Sampler::drawFromAll(float best) {
  sums.assign(blocks.scores(), best, params.temperature);
  const SamplingMass target = samplingTarget(samplingUniform(params.seed, draws++), sums.total());
  SamplingMass reached = 0;
  size_t first = 0;
  for (SamplingMass group : sums.groups()) {
    if (reached + group > target)
      break;
    reached += group;
    first += MassSums::groupSize;
  }
  masses.resize(std::min(MassSums::groupSize, blocks.scores().size() - first));
  fillMasses(blocks.scores().subspan(first, masses.size()), best, params.temperature, masses);
  for (size_t i = 0; i < masses.size(); ++i) {
    reached += masses[i];
    if (reached > target)
      return static_cast<TokenId>(first + i);
  }
  return -1; // Not reached: the target is below the total.
}

/// The score `depth` temperatures below the best, or a little less.
float Sampler::boundAt(float best, double depth) const {
  const double bound = best - depth * params.temperature;
  const float lowest = std::numeric_limits<float>::lowest();
  return bound <= lowest ? lowest : std::nextafter(static_cast<float>(bound), lowest);
}

/// The scores that are not below the bound: the rest of the vocabulary needs no sorting.
void Sampler::weighFrom(float bound, float best) {
  ids.resize(std::max(ids.size(), blocks.scores().size())); // Once: they are as many as there is room for.
  weighed.resize(ids.size());
  size_t count = 0;
  blocks.forEachFrom(bound, [&](TokenId id, float score) {
    ids[count] = id;
    weighed[count++] = score;
  });
  masses.resize(count);
  fillMasses(std::span(weighed).first(count), best, params.temperature, masses);
  border = {};
}

void Sampler::weighTopK(float best, double deepest) {
  weighFrom(std::max(blocks.boundOf(static_cast<size_t>(params.topK)), boundAt(best, deepest)), best);
  if (masses.size() > smallSelection)
    border = MassHistogram(masses).borderOf(params.topK);
}

/// Goes down from the best until the scores weigh enough; returns the weight of the whole vocabulary.
SamplingMass Sampler::weighNucleus(float best, double deepest) {
  sums.assign(blocks.scores(), best, params.temperature);
  const SamplingMass wanted = samplingNucleus(params.topP, sums.total());
  for (double depth = 3;; depth *= 1.25) {
    weighFrom(boundAt(best, std::min(depth, deepest)), best);
    if (depth >= deepest || std::reduce(masses.begin(), masses.end()) >= wanted)
      break;
  }
  if (masses.size() > smallSelection)
    border = MassHistogram(masses).borderReaching(wanted);
  return sums.total();
}

/// Those of the weighed that may survive the filters.
void Sampler::collectCandidates(SamplingMass least) {
  candidates.clear();
  for (size_t i = 0; i < masses.size(); ++i)
    if (masses[i] >= least)
      candidates.push_back({ids[i], weighed[i], masses[i]});
}

SamplingMass Sampler::massOfCandidates() const {
  SamplingMass sum = 0;
  for (const Candidate &candidate : candidates)
    sum += candidate.weight;
  return sum;
}

/// Those that are not certain to stay.
void Sampler::rankCandidates() {
  ranked.clear();
  for (const Candidate &candidate : candidates)
    if (candidate.weight < border.sure)
      ranked.push_back(candidate);
}

void Sampler::keepTopK() {
  rankCandidates();
  const int64_t count = params.topK - border.sureCount;
  if (count < static_cast<int64_t>(ranked.size())) {
    const auto last = ranked.begin() + (count - 1);
    std::nth_element(ranked.begin(), last, ranked.end(), betterCandidate);
    keepNotWorseThan(*last);
  }
  border = {}; // It was that of the k best.
}

/// Keeps the order by id, in which a token is drawn.
void Sampler::keepNotWorseThan(const Candidate &last) {
  std::erase_if(candidates, [&](const Candidate &candidate) {
    return candidate.weight < border.sure && betterCandidate(last, candidate);
  });
}

void Sampler::keepTopP(SamplingMass total) {
  rankCandidates();
  if (ranked.empty())
    return;
  // Quickselect by weight: [0, low) is in the nucleus and weighs `reached`, [high, end) is not in it.
  auto at = [&](size_t i) { return ranked.begin() + static_cast<std::ptrdiff_t>(i); };
  SamplingMass wanted = samplingNucleus(params.topP, total), reached = border.sureMass;
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
