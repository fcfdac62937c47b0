//===- Sampler.h - chooses one token from a row of logits ---------------------===//
//
// The sampling state of one request: parameters, the tokens seen so far and the
// random counter. Order of the steps: what is not allowed, logit bias, repetition penalty, presence
// and frequency penalty, temperature, top-k, top-p, min-p, draw.
//
//   Sampler sampler(request.sampling, request.prompt, tokenizer.size());
//   FUSEC_ASSIGN_OR_RETURN(Sampler::Choice choice, sampler.next(logits));
//
// NaN logits count as impossible, +inf as the largest finite number. The draw
// number n depends on the seed and n only, not on time, threads or batch.
//
// A GPU may choose instead, from the same parameters and by the same arithmetic
// (runtime/schema/SamplingMath.h), hence the same id:
//
//   if (std::optional<RowSampling> row = sampler.rowSampling()) // else it needs the logits
//     choice = sampler.accept(choices[0]);                      // of a step with *row as its sampling
//
// Ownership: a value; keeps no reference to prompt or logits. Threading: one
// thread at a time.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/engine/SamplingMasses.h"
#include "runtime/engine/SamplingParams.h"
#include "runtime/exec/StepInput.h"
#include "runtime/schema/SamplingMath.h"

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace fusec::runtime {

class Sampler {
public:
  struct Choice {
    TokenId id = -1;
    float logprob = 0;                     ///< When asked for: of the raw distribution.
    std::vector<TokenLogprob> topLogprobs; ///< Best first; impossible ids are left out.
  };

  /// `params` are valid. Ids >= sampleableIds (rows that pad the embedding beyond
  /// the tokenizer) are never chosen.
  Sampler(SamplingParams params, std::span<const TokenId> prompt, int64_t sampleableIds);

  /// What this one token may not be, beyond the parameters.
  struct Restriction {
    std::span<const uint32_t> allowed; ///< Bit `id`: may be chosen; empty = all.
    std::span<const TokenId> banned;   ///< Not chosen, allowed or not.
  };

  /// Chooses the next token and remembers it. Internal error when no id has a
  /// finite logit or none is allowed.
  Result<Choice> next(std::span<const float> logits, const Restriction &restriction = {});

  /// What a device needs to know to choose the next token; nullopt when that takes
  /// more: logit bias, penalties or log-probabilities.
  std::optional<RowSampling> rowSampling() const;
  /// Remembers `id`, which a device chose by rowSampling(). Internal error for -1,
  /// as of next().
  Result<Choice> accept(TokenId id);

private:
  struct Candidate {
    TokenId id;
    float score;
    SamplingMass weight = 0;
  };

  static bool betterCandidate(const Candidate &a, const Candidate &b);
  bool isPlain() const;
  std::span<const float> scoresOf(std::span<const float> logits, const Restriction &restriction);
  void adjustScores(std::span<const float> logits, const Restriction &restriction);
  void restrict(const Restriction &restriction);
  void restrict(std::span<const uint32_t> mask);
  void remember(TokenId id);
  void applyRepetitionPenalty();
  void applyCountPenalties();
  TokenId draw(float best);
  TokenId drawFromAll(float best);
  float boundAt(float best, double depth) const;
  void weighFrom(float bound, float best);
  void weighTopK(float best, double deepest);
  SamplingMass weighNucleus(float best, double deepest);
  void collectCandidates(SamplingMass least);
  SamplingMass massOfCandidates() const;
  void rankCandidates();
  void keepTopK();
  void keepNotWorseThan(const Candidate &last);
  void keepTopP(SamplingMass total);
  void keepMinP();
  TokenId drawCandidate();
  void fillLogprobs(std::span<const float> logits, Choice &choice) const; ///< `logits`: the sampleable ones come first.

  SamplingParams params;
  int64_t sampleableIds;
  std::vector<TokenId> seen;                      ///< Prompt and output, each id once; for the repetition penalty.
  std::vector<uint32_t> allowed;                  ///< Bits of params.allowedIds; empty = all.
  std::unordered_map<TokenId, int64_t> generated; ///< Output only: times sampled.
  uint64_t draws = 0;
  // Work space, reused between tokens.
  std::vector<float> adjusted; ///< Scores that are not the logits.
  ScoreBlocks blocks;
  MassSums sums;
  std::vector<TokenId> ids;          ///< Of the scores that were weighed, ascending: as many as masses, ...
  std::vector<float> weighed;        ///< ... these scores ...
  std::vector<SamplingMass> masses;  ///< ... and their weights.
  MassHistogram::Border border;      ///< Between those of them that are certain to stay and to go.
  std::vector<Candidate> candidates; ///< By id.
  std::vector<Candidate> ranked;     ///< Some of them by score.
};

} // namespace fusec::runtime
