//===- Occupancy.cpp - how many blocks of a kernel fit a multiprocessor ----===//
#include "codegen/cuda/Occupancy.h"

#include <limits>
#include <utility>

namespace fusec::codegen {

namespace {

constexpr int unlimited = std::numeric_limits<int>::max();

template <class T> T roundUp(T value, T granule) { return (value + granule - 1) / granule * granule; }

int byRegisters(const KernelNeeds &needs, int warps) {
  constexpr int partitions = CudaTarget::registerPartitions;
  if (needs.registers == 0)
    return unlimited;
  const int perWarp = roundUp(needs.registers * CudaTarget::warpThreads, CudaTarget::registerGranule);
  // The check at launch counts whole rows of partitions.
  if (needs.registers > CudaTarget::registersPerThread + 1 ||
      perWarp * roundUp(warps, partitions) > CudaTarget::registersPerMultiprocessor)
    return 0;
  const int warpsPerPartition = CudaTarget::registersPerMultiprocessor / partitions / perWarp;
  return warpsPerPartition * partitions / warps;
}

int byShared(const CudaTarget &target, int64_t bytes) {
  if (bytes > target.sharedPerBlock)
    return 0;
  const int64_t perBlock = roundUp(bytes + CudaTarget::sharedReserved, CudaTarget::sharedGranule);
  return static_cast<int>(target.sharedPerMultiprocessor / perBlock);
}

} // namespace

Occupancy occupancyOf(const CudaTarget &target, const KernelNeeds &needs) {
  if (needs.threads <= 0 || needs.threads > CudaTarget::threadsPerBlock)
    return {0, 0, "threads"};
  const int warps = roundUp(needs.threads, CudaTarget::warpThreads) / CudaTarget::warpThreads;
  const bool countsBarriers = target.barriersPerMultiprocessor > 0 && needs.barriers > 0;
  const std::pair<const char *, int> limits[] = {
      {"threads", target.warpsPerMultiprocessor() / warps},
      {"blocks", target.blocksPerMultiprocessor},
      {"registers", byRegisters(needs, warps)},
      {"shared memory", byShared(target, needs.sharedBytes)},
      {"barriers", countsBarriers ? target.barriersPerMultiprocessor / needs.barriers : unlimited},
  };
  Occupancy occupancy{.blocks = unlimited, .fraction = 0, .limit = {}};
  for (const auto &[name, blocks] : limits)
    if (blocks < occupancy.blocks)
      occupancy.blocks = blocks, occupancy.limit = name;
  occupancy.fraction = static_cast<double>(occupancy.blocks * warps) / target.warpsPerMultiprocessor();
  return occupancy;
}

} // namespace fusec::codegen
