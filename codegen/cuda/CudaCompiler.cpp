//===- CudaCompiler.cpp - tile kernels to the files of a CUDA target -------===//
#include "codegen/cuda/CudaCompiler.h"

#include "codegen/cuda/SamplingKernel.h"
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
  if (folder.empty())
    return {};
  std::string text;
  llvm::raw_string_ostream out(text);
  kernel->print(out);
  return writeFileAtomically(folder / (kernel.getSymName().str() + "." + std::string(target.name) + ".mlir"), text);
}

Result<CudaKernelText> emit(tile::KernelOp kernel, const CudaTarget &target, const CudaOptions &options,
                            const KernelNames &names) {
  CudaEmitOptions emit = options.emit;
  emit.sharedBytesPerBlock = target.sharedPerBlock;
  emit.hasWarpgroupProducts = target.has(CudaFeature::Wgmma);
  emit.bufferNames = names.buffers;
  emit.implements = names.implements;
  return emitCudaKernel(kernel, emit);
}

/// The plans' kernels of one name that can stand for each other, and their texts.
struct Candidates {
  llvm::SmallVector<tile::KernelOp> kernels; ///< One per text.
  llvm::SmallVector<size_t> plans;           ///< The place of each one's plan.
  KernelLadder texts;
};

/// Whether a kernel of a later plan can replace `kernel`: same arguments, run under the same conditions.
bool canReplace(tile::KernelOp kernel, mlir::ModuleOp plan, tile::KernelOp other) {
  auto conditions = [](mlir::ModuleOp module, llvm::StringRef name) -> mlir::ArrayAttr {
    for (auto op : module.getOps<plan::KernelOp>())
      for (auto variant : op.getVariants().getAsRange<plan::VariantAttr>())
        if (variant.getKernel().getValue() == name)
          return op.getVariants();
    return {};
  };
  auto home = kernel->getParentOfType<mlir::ModuleOp>();
  return other && other.getBody().getArgumentTypes() == kernel.getBody().getArgumentTypes() &&
         conditions(home, kernel.getSymName()) == conditions(plan, kernel.getSymName());
}

/// A text that asks for more shared memory than there is is no candidate, unless it is the only one.
Result<Candidates> candidatesFor(tile::KernelOp kernel, llvm::ArrayRef<mlir::ModuleOp> plans, const CudaTarget &target,
                                 const CudaOptions &options, const KernelNames &names) {
  Candidates found;
  Status tooLarge;
  for (auto [i, plan] : llvm::enumerate(plans)) {
    auto candidate = mlir::ModuleOp(plan).lookupSymbol<tile::KernelOp>(kernel.getSymNameAttr());
    if (!canReplace(kernel, plan, candidate))
      continue;
    Result<CudaKernelText> text = emit(candidate, target, options, names);
    if (!text && text.status().code() == ErrorCode::ResourceExhausted) {
      tooLarge = text.status();
      continue;
    }
    if (!text)
      return text.status();
    found.kernels.push_back(candidate);
    found.plans.push_back(i);
    found.texts.push_back(std::move(*text));
  }
  return found.texts.empty() ? Result<Candidates>(tooLarge) : found;
}

