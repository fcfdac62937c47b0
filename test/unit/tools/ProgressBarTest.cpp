//===- ProgressBarTest.cpp - one line of progress on a terminal ------------===//
#include "tools/fusec/ProgressBar.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace fusec;
using testing::EndsWith;
using testing::HasSubstr;

TEST(ProgressBar, RendersStageBarAndPercent) {
  EXPECT_EQ(ProgressBar::render("packing weights", 0.5, 44), "packing weights         [======      ]  50%");
  EXPECT_THAT(ProgressBar::render("x", 1.0, 200), EndsWith("] 100%"));
}

TEST(ProgressBar, FitsAnyTerminalAndAnyFraction) {
  for (int columns : {0, 1, 2, 20, 33, 80, 500})
    for (double fraction : {-1.0, 0.0, 0.999, 2.0, std::nan("")})
      EXPECT_LE(ProgressBar::render("a stage with a rather long name", fraction, columns).size(),
                static_cast<size_t>(std::max(columns - 1, 1)));
}

TEST(ProgressBar, SilentWithoutTerminal) {
  testing::internal::CaptureStderr();
  {
    ProgressBar bar(Environment{});
    bar.update("stage", 0.5);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(ProgressBar, CleansItsLine) {
  testing::internal::CaptureStderr();
  {
    Environment environment;
    environment.stderrIsTerminal = true;
    ProgressBar bar(environment);
    bar.update("stage", 0.5);
  }
  const std::string output = testing::internal::GetCapturedStderr();
  EXPECT_THAT(output, HasSubstr("stage"));
  EXPECT_THAT(output, EndsWith("\r\x1b[K"));
}
