//===- CudaKernelsMain.cpp - a sample, or everything --------------------------===//
//
// Tests written for the CPU levels, linked with the virtual GPU. They take long
// there, so that each program runs the part its FUSEC_SAMPLE names; all of it
// with FUSEC_FULL in the environment or with a filter on the command line.
//
//===----------------------------------------------------------------------===//
#include "test/unit/codegen/KernelHarness.h"

#include <cstdlib>
#include <gtest/gtest.h>

TEST(VirtualGpu, HasNvrtc) {
  if (fusec::codegen::runnableLevels().empty())
    GTEST_SKIP() << "needs NVRTC: no kernel ran on the virtual GPU";
}

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  if (!std::getenv("FUSEC_FULL") && GTEST_FLAG_GET(filter) == "*")
    GTEST_FLAG_SET(filter, std::string("VirtualGpu.*:") + FUSEC_SAMPLE);
  return RUN_ALL_TESTS();
}
