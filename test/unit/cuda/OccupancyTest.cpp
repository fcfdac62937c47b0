//===- OccupancyTest.cpp - our occupancy against NVIDIA's ------------------===//
#include "codegen/cuda/Occupancy.h"

#include <gtest/gtest.h>

#if __has_include(<cuda_occupancy.h>)
#include <cuda_occupancy.h>
#define FUSEC_HAS_CUDA_OCCUPANCY 1
#else
#define FUSEC_HAS_CUDA_OCCUPANCY 0
#endif

using namespace fusec;
using namespace fusec::codegen;

namespace {

const CudaTarget &target(const char *name) { return **cudaTargetByName(name); }

TEST(Occupancy, CountsByHand) {
  // 128 threads of 160 registers: 12 warps fit the registers (4 partitions of 3), so 3 blocks; 12 of 64 warp slots.
  const Occupancy attention = occupancyOf(target("sm_80"), {128, 160, 32 << 10, 1});
  EXPECT_EQ(attention.blocks, 3);
  EXPECT_EQ(attention.limit, "registers");
  EXPECT_DOUBLE_EQ(attention.fraction, 12.0 / 64);
  // 100 KiB of shared memory: two blocks do not fit 164 KiB.
  EXPECT_EQ(occupancyOf(target("sm_80"), {256, 32, 100 << 10, 0}).limit, "shared memory");
  EXPECT_EQ(occupancyOf(target("sm_80"), {256, 32, 100 << 10, 0}).blocks, 1);
  // Small blocks: as many as there are slots for.
  EXPECT_EQ(occupancyOf(target("sm_89"), {32, 16, 0, 0}).blocks, 24);
  EXPECT_EQ(occupancyOf(target("sm_89"), {32, 16, 0, 0}).limit, "blocks");
}

TEST(Occupancy, IsZeroForWhatCannotBeLaunched) {
  EXPECT_EQ(occupancyOf(target("sm_80"), {0, 16, 0, 0}).blocks, 0);
  EXPECT_EQ(occupancyOf(target("sm_80"), {1056, 16, 0, 0}).blocks, 0);
  EXPECT_EQ(occupancyOf(target("sm_80"), {1024, 65, 0, 0}).blocks, 0);
  EXPECT_EQ(occupancyOf(target("sm_89"), {128, 16, 100 << 10, 0}).blocks, 0);
  EXPECT_EQ(occupancyOf(target("sm_89"), {128, 16, 99 << 10, 0}).blocks, 1);
}

#if FUSEC_HAS_CUDA_OCCUPANCY

cudaOccDeviceProp propertiesOf(const CudaTarget &target) {
  cudaOccDeviceProp properties;
  properties.computeMajor = target.computeCapability / 10;
  properties.computeMinor = target.computeCapability % 10;
  properties.maxThreadsPerBlock = CudaTarget::threadsPerBlock;
  properties.maxThreadsPerMultiprocessor = target.threadsPerMultiprocessor;
  properties.regsPerBlock = properties.regsPerMultiprocessor = CudaTarget::registersPerMultiprocessor;
  properties.warpSize = CudaTarget::warpThreads;
  properties.sharedMemPerBlock = CudaTarget::sharedWithoutOptIn;
  properties.sharedMemPerBlockOptin = target.sharedPerBlock;
  properties.sharedMemPerMultiprocessor = target.sharedPerMultiprocessor;
  properties.reservedSharedMemPerBlock = CudaTarget::sharedReserved;
  properties.numSms = target.multiprocessors;
  return properties;
}

int blocksByNvidia(const CudaTarget &target, const KernelNeeds &needs) {
  const cudaOccDeviceProp properties = propertiesOf(target);
  cudaOccFuncAttributes attributes;
  attributes.maxThreadsPerBlock = CudaTarget::threadsPerBlock;
  attributes.numRegs = needs.registers;
  attributes.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  attributes.maxDynamicSharedSizeBytes = static_cast<size_t>(target.sharedPerBlock);
  attributes.numBlockBarriers = needs.barriers;
  const cudaOccDeviceState state;
  cudaOccResult result{};
  const cudaOccError error = cudaOccMaxActiveBlocksPerMultiprocessor(
      &result, &properties, &attributes, &state, needs.threads, static_cast<size_t>(needs.sharedBytes));
  EXPECT_EQ(error, CUDA_OCC_SUCCESS);
  return result.activeBlocksPerMultiprocessor;
}

TEST(Occupancy, EqualsTheToolkitsOnAGridOfKernels) {
  for (const CudaTarget &target : cudaTargets())
    for (int threads : {32, 64, 96, 128, 160, 256, 384, 512, 1024})
      for (int registers : {1, 16, 24, 32, 40, 63, 64, 65, 80, 96, 128, 160, 168, 200, 255})
        for (int64_t shared = 0; shared < 240000; shared += 613)
          for (int barriers : {0, 1, 2, 5, 16}) {
            const KernelNeeds needs{threads, registers, shared, barriers};
            EXPECT_EQ(occupancyOf(target, needs).blocks, blocksByNvidia(target, needs))
                << target.name << ": " << threads << " threads, " << registers << " registers, " << shared << " bytes, "
                << barriers << " barriers";
          }
}

#else

TEST(Occupancy, EqualsTheToolkitsOnAGridOfKernels) { GTEST_SKIP() << "built without the toolkit's cuda_occupancy.h"; }

#endif

} // namespace
