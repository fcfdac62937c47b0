//===- CudaCompiler.cpp - tile kernels to the files of a CUDA target -------===//
#include "codegen/cuda/CudaCompiler.h"

#include "codegen/cuda/KernelTable.h"
#include "ir/plan/PlanDialect.h"
#include "runtime/base/AtomicFile.h"

#include "llvm/ADT/StringMap.h"

namespace fusec::codegen {

namespace fs = std::filesystem;

namespace {

/// What the plan knows of a tile kernel: the names of its buffers and of what it computes, for the text.
struct KernelNames {
  std::vector<std::string> buffers;    ///< Of its first launch.
  std::vector<std::string> implements; ///< Of all launches, in order, each once.
};

/// By the name of the tile kernel.
llvm::StringMap<KernelNames> namesOf(mlir::ModuleOp module) {
  llvm::StringMap<llvm::SmallVector<plan::LaunchOp>> launches;
  module.walk([&](plan::LaunchOp launch) { launches[launch.getKernel()].push_back(launch); });
  llvm::StringMap<KernelNames> names;
  for (auto kernel : module.getOps<plan::KernelOp>()) {
    KernelNames found;
    for (plan::LaunchOp launch : launches.lookup(kernel.getSymName())) {
      if (found.buffers.empty())
        for (mlir::Value buffer : launch.getBuffers())
          if (auto op = buffer.getDefiningOp<plan::BufferOp>())
            found.buffers.push_back(op.getName().str());
      if (std::string name = launch.getName().str(); !llvm::is_contained(found.implements, name))
        found.implements.push_back(std::move(name));
    }
    for (auto variant : kernel.getVariants().getAsRange<plan::VariantAttr>())
      names[variant.getKernel().getValue()] = found;
  }
  return names;
}

Status dumpIR(tile::KernelOp kernel, const CudaTarget &target, const fs::path &folder) {
  std::string text;
  llvm::raw_string_ostream out(text);
  kernel->print(out);
  return writeFileAtomically(folder / (kernel.getSymName().str() + "." + std::string(target.name) + ".mlir"), text);
}

Result<KernelLadder> emit(tile::KernelOp kernel, const CudaTarget &target, const CudaOptions &options,
                          const KernelNames &names) {
  CudaEmitOptions emit = options.emit;
  emit.sharedBytesPerBlock = target.sharedPerBlock;
  emit.bufferNames = names.buffers;
  emit.implements = names.implements;
  if (options.ladder)
    return options.ladder(kernel, target, emit);
  FUSEC_ASSIGN_OR_RETURN(CudaKernelText text, emitCudaKernel(kernel, emit));
  return KernelLadder{std::move(text)};
}

/// Writes a kernel's files; their paths in the result are relative to the artifact.
Result<CompiledKernel> publish(const CudaKernel &kernel, const CudaTarget &target, const fs::path &folder) {
  const std::string &entry = kernel.source.entry;
  const std::string place = "kernels/" + std::string(target.name) + "/" + entry;
  CompiledKernel compiled;
  compiled.entry = entry;
  compiled.threads = kernel.source.threads;
  compiled.sharedBytes = kernel.source.sharedBytes;
  compiled.registers = kernel.resources.registers;
  const struct {
    const char *suffix;
    const std::string &content;
    std::string &path;
  } files[] = {{".cu", kernel.source.text, compiled.source},
               {".ptx", kernel.code.ptx, compiled.ptx},
               {".cubin", kernel.code.cubin, compiled.image}};
  for (const auto &file : files) {
    FUSEC_RETURN_IF_ERROR(writeFileAtomically(folder / (entry + file.suffix), file.content));
    file.path = place + file.suffix;
  }
  return compiled;
}

} // namespace

Result<std::vector<CompiledKernel>> compileCuda(mlir::ModuleOp module, const CudaTarget &target, const fs::path &folder,
                                                const CudaOptions &options) {
  FUSEC_ASSIGN_OR_RETURN(KernelCompiler compiler, KernelCompiler::create(options.compiler));
  llvm::StringMap<KernelNames> names = namesOf(module);
  std::vector<KernelLadder> ladders;
  for (auto kernel : module.getOps<tile::KernelOp>()) {
    if (!options.compiler.dumpTo.empty())
      FUSEC_RETURN_IF_ERROR(dumpIR(kernel, target, options.compiler.dumpTo));
    FUSEC_ASSIGN_OR_RETURN(KernelLadder ladder, emit(kernel, target, options, names.lookup(kernel.getSymName())));
    ladders.push_back(std::move(ladder));
  }
  FUSEC_ASSIGN_OR_RETURN(std::vector<CudaKernel> kernels, compiler.compile(target, ladders));
  std::vector<CompiledKernel> compiled;
  KernelTable table{std::string(target.name), "NVRTC " + compiler.nvrtc().versionText(), {}};
  for (const CudaKernel &kernel : kernels) {
    FUSEC_ASSIGN_OR_RETURN(CompiledKernel row, publish(kernel, target, folder));
    compiled.push_back(std::move(row));
    table.rows.push_back(kernelTableRow(kernel));
  }
  FUSEC_RETURN_IF_ERROR(writeFileAtomically(folder / kernelTableName, kernelTableJson(table)));
  return compiled;
}

} // namespace fusec::codegen
