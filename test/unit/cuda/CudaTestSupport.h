//===- CudaTestSupport.h - what tests of CUDA compilation share ------------===//
#pragma once

#include "codegen/cuda/Nvrtc.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>

namespace fusec::test {

/// Where the environment says NVRTC is, as the tool reads it.
inline codegen::NvrtcSearch nvrtcSearch() {
  const char *library = std::getenv("FUSEC_NVRTC");
  return {.library = library ? library : ""};
}

/// Skips the test by name where there is no NVRTC, or none for `target`.
#define FUSEC_REQUIRE_NVRTC(nvrtc)                                                                                     \
  auto nvrtc = ::fusec::codegen::Nvrtc::load(::fusec::test::nvrtcSearch());                                            \
  if (!nvrtc)                                                                                                          \
  GTEST_SKIP() << "needs NVRTC: " << nvrtc.status().message()

/// A file of test/unit/cuda.
inline std::string readFixture(const std::string &name) {
  std::ifstream file(std::filesystem::path(FUSEC_SOURCE_DIR) / "test/unit/cuda" / name, std::ios::binary);
  EXPECT_TRUE(file) << name;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

} // namespace fusec::test
