//===- CudaTarget.cpp - the GPUs that kernels are compiled for -------------===//
#include "codegen/cuda/CudaTarget.h"

#include <algorithm>
#include <iterator>

namespace fusec::codegen {

namespace {

constexpr uint32_t bits(std::initializer_list<CudaFeature> features) {
  uint32_t all = 0;
  for (CudaFeature feature : features)
    all |= static_cast<uint32_t>(feature);
  return all;
}

using enum CudaFeature;
constexpr uint32_t ampere = bits({Mma, CpAsync});
constexpr uint32_t ada = ampere | bits({Fp8Mma});
constexpr uint32_t hopper = ada | bits({BulkCopy, Clusters});
constexpr int64_t KiB = 1024, MiB = 1024 * KiB;

/// Rates: the products' data sheets, dense, without boost beyond them.
constexpr CudaTarget table[] = {
    // clang-format off
    {.name = "sm_80", .ptxName = "compute_80", .computeCapability = 80, .minimumNvrtc = 11000, .features = ampere,
     .threadsPerMultiprocessor = 2048, .blocksPerMultiprocessor = 32, .barriersPerMultiprocessor = 0,
     .sharedPerMultiprocessor = 164 * KiB, .sharedPerBlock = 163 * KiB,
     .product = "A100 SXM 80 GB", .multiprocessors = 108, .l2Bytes = 40 * MiB,
     .bytesPerSecond = 2.04e12, .bf16PerSecond = 312e12},
    {.name = "sm_89", .ptxName = "compute_89", .computeCapability = 89, .minimumNvrtc = 11080, .features = ada,
     .threadsPerMultiprocessor = 1536, .blocksPerMultiprocessor = 24, .barriersPerMultiprocessor = 0,
     .sharedPerMultiprocessor = 100 * KiB, .sharedPerBlock = 99 * KiB,
     .product = "L40S", .multiprocessors = 142, .l2Bytes = 96 * MiB,
     .bytesPerSecond = 0.864e12, .bf16PerSecond = 362e12},
    {.name = "sm_90a", .ptxName = "compute_90a", .computeCapability = 90, .minimumNvrtc = 12000,
     .features = hopper | bits({SetMaxRegisters, Wgmma}),
     .threadsPerMultiprocessor = 2048, .blocksPerMultiprocessor = 32, .barriersPerMultiprocessor = 64,
     .sharedPerMultiprocessor = 228 * KiB, .sharedPerBlock = 227 * KiB,
     .product = "H100 SXM", .multiprocessors = 132, .l2Bytes = 50 * MiB,
     .bytesPerSecond = 3.35e12, .bf16PerSecond = 989e12},
    {.name = "sm_100a", .ptxName = "compute_100a", .computeCapability = 100, .minimumNvrtc = 12080,
     .features = hopper | bits({SetMaxRegisters, Tcgen05}),
     .threadsPerMultiprocessor = 2048, .blocksPerMultiprocessor = 32, .barriersPerMultiprocessor = 64,
     .sharedPerMultiprocessor = 228 * KiB, .sharedPerBlock = 227 * KiB,
     .product = "B200", .multiprocessors = 148, .l2Bytes = 126 * MiB,
     .bytesPerSecond = 8e12, .bf16PerSecond = 2250e12},
    {.name = "sm_120", .ptxName = "compute_120", .computeCapability = 120, .minimumNvrtc = 12080, .features = hopper,
     .threadsPerMultiprocessor = 1536, .blocksPerMultiprocessor = 24, .barriersPerMultiprocessor = 24,
     .sharedPerMultiprocessor = 100 * KiB, .sharedPerBlock = 99 * KiB,
     .product = "RTX 5090", .multiprocessors = 170, .l2Bytes = 96 * MiB,
     .bytesPerSecond = 1.792e12, .bf16PerSecond = 209e12},
    // clang-format on
};

std::string namesOfAll() {
  std::string names;
  for (const CudaTarget &target : table)
    names += (names.empty() ? "" : ", ") + std::string(target.name);
  return names;
}

} // namespace

bool CudaTarget::runsOn(int capability) const {
  if (isArchitectureSpecific())
    return capability == computeCapability;
  // A cubin runs on later minor versions of its major version.
  return capability / 10 == computeCapability / 10 && capability >= computeCapability;
}

std::span<const CudaTarget> cudaTargets() { return table; }

Result<const CudaTarget *> cudaTargetByName(std::string_view name) {
  for (const CudaTarget &target : table)
    if (target.name == name)
      return &target;
  return invalidArgument("unknown CUDA target '" + std::string(name) + "', expected one of " + namesOfAll());
}

const CudaTarget *cudaTargetFor(int capability) {
  for (auto target = std::rbegin(table); target != std::rend(table); ++target)
    if (target->runsOn(capability))
      return &*target;
  for (auto target = std::rbegin(table); target != std::rend(table); ++target)
    if (!target->isArchitectureSpecific() && target->computeCapability <= capability)
      return &*target; // By its PTX, which the driver compiles.
  return nullptr;
}

Result<std::vector<const CudaTarget *>> parseCudaTargets(std::string_view list) {
  std::vector<const CudaTarget *> targets;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    FUSEC_ASSIGN_OR_RETURN(const CudaTarget *target, cudaTargetByName(list.substr(begin, end - begin)));
    if (std::find(targets.begin(), targets.end(), target) != targets.end())
      return invalidArgument("CUDA target '" + std::string(target->name) + "' is named twice");
    targets.push_back(target);
    begin = end + 1;
  }
  return targets;
}

} // namespace fusec::codegen
