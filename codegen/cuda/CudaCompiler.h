//===- CudaCompiler.h - tile kernels to the files of a CUDA target ---------===//
//
//   module of tile.kernel -> CUDA C++ -> NVRTC -> kernels/<target>/<entry>.{cu,ptx,cubin}
//
// Texts are written by the emitter, in the order of the module; NVRTC compiles
// them in parallel. The same input and NVRTC give the same bytes.
//
//   CudaOptions options;
//   options.emit.symbols = {"T", "S", "B", "R", "C"};
//   auto kernels = compileCuda(module, target, "out/kernels/sm_80", options);
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/CompiledKernel.h"
#include "codegen/cuda/EmitKernel.h"
#include "codegen/cuda/KernelCompiler.h"

#include "mlir/IR/BuiltinOps.h"

namespace fusec::codegen {

struct CudaOptions {
  CudaEmitOptions emit;           ///< Names, the target's limits and what depends on the module are filled in.
  KernelCompilerOptions compiler; ///< `dumpTo` also receives <entry>.<target>.mlir.
  /// The texts to try for a kernel, the preferred one first; empty function: the one that `emit` gives.
  std::function<Result<KernelLadder>(tile::KernelOp kernel, const CudaTarget &target, const CudaEmitOptions &emit)>
      ladder;
};

/// Compiles every tile.kernel directly inside `module` (plan level) for `target` and writes its files and
/// resources.json into `folder`, which exists and is `kernels/<target>` of an artifact. The result is in module order.
/// The module must not change meanwhile. Errors: the emitter's, Nvrtc::load's and KernelCompiler::compile's.
Result<std::vector<CompiledKernel>> compileCuda(mlir::ModuleOp module, const CudaTarget &target,
                                                const std::filesystem::path &folder, const CudaOptions &options);

} // namespace fusec::codegen
