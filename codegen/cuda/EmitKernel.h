//===- EmitKernel.h - tile kernels to CUDA C++ -----------------------------===//
//
// Prints one `tile.kernel` as the text of a translation unit for NVRTC:
//
//   #include "tile.cuh"
//   extern "C" __global__ void __launch_bounds__(P) entry(<one pointer per buffer>, const long long *sizes)
//
// One program of the kernel's grid is one block of P threads. `sizes` holds the
// size symbols in the order of the options. A block whose number is not below the
// number of programs, counted from `sizes`, returns at once, so a launch may be
// larger than the kernel's grid. docs/cuda/reading-kernels.md explains the text.
//
// The arithmetic is the kernel's: no reassociation and, compiled with
// --fmad=false, no contraction; only exp, tanh, sin and their like may differ
// from the host's in the last place.
//
//   FUSEC_ASSIGN_OR_RETURN(CudaKernelText kernel, emitCudaKernel(op, options));
//
// Threading: any number of kernels at once, one thread each.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cuda/CudaKernelText.h"
#include "ir/tile/TileDialect.h"
#include "runtime/base/Status.h"
#include "runtime/schema/KvLayout.h"

#include <optional>
#include <string>
#include <vector>

namespace fusec::codegen {

struct CudaEmitOptions {
  std::vector<std::string> symbols; ///< Size symbols in the order of `sizes`.
  int64_t pageTokens = 64;          ///< Positions per cache page; extents of paged dimensions are multiples of it.
  int64_t pageStride = 0;           ///< Bytes from a cache's page to its next; 0 = its pages lie side by side.
  /// Contiguous: a row of the block table counts up from its first entry, which is all that is read of it.
  KvLayout kvLayout = KvLayout::Paged;
  int64_t sharedBytesPerBlock = 166912; ///< The most shared memory a block of the target may ask for (sm_80: 163 KiB).
  bool hasWarpgroupProducts = false;    ///< The target has wgmma (sm_90a).
  std::vector<std::string> bufferNames; ///< What the plan calls the kernel's buffers, or empty.
  std::vector<std::string> implements;  ///< Names of the model's operations, for the header, or empty.
  /// The argument whose stores, [R, ids] scores, become the best id of each row (device/best_ids.cuh): it is then
  /// [R, ids / bestIdsUnit, rounded up] words of 64 bits, a SamplingRow per row is the last argument, and the entry's
  /// name ends in "_best". Unsupported for kernels that do not store them by all threads from a product of few tokens.
  std::optional<unsigned> scores = std::nullopt;
};

/// Unsupported names the kernel and the operation; ResourceExhausted names the shared memory needed and there.
Result<CudaKernelText> emitCudaKernel(tile::KernelOp kernel, const CudaEmitOptions &options);

} // namespace fusec::codegen
