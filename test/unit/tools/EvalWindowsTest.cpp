//===- EvalWindowsTest.cpp - how a long text is cut for perplexity ---------===//
#include "tools/fusec/EvalWindows.h"

#include <gtest/gtest.h>

using fusec::evalWindows;

TEST(EvalWindows, EveryTokenIsScoredOnceWithEnoughContext) {
  for (int64_t tokens : {2, 3, 7, 8, 9, 31, 32, 33, 100})
    for (int64_t length : {2, 3, 8, 32})
      for (int64_t stride = 1; stride <= length; ++stride) {
        std::vector<int> scored(static_cast<size_t>(tokens));
        for (const auto &w : evalWindows(tokens, length, stride)) {
          EXPECT_LE(w.end - w.begin, length);
          EXPECT_GT(w.scoreFrom, w.begin);
          for (int64_t t = w.scoreFrom; t < w.end; ++t) {
            ++scored[static_cast<size_t>(t)];
            if (w.begin > 0)
              EXPECT_GE(t - w.begin, std::max<int64_t>(1, length - stride));
          }
        }
        for (int64_t t = 0; t < tokens; ++t) {
          const bool unscorable = t == 0 || (stride == length && t % length == 0);
          EXPECT_EQ(scored[static_cast<size_t>(t)], unscorable ? 0 : 1)
              << "token " << t << " of " << tokens << ", length " << length << ", stride " << stride;
        }
      }
}

TEST(EvalWindows, NothingToScore) {
  EXPECT_TRUE(evalWindows(0, 8, 8).empty());
  EXPECT_TRUE(evalWindows(1, 8, 8).empty());
}