/// Puts `replacement`, of another module, in the place of `kernel`.
void replaceKernel(tile::KernelOp kernel, tile::KernelOp replacement) {
  mlir::OpBuilder(kernel).clone(*replacement);
  kernel.erase();
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

//===----------------------------------------------------------------------===//
// Choosing tokens
//===----------------------------------------------------------------------===//

/// The kernel of the one launch with the plan's output, and the place of that among its arguments.
struct Head {
  plan::KernelOp kernel;
  unsigned scores = 0;
};

std::optional<Head> headOf(mlir::ModuleOp module) {
  std::optional<Head> head;
  int64_t launches = 0;
  module.walk([&](plan::LaunchOp launch) {
    for (auto [i, buffer] : llvm::enumerate(launch.getBuffers()))
      if (auto op = buffer.getDefiningOp<plan::BufferOp>(); op && op.getKind() == plan::BufferKind::Output) {
        head = {module.lookupSymbol<plan::KernelOp>(launch.getKernel()), static_cast<unsigned>(i)};
        ++launches;
      }
  });
  return launches == 1 && head->kernel ? head : std::nullopt;
}

/// A variant of the head that finds the best ids, before it is compiled.
struct BestCandidates {
  plan::VariantAttr variant;
  Candidates found;
};

/// Of the first variants, those for few rows, as far as they have such a form.
std::vector<BestCandidates> bestVariants(llvm::ArrayRef<mlir::ModuleOp> plans, const CudaTarget &target,
                                         CudaOptions options, const llvm::StringMap<KernelNames> &names) {
  std::vector<BestCandidates> list;
  mlir::ModuleOp module = plans.front();
  std::optional<Head> head = headOf(module);
  if (!head)
    return list;
  options.emit.scores = head->scores;
  for (auto variant : head->kernel.getVariants().getAsRange<plan::VariantAttr>()) {
    auto kernel = module.lookupSymbol<tile::KernelOp>(variant.getKernel().getAttr());
    Result<Candidates> found = candidatesFor(kernel, plans, target, options, names.lookup(kernel.getSymName()));
    if (!found)
      break;
    list.push_back({variant, std::move(*found)});
  }
  return list;
}

/// The ladders of everything that chooses tokens, in one order for compiling and for what comes of it.
struct SamplingLadders {
  std::optional<SamplingTexts> texts;
  std::vector<BestCandidates> best;

  void addTo(std::vector<KernelLadder> &ladders) const {
    if (!texts)
      return;
    ladders.push_back({texts->sample});
    for (const BestCandidates &variant : best)
      ladders.push_back(variant.found.texts);
    if (!best.empty())
      ladders.push_back({texts->merge});
  }
  /// `publish` gives a CompiledKernel; `kernels` are those of addTo().
  template <class Publish> Result<SamplingPlan> publishAll(std::span<const CudaKernel> kernels, Publish publish) const {
    SamplingPlan plan;
    FUSEC_ASSIGN_OR_RETURN(plan.sample, publish(kernels.front()));
    for (const auto &[variant, kernel] : llvm::zip_first(best, kernels.subspan(1))) {
      FUSEC_ASSIGN_OR_RETURN(CompiledKernel compiled, publish(kernel));
      tile::KernelOp taken = variant.found.kernels[kernel.rung];
      plan.best.push_back(
          {std::move(compiled), taken.getGrid(), variant.variant.getSymbol(), variant.variant.getLimit()});
    }
    if (!best.empty()) {
      FUSEC_ASSIGN_OR_RETURN(plan.merge, publish(kernels.back()));
    }
    return plan;
  }
};

} // namespace

Result<CudaKernels> compileCuda(llvm::ArrayRef<mlir::ModuleOp> plans, const CudaTarget &target, const fs::path &folder,
                                const CudaOptions &options) {
  FUSEC_ASSIGN_OR_RETURN(KernelCompiler compiler, KernelCompiler::create(options.compiler));
  mlir::ModuleOp module = plans.front();
  llvm::StringMap<KernelNames> names = namesOf(module);
  std::vector<Candidates> candidates;
  std::vector<KernelLadder> ladders;
  for (auto kernel : module.getOps<tile::KernelOp>()) {
    FUSEC_RETURN_IF_ERROR(dumpIR(kernel, target, options.compiler.dumpTo));
    FUSEC_ASSIGN_OR_RETURN(Candidates found,
                           candidatesFor(kernel, plans, target, options, names.lookup(kernel.getSymName())));
    ladders.push_back(found.texts);
    candidates.push_back(std::move(found));
  }
  SamplingLadders sampling{samplingKernels(options.sampledVocab, options.emit.symbols), {}};
  if (sampling.texts)
    sampling.best = bestVariants(plans, target, options, names);
  sampling.addTo(ladders);
  FUSEC_ASSIGN_OR_RETURN(std::vector<CudaKernel> kernels, compiler.compile(target, ladders));

  CudaKernels compiled{{}, {}, {std::string(target.name), "NVRTC " + compiler.nvrtc().versionText(), {}}};
  auto publishTo = [&](const CudaKernel &kernel) {
    compiled.table.rows.push_back(kernelTableRow(kernel));
    return publish(kernel, target, folder);
  };
  const std::vector<CudaKernel> choosing(std::make_move_iterator(kernels.begin() + candidates.size()),
                                         std::make_move_iterator(kernels.end()));
  kernels.resize(candidates.size());
  auto originals = llvm::to_vector(module.getOps<tile::KernelOp>());
  for (auto [original, choice, kernel] : llvm::zip_equal(originals, candidates, kernels)) {
    tile::KernelOp taken = choice.kernels[kernel.rung];
    kernel.rung = choice.plans[kernel.rung];
    FUSEC_ASSIGN_OR_RETURN(CompiledKernel row, publishTo(kernel));
    compiled.kernels.push_back(std::move(row));
    if (taken == original)
      continue;
    FUSEC_RETURN_IF_ERROR(dumpIR(taken, target, options.compiler.dumpTo));
    replaceKernel(original, taken);
  }
  if (sampling.texts) {
    FUSEC_ASSIGN_OR_RETURN(compiled.sampling, sampling.publishAll(choosing, publishTo));
  }
  return compiled;
}

} // namespace fusec::codegen
