//===- VerifyBisectTest.cpp - searching errors that are made up --------------===//
#include "tools/fusec/VerifyBisect.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace fusec {
namespace {

/// Errors by number of fusions; more than 1 is too much.
BisectMeasure errors(std::vector<double> byCount) {
  return [byCount](int64_t fusions) -> Result<BisectSample> {
    const double error = byCount[static_cast<size_t>(fusions)];
    return BisectSample{error, !(error <= 1)};
  };
}

TEST(VerifyBisect, FindsTheStepWhereverItIs) {
  for (int64_t total : {1, 2, 3, 7, 64, 613})
    for (int64_t guilty = 0; guilty < total; ++guilty) {
      std::vector<double> all(static_cast<size_t>(total) + 1, 0.5);
      for (int64_t n = guilty + 1; n <= total; ++n)
        all[static_cast<size_t>(n)] = 20 + static_cast<double>(n);
      Result<BisectResult> found = bisect(total, errors(all));
      ASSERT_TRUE(found) << found.status().message();
      EXPECT_EQ(found->index, guilty) << "of " << total;
      EXPECT_EQ(found->before.error, 0.5);
      EXPECT_EQ(found->after.error, 21 + static_cast<double>(guilty));
      EXPECT_FALSE(found->before.exceeds);
      EXPECT_TRUE(found->after.exceeds);
      EXPECT_LE(found->measured, 2 + static_cast<int64_t>(std::ceil(std::log2(static_cast<double>(total)))));
    }
}

TEST(VerifyBisect, ErrorsThatCreepUpAreFoundWhereTheyCrossTheBound) {
  const Result<BisectResult> found = bisect(5, errors({0, 0.3, 0.6, 0.9, 1.2, 1.5}));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->index, 3);
  EXPECT_DOUBLE_EQ(found->before.error, 0.9);
  EXPECT_DOUBLE_EQ(found->after.error, 1.2);
}

// A later fusion can undo what an earlier one did. Whatever border is found was measured on both sides.
TEST(VerifyBisect, NonMonotoneErrorsStillGiveAMeasuredBorder) {
  const std::vector<double> all = {0, 5, 0.1, 0.2, 7, 7, 0.3, 0.3, 0.4, 9, 0.5, 6};
  Result<BisectResult> found = bisect(11, errors(all));
  ASSERT_TRUE(found) << found.status().message();
  ASSERT_GE(found->index, 0);
  EXPECT_LE(all[static_cast<size_t>(found->index)], 1);
  EXPECT_GT(all[static_cast<size_t>(found->index) + 1], 1);
  EXPECT_EQ(found->before.error, all[static_cast<size_t>(found->index)]);
  EXPECT_EQ(found->after.error, all[static_cast<size_t>(found->index) + 1]);
}

TEST(VerifyBisect, NaNExceeds) {
  const Result<BisectResult> found = bisect(4, errors({0, 0, NAN, NAN, NAN}));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->index, 1);
}

TEST(VerifyBisect, NothingToFindIsSaid) {
  Result<BisectResult> fine = bisect(3, errors({0, 0, 0, 0.9}));
  ASSERT_FALSE(fine);
  EXPECT_NE(fine.status().message().find("within its bound"), std::string::npos) << fine.status().message();
  Result<BisectResult> always = bisect(3, errors({2, 0, 0, 2}));
  ASSERT_FALSE(always);
  EXPECT_NE(always.status().message().find("without any fusion"), std::string::npos) << always.status().message();
  EXPECT_FALSE(bisect(0, errors({0})));
}

TEST(VerifyBisect, AFailedMeasurementEndsTheSearch) {
  int64_t calls = 0;
  const Result<BisectResult> found = bisect(100, [&](int64_t fusions) -> Result<BisectSample> {
    if (++calls == 3)
      return internalError("no kernel");
    return BisectSample{fusions > 0 ? 9.0 : 0.0, fusions > 0};
  });
  ASSERT_FALSE(found);
  EXPECT_EQ(found.status().message(), "no kernel");
  EXPECT_EQ(calls, 3);
}

} // namespace
} // namespace fusec
