//===- VerifyComparisonTest.cpp - what agrees, and what only looks like it --===//
#include "tools/fusec/VerifyComparison.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace fusec {
namespace {

using Logits = std::vector<float>;
constexpr float inf = std::numeric_limits<float>::infinity();
const float nan = std::numeric_limits<float>::quiet_NaN();

VerifyRow rowOf(const Logits &actual, const Logits &expected, int64_t vocab, VerifyDemand demand, double bound = 0) {
  VerifyRow row;
  row.demand = demand;
  row.bound = bound;
  row.logits = compareLogits(actual, expected, vocab);
  return row;
}

TEST(VerifyComparison, EqualBitsDifferInNothing) {
  const Logits same = {1, -2, 0, 5, -inf, 3};
  const LogitDifference d = compareLogits(same, same, 3);
  EXPECT_TRUE(d.bitEqual());
  EXPECT_EQ(d.compared, 6);
  EXPECT_EQ(d.maxAbsolute, 0);
  EXPECT_EQ(d.worstRow, -1);
  EXPECT_TRUE(rowOf(same, same, 3, VerifyDemand::Bits).passed());
}

TEST(VerifyComparison, RelativeErrorsAreOverTheRowsOwnRange) {
  // Row 0 has range 10, row 1 range 1; the smaller absolute error is the larger relative one.
  const Logits expected = {0, 10, 5, 0, 1, 0.5f}, actual = {0, 10, 6, 0, 1, 0.75f};
  const LogitDifference d = compareLogits(actual, expected, 3);
  EXPECT_DOUBLE_EQ(d.maxAbsolute, 1);
  EXPECT_DOUBLE_EQ(d.maxRelative, 0.25);
  EXPECT_EQ(d.worstRow, 1);
  EXPECT_EQ(d.worstColumn, 2);
  EXPECT_EQ(d.differing, 2);
}

TEST(VerifyComparison, ARowWithoutRangeIsMeasuredByItsSize) {
  EXPECT_DOUBLE_EQ(compareLogits(Logits{4, 5}, Logits{4, 4}, 2).maxRelative, 0.25);
  EXPECT_DOUBLE_EQ(compareLogits(Logits{0, 0.5f}, Logits{0, 0}, 2).maxRelative, 0.5);
  EXPECT_DOUBLE_EQ(compareLogits(Logits{2}, Logits{1}, 1).maxRelative, 1);
}

TEST(VerifyComparison, SignedZeroesDifferInBitsOnly) {
  const LogitDifference d = compareLogits(Logits{-0.0f, 1}, Logits{0.0f, 1}, 2);
  EXPECT_FALSE(d.bitEqual());
  EXPECT_EQ(d.maxAbsolute, 0);
  EXPECT_FALSE(rowOf({-0.0f, 1}, {0.0f, 1}, 2, VerifyDemand::Bits).passed());
  EXPECT_TRUE(rowOf({-0.0f, 1}, {0.0f, 1}, 2, VerifyDemand::Bound, 1e-9).passed());
}

TEST(VerifyComparison, NotANumberOnOneSideFailsWhateverTheBound) {
  for (float odd : {nan, inf, -inf}) {
    for (bool left : {true, false}) {
      const Logits a = {1, left ? odd : 2, 3}, b = {1, left ? 2 : odd, 3};
      const VerifyRow row = rowOf(a, b, 3, VerifyDemand::Bound, 1e30);
      EXPECT_EQ(row.logits.oneSided, 1);
      EXPECT_TRUE(std::isinf(row.logits.maxAbsolute));
      EXPECT_FALSE(row.passed());
      EXPECT_NE(row.failure().find("one side only"), std::string::npos) << row.failure();
    }
  }
  EXPECT_EQ(rowOf({inf, 0}, {-inf, 0}, 2, VerifyDemand::Bound, 1e30).logits.oneSided, 1);
}

TEST(VerifyComparison, TheSameInfinityAgreesAndTheSameNaNDoesNot) {
  EXPECT_TRUE(rowOf({-inf, 1, 2}, {-inf, 1, 2}, 3, VerifyDemand::Bits).passed());
  const VerifyRow row = rowOf({nan, 1, 2}, {nan, 1, 2}, 3, VerifyDemand::Bound, 1e30);
  EXPECT_EQ(row.logits.notNumbers, 1);
  EXPECT_EQ(row.logits.oneSided, 0);
  EXPECT_FALSE(row.passed());
}

TEST(VerifyComparison, WhatOnlyOneSideHasIsADifference) {
  const VerifyRow row = rowOf({1, 2}, {1, 2, 3, 4}, 2, VerifyDemand::Bound, 1e30);
  EXPECT_EQ(row.logits.oneSided, 2);
  EXPECT_EQ(row.logits.worstRow, 1);
  EXPECT_FALSE(row.passed());
  EXPECT_FALSE(rowOf({1, 2, 3, 4}, {1, 2}, 2, VerifyDemand::Bound, 1e30).passed());
}

TEST(VerifyComparison, TheBoundIsInclusiveAndBitsAreNot) {
  EXPECT_TRUE(rowOf({0, 1.5f}, {0, 1}, 2, VerifyDemand::Bound, 0.5).passed());
  EXPECT_FALSE(rowOf({0, 1.5f}, {0, 1}, 2, VerifyDemand::Bound, 0.49).passed());
  EXPECT_FALSE(rowOf({0, std::nextafter(1.0f, 2.0f)}, {0, 1}, 2, VerifyDemand::Bits).passed());
}

TEST(VerifyComparison, BoundsGrowWithNoiseFromAFloor) {
  EXPECT_EQ(boundFromNoise(0), verifyFloor);
  EXPECT_DOUBLE_EQ(boundFromNoise(1e-3), verifyNoiseFactor * 1e-3);
}

// --- continuations ------------------------------------------------------------------

/// Two prompt tokens, then rows that predict continuation 0, 1 and 2 (row 1, 2, 3).
VerifyTrace reference() {
  return {
      .vocab = 3, .logits = {0, 0, 0, /*1*/ 0, 10, 5, /*2*/ 0, 9.999f, 10, /*3*/ 0, 1, 0}, .continuation = {1, 2, 1}};
}

VerifyRow tokensRow(std::vector<text::TokenId> other, VerifyDemand demand, double bound) {
  VerifyRow row;
  row.demand = demand;
  row.bound = bound;
  row.tokens = compareContinuations({.vocab = 3, .logits = {}, .continuation = std::move(other)}, reference(), 2);
  return row;
}

TEST(VerifyContinuations, EqualOnesPass) {
  const VerifyRow row = tokensRow({1, 2, 1}, VerifyDemand::Bits, 0);
  EXPECT_TRUE(row.tokens.equal());
  EXPECT_EQ(row.tokens.compared, 3);
  EXPECT_TRUE(row.passed());
}

TEST(VerifyContinuations, AClearTokenMayNotDiffer) {
  const VerifyRow row = tokensRow({2, 2, 1}, VerifyDemand::Bound, 0.1);
  EXPECT_EQ(row.tokens.index, 0);
  EXPECT_DOUBLE_EQ(row.tokens.gap, 0.5);
  EXPECT_FALSE(row.nearTie());
  EXPECT_FALSE(row.passed());
  EXPECT_NE(row.failure().find("token 0"), std::string::npos) << row.failure();
}

TEST(VerifyContinuations, ANearTieMayGoEitherWayWhereRoundingMayDiffer) {
  // The best two of row 2 are apart by 1e-4 of the range: two errors of 5e-5 exchange them.
  const VerifyRow near = tokensRow({1, 1, 0}, VerifyDemand::Bound, 6e-5);
  EXPECT_EQ(near.tokens.index, 1);
  EXPECT_EQ(near.tokens.actual, 1);
  EXPECT_EQ(near.tokens.expected, 2);
  EXPECT_TRUE(near.nearTie());
  EXPECT_TRUE(near.passed());
  EXPECT_FALSE(tokensRow({1, 1, 0}, VerifyDemand::Bound, 4e-5).passed());
  EXPECT_FALSE(tokensRow({1, 1, 0}, VerifyDemand::Bits, 0).passed());
}

TEST(VerifyContinuations, AnEarlyEndDiffers) {
  const VerifyRow row = tokensRow({1, 2}, VerifyDemand::Bound, 0.01);
  EXPECT_EQ(row.tokens.index, 2);
  EXPECT_EQ(row.tokens.actual, -1);
  EXPECT_FALSE(row.passed());
}

TEST(VerifyContinuations, SkippedRowsPass) {
  VerifyRow row = tokensRow({2}, VerifyDemand::Bits, 0);
  row.skipped = "not on this CPU";
  EXPECT_TRUE(row.passed());
}

} // namespace
} // namespace fusec
