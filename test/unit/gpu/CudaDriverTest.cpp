//===- CudaDriverTest.cpp - finding a driver, and what is wrong with it -------------===//

#include "runtime/device/cuda/CudaDriverApi.h"
#include "runtime/device/gpu/OpenGpuDevice.h"
#include "test/unit/gpu/GpuTestDevices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

using namespace fusec;
using namespace fusec::runtime;
using namespace fusec::runtime::test;

namespace {

std::string openMessage(const std::string &spec) {
  Result<std::unique_ptr<GpuDevice>> device = openGpuDevice(spec);
  return device ? "opened " + (*device)->info().name : device.status().message();
}

std::string openMessage(const std::string &spec, std::vector<std::pair<std::string, std::string>> variables) {
  FakeDriverScope fake(std::move(variables));
  return openMessage(spec);
}

} // namespace

TEST(OpenGpuDevice, ReadsNames) {
  for (const char *bad : {"", "gpu", "cuda:", "virtual:", "CUDA", "hip:0", ":1"})
    EXPECT_THAT(openMessage(bad), testing::HasSubstr("expected cuda, cuda:N, virtual or virtual:sm_NN")) << bad;
  EXPECT_FALSE(isGpuDeviceName("host"));
  EXPECT_TRUE(isGpuDeviceName("cuda:7"));
  EXPECT_TRUE(isGpuDeviceName("virtual:sm_90a"));
  EXPECT_THAT(openMessage("virtual"), testing::StartsWith("opened virtual"));
  EXPECT_THAT(openMessage("virtual:sm_9000"), testing::HasSubstr("sm_9000"));
  for (const char *bad : {"cuda:x", "cuda:1x", "cuda:99999999999"})
    EXPECT_THAT(openMessage(bad, {}), testing::HasSubstr("expected the number of a GPU, as in cuda:0")) << bad;
}

TEST(CudaDriver, SaysThatThereIsNone) {
  setenv("FUSEC_LIBCUDA", "/nonexistent/libcuda.so.1", 1);
  Result<std::unique_ptr<GpuDevice>> device = openGpuDevice("cuda");
  unsetenv("FUSEC_LIBCUDA");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.status().code(), ErrorCode::NotFound);
  EXPECT_THAT(device.status().message(), testing::HasSubstr("no NVIDIA driver: /nonexistent/libcuda.so.1 not found"));
}

TEST(CudaDriver, RefusesWhatIsNoDriver) {
  setenv("FUSEC_LIBCUDA", "libm.so.6", 1);
  EXPECT_THAT(openMessage("cuda"), testing::HasSubstr("libm.so.6 is not a usable NVIDIA driver"));
  unsetenv("FUSEC_LIBCUDA");
}

TEST(CudaDriver, RefusesOldOnes) {
  EXPECT_THAT(openMessage("cuda", {{"FUSEC_FAKE_CUDA_VERSION", "11080"}}),
              testing::HasSubstr("too old: found one for CUDA 11.8, needed is CUDA 12.0 or newer"));
}

TEST(CudaDriver, SaysThatThereIsNoGpu) {
  EXPECT_THAT(openMessage("cuda", {{"FUSEC_FAKE_CUDA_DEVICES", "0"}}), testing::HasSubstr("CUDA 13.0 finds no GPU"));
}

TEST(CudaDriver, CountsGpus) {
  EXPECT_EQ(openMessage("cuda:1", {{"FUSEC_FAKE_CUDA_DEVICES", "1"}}), "cuda:1: no such GPU, expected cuda:0");
  EXPECT_EQ(openMessage("cuda:5", {{"FUSEC_FAKE_CUDA_DEVICES", "4"}}),
            "cuda:5: no such GPU, expected cuda:0 to cuda:3");
  EXPECT_THAT(openMessage("cuda:3", {{"FUSEC_FAKE_CUDA_DEVICES", "4"}}), testing::HasSubstr("#3"));
}

TEST(CudaDriver, ReadsWhatTheGpuIs) {
  FakeDriverScope fake({{"FUSEC_FAKE_CUDA_TARGET", "sm_90a"}});
  Result<std::unique_ptr<GpuDevice>> device = openGpuDevice("cuda");
  ASSERT_TRUE(device) << device.status().message();
  EXPECT_EQ((*device)->info().computeCapability, 90);
  EXPECT_EQ((*device)->info().driverVersion, 13000);
  EXPECT_FALSE((*device)->info().isVirtual);
}

// A driver of CUDA 12.0 cannot list kernels nor count their parameters; everything else works.
TEST(CudaDriver, WorksWithoutTheNewestFunctions) {
  FakeDriverScope fake({{"FUSEC_FAKE_CUDA_VERSION", "12000"}});
  Result<std::unique_ptr<GpuDevice>> device = openGpuDevice("cuda");
  ASSERT_TRUE(device) << device.status().message();
  const std::string ptx = readFixture("Conformance.ptx");
  auto module = (*device)->loadModule(std::as_bytes(std::span(ptx.data(), ptx.size())), "c.ptx");
  ASSERT_TRUE(module) << module.status().message();
  EXPECT_EQ((*module)->function("missing").status().message(), "c.ptx: no kernel named 'missing'");
  auto buffer = (*device)->allocate(128, "test");
  auto stream = (*device)->createStream();
  auto iota = (*module)->function("iota");
  ASSERT_TRUE(buffer && stream && iota);
  const uint64_t parameters[] = {buffer->address(), 0};
  GpuLaunch launch;
  launch.function = *iota;
  launch.block.x = 32;
  launch.parameters = std::span(parameters).first(1);
  ASSERT_TRUE((*stream)->beginCapture().ok());
  EXPECT_TRUE((*stream)->launch(launch).ok());
  auto graph = (*stream)->endCapture();
  ASSERT_TRUE(graph);
  auto launches = (*graph)->launches();
  ASSERT_TRUE(launches);
  ASSERT_EQ(launches->size(), 1u);
  EXPECT_EQ((*launches)[0].function, "iota");
  EXPECT_EQ((*launches)[0].parameters, std::vector<uint64_t>{buffer->address()});
  launch.parameters = parameters;
  EXPECT_THAT((*stream)->launch(launch).message(), testing::HasSubstr("'iota' has 1 parameters, the launch passes 2"));
}

TEST(CudaDriver, GivesEverythingBack) {
  const int before = fakeLiveObjects();
  ASSERT_GE(before, 0);
  {
    FakeDriverScope fake;
    Result<std::unique_ptr<GpuDevice>> device = openGpuDevice("cuda");
    ASSERT_TRUE(device) << device.status().message();
    const std::string ptx = readFixture("Conformance.ptx");
    auto module = (*device)->loadModule(std::as_bytes(std::span(ptx.data(), ptx.size())), "c.ptx");
    auto buffer = (*device)->allocate(128, "test");
    auto pinned = (*device)->allocatePinned(128, "test");
    auto stream = (*device)->createStream();
    auto event = (*device)->createEvent();
    ASSERT_TRUE(module && buffer && pinned && stream && event);
    ASSERT_TRUE((*stream)->beginCapture().ok());
    auto graph = (*stream)->endCapture();
    ASSERT_TRUE(graph);
    EXPECT_GT(fakeLiveObjects(), before);
    EXPECT_EQ(fakeContextDepth(), 0) << "no context stays current between calls";
  }
  EXPECT_EQ(fakeLiveObjects(), before);
}

TEST(CudaDriver, WritesVersions) {
  EXPECT_EQ(cuda::versionText(12040), "12.4");
  EXPECT_EQ(cuda::versionText(13000), "13.0");
}
