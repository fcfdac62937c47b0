//===- VerifyComparison.h - two runs of one model held against each other --===//
//
// Both ran the same token ids, so their logits correspond element by element.
// Errors are measured in two units: as they are, and over the range (largest
// minus smallest logit) of the row they occur in, which is what decides
// whether a probability or the best token changes.
//
// NaN is never agreement: one side only is an infinite error, both sides is
// counted apart and fails as well.
//
// Threading: functions are pure.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/text/TokenId.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace fusec {

/// What one configuration computed.
struct VerifyTrace {
  int64_t vocab = 0;
  std::vector<float> logits{};               ///< `[ids, vocab]` of the prompt and the reference's continuation.
  std::vector<text::TokenId> continuation{}; ///< This configuration's own greedy one.
};

struct LogitDifference {
  int64_t compared = 0;    ///< Logits.
  int64_t differing = 0;   ///< Of them, with other bits; NaN counts.
  int64_t oneSided = 0;    ///< NaN, or an infinity that the other side has not.
  int64_t notNumbers = 0;  ///< NaN on both sides.
  double maxAbsolute = 0;  ///< Infinite when `oneSided` is not 0.
  double maxRelative = 0;  ///< Over the range of the row in `expected`.
  int64_t worstRow = -1;   ///< Row of maxRelative; -1: no difference.
  int64_t worstColumn = 0; ///< And its column.

  bool bitEqual() const { return differing == 0; }
};

/// Element by element. Traces of unequal length differ one-sidedly in what only one of them has.
LogitDifference compareLogits(std::span<const float> actual, std::span<const float> expected, int64_t vocab);

/// The first token in which two greedy continuations part.
struct TokenDifference {
  int64_t compared = 0;
  int64_t index = -1;        ///< -1: none, they are equal.
  text::TokenId actual = -1; ///< -1: that continuation had ended.
  text::TokenId expected = -1;
  double gap = 0; ///< Best minus second best logit of the reference there, over the row's range.

  bool equal() const { return index < 0; }
};

/// `promptTokens`: rows of `expected.logits` before the one that predicts continuation[0], plus one.
TokenDifference compareContinuations(const VerifyTrace &actual, const VerifyTrace &expected, int64_t promptTokens);

/// What a comparison is held to.
enum class VerifyDemand {
  Bits,  ///< Equal bits everywhere.
  Bound, ///< maxRelative at most the bound.
};

/// One row of the table.
struct VerifyRow {
  std::string id;      ///< For scripts: "fused", "threads-1", ...
  std::string what;    ///< "fused / unfused".
  std::string skipped; ///< Why it did not run; empty: it did.
  std::string error;   ///< Why it could not be made; empty: it was.
  VerifyDemand demand = VerifyDemand::Bits;
  double bound = 0; ///< Of maxRelative; 0 for Bits.
  LogitDifference logits;
  TokenDifference tokens;

  /// A token may differ where the two best logits are so close that both errors within the bound
  /// can exchange them.
  bool nearTie() const { return !tokens.equal() && tokens.gap <= 2 * bound; }
  /// Why the row fails; empty: it passes or was skipped.
  std::string failure() const;
  bool passed() const { return failure().empty(); }
};

/// How far results may move that only reassociate, given how far rounding alone moves them (see
/// perturb-rounding); both over the row's range. The measured noise is one sample of each error, the
/// largest of thousands; two independent errors of that size differ by at most a few times it, and a
/// wrong factor, index or mask is off by many orders more. The floor covers results without noise.
inline constexpr double verifyNoiseFactor = 8, verifyFloor = 0x1p-20;
inline double boundFromNoise(double noise) {
  const double bound = verifyNoiseFactor * noise;
  return bound > verifyFloor ? bound : verifyFloor;
}

} // namespace fusec
