//===- SampleStatsTest.cpp - repeats of one measurement --------------------===//
#include "tools/fusec/SampleStats.h"

#include <gtest/gtest.h>

using fusec::SampleStats;

TEST(SampleStats, OddAndEvenMedians) {
  const SampleStats odd{{5, 1, 3}};
  EXPECT_EQ(odd.median(), 3);
  EXPECT_EQ(odd.min(), 1);
  EXPECT_EQ(odd.max(), 5);
  EXPECT_DOUBLE_EQ(odd.spread(), 4.0 / 3.0);
  EXPECT_EQ((SampleStats{{4, 1, 2, 3}}).median(), 2.5);
  EXPECT_EQ((SampleStats{{7}}).median(), 7);
}
