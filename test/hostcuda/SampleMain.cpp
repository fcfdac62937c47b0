//===- SampleMain.cpp - a sample, or everything -------------------------------------===//
//
// Tests written for other targets, linked with kernels as host C++. Each program
// runs the part its FUSEC_SAMPLE names, a kernel or two of each family; all of it
// with FUSEC_FULL in the environment or with a filter on the command line.
//
//===----------------------------------------------------------------------===//
#include "test/hostcuda/HostCudaCompiler.h"

#include <cstdlib>
#include <gtest/gtest.h>

TEST(HostCuda, HasAClang) {
  if (std::string why = fusec::hostcuda::whyNoHostCuda(); !why.empty())
    GTEST_SKIP() << "no kernel ran as host C++: " << why;
}

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  // What NVRTC makes of the texts is another program's test.
  if (GTEST_FLAG_GET(filter) == "*")
    GTEST_FLAG_SET(filter, std::getenv("FUSEC_FULL") ? "-*.NothingSpills*" : std::string("HostCuda.*:") + FUSEC_SAMPLE);
  return RUN_ALL_TESTS();
}
