//===- CudaTarget.h - the GPUs that kernels are compiled for ---------------===//
//
// One row per target in CudaTarget.cpp: the name NVRTC takes, the limits of a
// multiprocessor, the instructions that exist, and the rates of one product as
// hints for the cost model. Adding a target is adding its row.
//
//   FUSEC_ASSIGN_OR_RETURN(const CudaTarget *target, cudaTargetByName("sm_90a"));
//   if (target->has(CudaFeature::Wgmma)) ...
//
// Limits: CUDA C++ Programming Guide, "Technical Specifications per Compute
// Capability"; CudaTargetTest compares them with the toolkit's cuda_occupancy.h.
//
// Threading: constant data.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fusec::codegen {

/// Instructions that not every target has.
enum class CudaFeature : uint32_t {
  Mma = 1 << 0,             ///< mma.sync with f16 and bf16, ldmatrix.
  CpAsync = 1 << 1,         ///< cp.async groups.
  Fp8Mma = 1 << 2,          ///< mma.sync with e4m3 and e5m2, and their conversions.
  BulkCopy = 1 << 3,        ///< cp.async.bulk and tensor maps (TMA), mbarrier transactions.
  Clusters = 1 << 4,        ///< Thread block clusters and distributed shared memory.
  SetMaxRegisters = 1 << 5, ///< setmaxnreg.
  Wgmma = 1 << 6,           ///< Warpgroup matrix products (sm_90a only).
  Tcgen05 = 1 << 7,         ///< Fifth-generation tensor cores and tensor memory (sm_100a only).
};

struct CudaTarget {
  std::string_view name;    ///< "sm_90a": what NVRTC's -arch takes, and the folder in an artifact.
  std::string_view ptxName; ///< "compute_90a": the same for PTX alone.
  int computeCapability;    ///< 10 * major + minor.
  int minimumNvrtc;         ///< First NVRTC that knows it, 1000 * major + 10 * minor.
  uint32_t features;        ///< Bits of CudaFeature.

  // Limits of one multiprocessor and of what runs on it.
  int threadsPerMultiprocessor;
  int blocksPerMultiprocessor;
  int barriersPerMultiprocessor;   ///< Of __syncthreads and bar.sync; 0 where they limit nothing.
  int64_t sharedPerMultiprocessor; ///< Bytes.
  int64_t sharedPerBlock;          ///< Bytes a kernel may ask for (opt-in), static and dynamic together.

  // Hints, of one product.
  std::string_view product;
  int multiprocessors;
  int64_t l2Bytes;
  double bytesPerSecond; ///< Of device memory.
  double bf16PerSecond;  ///< Dense matrix operations (2 per multiply-add), f32 accumulation.

  // The same for all targets so far.
  static constexpr int warpThreads = 32;
  static constexpr int threadsPerBlock = 1024;
  static constexpr int registersPerMultiprocessor = 65536;
  static constexpr int registersPerThread = 255;
  static constexpr int registerPartitions = 4;            ///< Warps of one share a quarter of the registers.
  static constexpr int registerGranule = 256;             ///< Registers are given to a warp in such units.
  static constexpr int64_t sharedGranule = 128;           ///< Bytes.
  static constexpr int64_t sharedReserved = 1024;         ///< Bytes per block that the driver takes.
  static constexpr int64_t sharedWithoutOptIn = 48 << 10; ///< More dynamic bytes need a function attribute.

  bool has(CudaFeature feature) const { return features & static_cast<uint32_t>(feature); }
  int warpsPerMultiprocessor() const { return threadsPerMultiprocessor / warpThreads; }
  /// Code for "sm_90a" runs on compute capability 9.0 alone, not on later ones.
  bool isArchitectureSpecific() const { return name.ends_with('a'); }
  /// Whether a GPU of this compute capability (10 * major + minor) runs the cubin.
  bool runsOn(int capability) const;
};

/// All targets, oldest first.
std::span<const CudaTarget> cudaTargets();

/// InvalidArgument lists the names there are.
Result<const CudaTarget *> cudaTargetByName(std::string_view name);

/// The target whose code is best on a GPU of this compute capability: one whose cubin runs there, else one whose PTX
/// does; null when there is none.
const CudaTarget *cudaTargetFor(int capability);

/// "sm_80,sm_90a": targets in the order given, none twice. InvalidArgument for an unknown or repeated name.
Result<std::vector<const CudaTarget *>> parseCudaTargets(std::string_view list);

} // namespace fusec::codegen
