//===- CudaTargetTest.cpp - the table of targets ---------------------------===//
#include "codegen/cuda/CudaTarget.h"

#include <gmock/gmock.h>
#include <set>

using namespace fusec;
using namespace fusec::codegen;
using testing::HasSubstr;

namespace {

TEST(CudaTarget, EveryRowIsConsistent) {
  std::set<std::string_view> names;
  int before = 0;
  for (const CudaTarget &target : cudaTargets()) {
    SCOPED_TRACE(target.name);
    EXPECT_TRUE(names.insert(target.name).second);
    EXPECT_GT(target.computeCapability, before);
    before = target.computeCapability;
    const std::string number = std::to_string(target.computeCapability) + (target.isArchitectureSpecific() ? "a" : "");
    EXPECT_EQ(target.name, "sm_" + number);
    EXPECT_EQ(target.ptxName, "compute_" + number);
    EXPECT_TRUE(target.has(CudaFeature::Mma));
    EXPECT_EQ(target.threadsPerMultiprocessor % CudaTarget::warpThreads, 0);
    EXPECT_EQ(target.sharedPerBlock, target.sharedPerMultiprocessor - CudaTarget::sharedReserved);
    EXPECT_GT(target.bytesPerSecond, 5e11);
    EXPECT_LT(target.bytesPerSecond, 1e13);
    // A byte of device memory is worth 100 to 600 operations on every product listed.
    EXPECT_GT(target.bf16PerSecond / target.bytesPerSecond, 100);
    EXPECT_LT(target.bf16PerSecond / target.bytesPerSecond, 600);
  }
}

TEST(CudaTarget, SpecificInstructionsBelongToSpecificTargets) {
  for (const CudaTarget &target : cudaTargets()) {
    EXPECT_EQ(target.has(CudaFeature::Wgmma), target.name == "sm_90a") << target.name;
    EXPECT_EQ(target.has(CudaFeature::Tcgen05), target.name == "sm_100a") << target.name;
    EXPECT_EQ(target.has(CudaFeature::BulkCopy), target.computeCapability >= 90) << target.name;
  }
}

TEST(CudaTarget, IsFoundByNameAndRefusedByName) {
  for (const CudaTarget &target : cudaTargets())
    EXPECT_EQ(*cudaTargetByName(target.name), &target);
  Result<const CudaTarget *> missing = cudaTargetByName("sm_70");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.status().message(),
            "unknown CUDA target 'sm_70', expected one of sm_80, sm_89, sm_90a, sm_100a, sm_120");
}

TEST(CudaTarget, ListsAreReadInOrder) {
  auto targets = parseCudaTargets("sm_90a,sm_80");
  ASSERT_TRUE(targets);
  ASSERT_EQ(targets->size(), 2u);
  EXPECT_EQ((*targets)[0]->name, "sm_90a");
  EXPECT_EQ((*targets)[1]->name, "sm_80");
  for (const char *wrong : {"", ",", "sm_80,", "sm_80,sm_80", "sm_80 ,sm_89", "SM_80"})
    EXPECT_EQ(parseCudaTargets(wrong).status().code(), ErrorCode::InvalidArgument) << wrong;
}

TEST(CudaTarget, ADeviceGetsTheNewestCodeItRuns) {
  auto nameFor = [](int capability) {
    const CudaTarget *target = cudaTargetFor(capability);
    return std::string(target ? target->name : "none");
  };
  EXPECT_EQ(nameFor(75), "none");
  EXPECT_EQ(nameFor(80), "sm_80");
  EXPECT_EQ(nameFor(86), "sm_80"); // Later minor version of the same major.
  EXPECT_EQ(nameFor(89), "sm_89");
  EXPECT_EQ(nameFor(90), "sm_90a");
  EXPECT_EQ(nameFor(100), "sm_100a");
  EXPECT_EQ(nameFor(103), "sm_89"); // sm_100a is for 10.0 alone; PTX of sm_89 is for everything later.
  EXPECT_EQ(nameFor(121), "sm_120");
  EXPECT_EQ(nameFor(130), "sm_120"); // By its PTX.
}

} // namespace
