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
  const std::set<std::string_view> replaced = {"bulk_copy.cuh",    "cp_async.cuh",   "ldmatrix.cuh", "ptx_matrix.cuh",
                                               "ptx_mbarrier.cuh", "ptx_scalar.cuh", "ptx_wgmma.cuh"},
                                   refused = {"fp8.cuh"};
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
  Result<std::filesystem::path> library = compileHostCuda({.name = "eight", .text = "#include \"fp8.cuh\"\n"});
  ASSERT_FALSE(library);
  EXPECT_NE(library.status().message().find("fp8.cuh is inline PTX that has no host form"), std::string::npos)
      << library.status().message();
}

TEST(HostCudaSeam, NamesTheKernelItDoesNotHave) {
  if (std::string why = whyNoHostCuda(); !why.empty())
    GTEST_SKIP() << why;
  Result<std::unique_ptr<HostCudaKernels>> kernels = HostCudaKernels::create(
      {.name = "twice", .text = "extern \"C\" __global__ void twice(float *x) {\n  x[threadIdx.x] *= 2;\n}\n"});
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
