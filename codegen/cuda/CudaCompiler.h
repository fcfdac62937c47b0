//===- CudaCompiler.h - tile kernels to the files of a CUDA target ---------===//
//
//   module of tile.kernel -> CUDA C++ -> NVRTC -> kernels/<target>/<entry>.{cu,ptx,cubin}
//
// Texts are written by the emitter, in the order of the module; NVRTC compiles
// them in parallel. The same input and NVRTC give the same bytes.
//
// Plans come as a ladder with ever smaller tiles: a kernel that exceeds its budget is
// taken from the next plan, which is asked for then. Plans of one program differ in
// their kernels' tiles only.
//
//   CudaOptions options;
//   options.emit.symbols = {"T", "S", "B", "R", "C"};
//   auto compiled = compileCuda({2, planOfRung}, target, "out/kernels/sm_80", options);
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/CompiledKernel.h"
#include "codegen/SamplingPlan.h"
#include "codegen/cuda/EmitKernel.h"
#include "codegen/cuda/KernelCompiler.h"
#include "codegen/cuda/KernelTable.h"

#include "mlir/IR/BuiltinOps.h"

namespace fusec::codegen {

struct CudaOptions {
  CudaEmitOptions emit;           ///< Names, the target's limits and what depends on the module are filled in.
  KernelCompilerOptions compiler; ///< `dumpTo` also receives <entry>.<target>.mlir.
  int64_t sampledVocab = 0; ///< Columns of the logits that tokens are chosen from on the device; 0 = they are not.
};

struct CudaKernels {
  std::vector<CompiledKernel> kernels;  ///< In module order.
  std::optional<SamplingPlan> sampling; ///< As asked for by CudaOptions::sampledVocab.
  KernelTable table;                    ///< In module order, then those of `sampling`; for writeKernelTable.
};

/// Plans (plan level), the preferred one first.
struct PlanLadder {
  size_t rungs = 1;
  /// The plan of a rung; asked for in order, each once, on the calling thread. The modules live as long as the call.
  std::function<Result<mlir::ModuleOp>(size_t rung)> plan;
};

/// Compiles every tile.kernel directly inside the first of `plans` for `target`. A kernel that does not fit is
/// replaced, in that module, by the one of the same name in the first later plan whose kernel does. Writes the kernels'
/// files into `folder`, which exists and is `kernels/<target>` of an artifact. The modules must not be used meanwhile.
/// Errors: the ladder's, the emitter's, Nvrtc::load's and KernelCompiler::compile's.
Result<CudaKernels> compileCuda(const PlanLadder &plans, const CudaTarget &target, const std::filesystem::path &folder,
                                const CudaOptions &options);

} // namespace fusec::codegen
