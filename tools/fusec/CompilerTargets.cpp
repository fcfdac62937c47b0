//===- CompilerTargets.cpp - the last phase, once per target ---------------===//
#include "tools/fusec/CompilerTargets.h"

#include "codegen/artifact/ManifestWriter.h"
#include "codegen/cuda/CudaCompiler.h"
#include "codegen/host/ObjectCompiler.h"
#include "tools/fusec/KernelPrediction.h"
#include "tools/fusec/LibraryProducts.h"
#include "tools/fusec/TargetChoice.h"

namespace fusec {

namespace fs = std::filesystem;

namespace {

using Modules = std::vector<mlir::OwningOpRef<mlir::ModuleOp>>;

Status makeDirectory(const fs::path &path) {
  std::error_code error;
  fs::create_directories(path, error);
  return error ? invalidArgument("cannot create '" + path.string() + "': " + error.message()) : Status();
}

/// Progress of the part of the compilation that this file does: from 0.1 to 0.7.
void report(const CompileOptions &options, double fraction) {
  if (options.progress)
    options.progress("compiling kernels", 0.1 + 0.6 * fraction);
}

/// The levels asked for, else the best one this machine runs.
std::vector<std::string> levelsOf(const CompileOptions &options) {
  return options.levels.empty() ? std::vector<std::string>{defaultLevel()} : options.levels;
}

PipelineOptions hostPipeline(const CompileOptions &options, const std::string &level) {
  return {registersOf(level), options.pageTokens};
}

/// Plans of one program with ever smaller tiles.
constexpr size_t cudaRungs = 4;

PipelineOptions cudaPipeline(const std::string &math, const CompileOptions &options, const ProductRates &products,
                             size_t rung = 0) {
  PipelineOptions pipeline{32, options.pageTokens};
  pipeline.isGpu = true;
  pipeline.rung = static_cast<int64_t>(rung);
  pipeline.operands = math == "f32" ? "" : math;
  pipeline.streamWeights = options.streamWeights;
  pipeline.products = products;
  return pipeline;
}

/// The plan of one target. IR that is a plan already has its pages.
Result<mlir::OwningOpRef<mlir::ModuleOp>> planFor(Compilation &compilation, const PipelineOptions &pipeline,
                                                  const std::string &name) {
  FUSEC_ASSIGN_OR_RETURN(auto module, compilation.planFor(pipeline, name));
  if (const int64_t found = codegen::pageTokens(*module); found != pipeline.page)
    return invalidArgument("pages of the KV cache: expected " + std::to_string(pipeline.page) +
                           " tokens, the plan has " + std::to_string(found));
  return module;
}

/// Plans and compiles the kernels of one CPU level.
Result<codegen::TargetPlan> compileLevel(Compilation &compilation, const CompileOptions &options,
                                         const std::string &level, Modules &modules) {
  FUSEC_ASSIGN_OR_RETURN(auto module, planFor(compilation, hostPipeline(options, level), level));
  codegen::HostOptions host;
  host.lowering.symbols = codegen::symbolOrder();
  host.lowering.pageTokens = options.pageTokens;
  host.lowering.pageStride = codegen::pageStride(*module, kvPageAlignment(options.kvLayout, TargetKind::Host));
  host.lowering.kvLayout = options.kvLayout;
  host.dumpKernelsTo = options.dumpKernelsTo;
  FUSEC_ASSIGN_OR_RETURN(auto kernels,
                         codegen::compileHost(*module, level, options.output / "kernels" / (level + ".so"), host));
  codegen::TargetPlan target{level, *module, std::move(kernels), TargetKind::Host, {}};
  modules.push_back(std::move(module));
  return target;
}

/// Plans and compiles the kernels of one CUDA target; `progress` runs from 0 to 1.
Result<codegen::TargetPlan> compileCudaTarget(Compilation &compilation, const CompileOptions &options,
                                              const codegen::CudaTarget &target, const ProductRates &products,
                                              const std::function<void(double)> &progress, Modules &modules) {
  const std::string name(target.name);
  const std::string math = compilation.math();
  Modules owned;
  auto planOf = [&](size_t rung) -> Result<mlir::ModuleOp> {
    if (rung == owned.size()) {
      FUSEC_ASSIGN_OR_RETURN(auto module, planFor(compilation, cudaPipeline(math, options, products, rung), name));
      owned.push_back(std::move(module));
    }
    return *owned[rung];
  };
  FUSEC_ASSIGN_OR_RETURN(mlir::ModuleOp first, planOf(0));
  codegen::CudaOptions cuda;
  cuda.emit.symbols = codegen::symbolOrder();
  cuda.emit.pageTokens = options.pageTokens;
  cuda.emit.pageStride = codegen::pageStride(first, kvPageAlignment(options.kvLayout, TargetKind::Cuda));
  cuda.emit.kvLayout = options.kvLayout;
  cuda.sampledVocab = compilation.model().config().vocab;
  cuda.compiler.nvrtc.library = options.nvrtc;
  cuda.compiler.cache = options.kernelCache;
  cuda.compiler.dumpTo = options.dumpKernelsTo;
  cuda.compiler.progress = [&](size_t done, size_t all) {
    progress(static_cast<double>(done) / static_cast<double>(all));
  };
  const fs::path folder = options.output / "kernels" / name;
  FUSEC_RETURN_IF_ERROR(makeDirectory(folder));
  FUSEC_ASSIGN_OR_RETURN(codegen::CudaKernels compiled,
                         codegen::compileCuda({cudaRungs, planOf}, target, folder, cuda));
  predictBytes(first, compiled.table);
  FUSEC_RETURN_IF_ERROR(codegen::writeKernelTable(folder, compiled.table));
  codegen::TargetPlan plan{
      name, first, std::move(compiled.kernels), TargetKind::Cuda, math, std::move(compiled.sampling)};
  modules.push_back(std::move(owned.front()));
  return plan;
}

} // namespace

Result<PipelineOptions> firstPipeline(const Compilation &compilation, const CompileOptions &options) {
  FUSEC_ASSIGN_OR_RETURN(TargetChoice choice, parseTargetChoice(options.target));
  if (choice.kind == TargetKind::Host)
    return hostPipeline(options, levelsOf(options).front());
  FUSEC_ASSIGN_OR_RETURN(ProductRates products, productRates(options.libraryProducts, *choice.cuda.front()));
  return cudaPipeline(compilation.math(), options, products);
}

Result<std::vector<codegen::TargetPlan>> compileTargets(Compilation &compilation, const CompileOptions &options,
                                                        Modules &modules) {
  FUSEC_ASSIGN_OR_RETURN(TargetChoice choice, parseTargetChoice(options.target));
  FUSEC_RETURN_IF_ERROR(makeDirectory(options.output / "kernels"));
  if (!options.dumpKernelsTo.empty())
    FUSEC_RETURN_IF_ERROR(makeDirectory(options.dumpKernelsTo));
  std::vector<codegen::TargetPlan> targets;
  ProductRates products; // Launches are the same for all targets: the first one's rates decide.
  if (choice.kind == TargetKind::Cuda) {
    FUSEC_ASSIGN_OR_RETURN(products, productRates(options.libraryProducts, *choice.cuda.front()));
  }
  const bool isHost = choice.kind == TargetKind::Host;
  const std::vector<std::string> levels = isHost ? levelsOf(options) : std::vector<std::string>();
  const size_t count = isHost ? levels.size() : choice.cuda.size();
  for (size_t i = 0; i < count; ++i) {
    auto progress = [&, i](double part) {
      report(options, (static_cast<double>(i) + part) / static_cast<double>(count));
    };
    progress(0);
    FUSEC_ASSIGN_OR_RETURN(codegen::TargetPlan target, isHost ? compileLevel(compilation, options, levels[i], modules)
                                                              : compileCudaTarget(compilation, options, *choice.cuda[i],
                                                                                  products, progress, modules));
    targets.push_back(std::move(target));
  }
  return targets;
}

} // namespace fusec
