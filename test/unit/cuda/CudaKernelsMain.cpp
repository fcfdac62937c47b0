//===- CudaKernelsMain.cpp - a sample, or everything --------------------------===//
//
// Tests written for the CPU levels, linked with the virtual GPU. They take long
// there, so that each program runs the part its FUSEC_SAMPLE names; all of it
// with FUSEC_FULL in the environment or with a filter on the command line.
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/Nvrtc.h"
#include "test/unit/codegen/KernelHarness.h"
#include "test/unit/cuda/CudaTestSupport.h"

#include <cstdlib>
#include <sstream>
#include <gtest/gtest.h>

/// The program's FUSEC_LEVELS: targets, each with what its products round operands to ("sm_80_in_bf16").
std::vector<std::string> fusec::codegen::runnableLevels() {
  std::vector<std::string> levels;
  if (!Nvrtc::load(test::nvrtcSearch()))
    return levels;
  const char *given = std::getenv("FUSEC_LEVELS");
  std::stringstream list(given ? given : std::getenv("FUSEC_FULL") ? FUSEC_FULL_LEVELS : FUSEC_LEVELS);
  for (std::string level; std::getline(list, level, ',');)
    levels.push_back(level);
  return levels;
}

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
