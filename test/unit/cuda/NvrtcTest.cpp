//===- NvrtcTest.cpp - CUDA C++ text to PTX and cubin ----------------------===//
#include "codegen/cuda/Nvrtc.h"

#include "codegen/cuda/CompileLog.h"
#include "test/unit/cuda/CudaTestSupport.h"

#include <gmock/gmock.h>

using namespace fusec;
using namespace fusec::codegen;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

const CudaTarget &sm80 = **cudaTargetByName("sm_80");

/// Doubles a row: a whole kernel in two lines.
constexpr const char *text = R"(#include "scale.cuh"
extern "C" __global__ void __launch_bounds__(128) twice(float *x) { x[threadIdx.x] = scaled(x[threadIdx.x]); }
)";
constexpr CudaHeader headers[] = {{"scale.cuh", "__device__ inline float scaled(float x) { return 2.0f * x; }\n"}};

TEST(Nvrtc, CompilesForEveryTargetItKnows) {
  FUSEC_REQUIRE_NVRTC(nvrtc);
  for (const CudaTarget &target : cudaTargets()) {
    SCOPED_TRACE(target.name);
    if (!nvrtc->supports(target))
      continue;
    auto out = nvrtc->compile({.name = "twice.cu", .text = text, .target = &target, .headers = headers});
    ASSERT_TRUE(out) << out.status().message();
    EXPECT_THAT(out->ptx, HasSubstr(".target " + std::string(target.name)));
    EXPECT_THAT(out->ptx, HasSubstr(".entry twice"));
    EXPECT_THAT(out->cubin, StartsWith("\x7f"
                                       "ELF"));
    EXPECT_FALSE(out->ptx.ends_with('\0'));
    auto resources = parseCompileLog(out->log, "twice");
    ASSERT_TRUE(resources) << out->log;
    EXPECT_GT(resources->registers, 0);
  }
}

TEST(Nvrtc, TheSameInputGivesTheSameBytesWhereverItRuns) {
  FUSEC_REQUIRE_NVRTC(nvrtc);
  const NvrtcInput input{.name = "twice.cu", .text = text, .target = &sm80, .headers = headers};
  const std::filesystem::path here = std::filesystem::current_path();
  auto first = nvrtc->compile(input);
  std::filesystem::current_path("/");
  auto second = nvrtc->compile(input);
  std::filesystem::current_path(here);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->cubin.find(here.string()), std::string::npos);
  EXPECT_THAT(first->ptx, HasSubstr("\"/fusec/twice.cu\""));
  EXPECT_THAT(first->ptx, HasSubstr("\"/fusec/device/scale.cuh\""));
  EXPECT_EQ(first->ptx, second->ptx);
  EXPECT_EQ(first->cubin, second->cubin);
}

TEST(Nvrtc, PtxAloneHasNoCubin) {
  FUSEC_REQUIRE_NVRTC(nvrtc);
  auto out = nvrtc->compile({.name = "twice.cu", .text = text, .target = &sm80, .headers = headers, .ptxOnly = true});
  ASSERT_TRUE(out) << out.status().message();
  EXPECT_THAT(out->ptx, HasSubstr(".target sm_80"));
  EXPECT_TRUE(out->cubin.empty());
}

TEST(Nvrtc, AWrongTextIsOneLineWithPlaceAndLog) {
  FUSEC_REQUIRE_NVRTC(nvrtc);
  std::string log;
  auto out =
      nvrtc->compile({.name = "wrong.cu", .text = "\n__device__ int f() { return g(); }\n", .target = &sm80}, &log);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.status().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(out.status().message(), "wrong.cu for sm_80: wrong.cu(2): error: identifier \"g\" is undefined");
  EXPECT_THAT(log, HasSubstr("return g();"));
}

TEST(Nvrtc, AnErrorInAHeaderNamesItsLine) {
  FUSEC_REQUIRE_NVRTC(nvrtc);
  const CudaHeader wrong[] = {{"scale.cuh", "// one\n// two\noops;\n"}};
  auto out = nvrtc->compile({.name = "twice.cu", .text = text, .target = &sm80, .headers = wrong});
  ASSERT_FALSE(out);
  EXPECT_THAT(out.status().message(), StartsWith("twice.cu for sm_80: scale.cuh(3): error: "));
}

TEST(Nvrtc, AWrongOptionIsNamed) {
  FUSEC_REQUIRE_NVRTC(nvrtc);
  auto out = nvrtc->compile({.name = "k.cu", .text = "", .target = &sm80, .options = {"--bogus"}});
  ASSERT_FALSE(out);
  EXPECT_THAT(out.status().message(), HasSubstr("--bogus"));
}

TEST(Nvrtc, AMissingLibrarySaysWhereItWasSought) {
  auto nvrtc = Nvrtc::load({.library = "/nonexistent/libnvrtc.so"});
  ASSERT_FALSE(nvrtc);
  EXPECT_EQ(nvrtc.status().code(), ErrorCode::NotFound);
  EXPECT_THAT(nvrtc.status().message(), StartsWith("FUSEC_NVRTC: '/nonexistent/libnvrtc.so' cannot be loaded: "));
}

TEST(Nvrtc, AnotherLibraryIsRefused) {
  auto nvrtc = Nvrtc::load({.library = "libm.so.6"});
  ASSERT_FALSE(nvrtc);
  EXPECT_THAT(nvrtc.status().message(), HasSubstr("lacks nvrtcGetErrorString"));
}

TEST(Nvrtc, AnOldOneIsRefusedWithItsVersion) {
  auto nvrtc = Nvrtc::load({.library = FUSEC_OLD_NVRTC});
  ASSERT_FALSE(nvrtc);
  EXPECT_EQ(nvrtc.status().code(), ErrorCode::Unsupported);
  EXPECT_THAT(nvrtc.status().message(), HasSubstr("is NVRTC 11.8; compiling for CUDA needs NVRTC 12.0 or newer"));
}

TEST(Nvrtc, ATargetItDoesNotKnowIsRefused) {
  auto nvrtc = Nvrtc::load({.library = FUSEC_FAKE_NVRTC});
  ASSERT_TRUE(nvrtc) << nvrtc.status().message();
  const CudaTarget &sm120 = **cudaTargetByName("sm_120");
  auto out = nvrtc->compile({.name = "k.cu", .text = "", .target = &sm120});
  ASSERT_FALSE(out);
  EXPECT_THAT(out.status().message(), StartsWith("NVRTC 13.0 cannot compile for sm_120; expected NVRTC 12.8"));
}

} // namespace
