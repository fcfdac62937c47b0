//===- SeamTest.cpp - where the library ends and instructions begin ---------------===//
//
// Inline PTX is what the host replaces, header by header: whatever shares a header
// with it is not tested here. So it stays in few headers, named below.
//
//===----------------------------------------------------------------------===//
#include "test/hostcuda/HostCudaKernel.h"

#include <gtest/gtest.h>
#include <set>

namespace fusec::hostcuda {
namespace {

TEST(HostCudaSeam, InlinePtxStaysInItsHeaders) {
  const std::set<std::string_view> replaced = {"cp_async.cuh", "ldmatrix.cuh", "ptx_matrix.cuh", "ptx_scalar.cuh"},
                                   refused = {"bulk_copy.cuh", "fp8.cuh", "mbarrier.cuh", "wgmma.cuh"};
  std::set<std::string_view> found;
  for (const codegen::CudaHeader &header : codegen::deviceLibrary())
    if (header.text.find("asm(") != std::string_view::npos ||
        header.text.find("asm volatile") != std::string_view::npos)
      found.insert(header.name);
  std::set<std::string_view> known = replaced;
  known.insert(refused.begin(), refused.end());
  EXPECT_EQ(found, known);
}

TEST(HostCudaSeam, RefusesByName) {
  if (std::string why = whyNoHostCuda(); !why.empty())
    GTEST_SKIP() << why;
  for (const char *header : {"wgmma.cuh", "mbarrier.cuh", "fp8.cuh"}) {
    Result<std::filesystem::path> library =
        compileHostCuda({.text = std::string("#include \"") + header + "\"\n", .entries = {}});
    ASSERT_FALSE(library);
    EXPECT_NE(library.status().message().find(std::string(header) + " is inline PTX that has no host form"),
              std::string::npos)
        << library.status().message();
  }
}

TEST(HostCudaSeam, NamesTheKernelItDoesNotHave) {
  if (std::string why = whyNoHostCuda(); !why.empty())
    GTEST_SKIP() << why;
  Result<std::unique_ptr<HostCudaKernels>> kernels = HostCudaKernels::create(
      {.text = "extern \"C\" __global__ void twice(float *x) { x[threadIdx.x] *= 2; }\n", .entries = {"twice"}});
  ASSERT_TRUE(kernels) << kernels.status().message();
  const Status status = (*kernels)->launch("thrice", {});
  EXPECT_NE(status.message().find("no kernel 'thrice'"), std::string::npos) << status.message();
  float x[32] = {1, 2, 3};
  EXPECT_TRUE((*kernels)
                  ->launch("twice", {.parameters = {reinterpret_cast<uint64_t>(x)}, .memory = {{x, sizeof x, "x"}}})
                  .ok());
  EXPECT_EQ(x[2], 6);
}

} // namespace
} // namespace fusec::hostcuda
