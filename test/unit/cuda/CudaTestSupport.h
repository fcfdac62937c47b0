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
  auto path = [](const char *name) {
    const char *value = std::getenv(name);
    return std::filesystem::path(value ? value : "");
  };
  return {.library = path("FUSEC_NVRTC"), .include = path("FUSEC_CUDA_INCLUDE")};
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
