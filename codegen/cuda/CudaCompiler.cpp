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

/// One kernel of the first plan on its way down the ladder.
struct Climb {
  tile::KernelOp original;
  std::optional<unsigned> scores;     ///< CudaEmitOptions::scores.
  tile::KernelOp taken;               ///< Of the plan whose kernel fits.
  std::optional<CudaKernel> compiled; ///< Nothing yet: no text has fitted.
  Status status;                      ///< Why the last text did not fit.
  size_t texts = 0;                   ///< Tried so far.
};

/// Tries the kernels that do not fit yet, rung by rung.
class Climber {
public:
  Climber(const CudaTarget &target, const CudaOptions &options, const KernelCompiler &compiler, mlir::ModuleOp first)
      : target(target), options(options), compiler(compiler), first(first), names(namesOf(first)) {
    for (auto kernel : first.getOps<tile::KernelOp>())
      climbs.push_back({kernel, std::nullopt, {}, std::nullopt, {}, 0});
    plain = climbs.size();
  }

  /// Also tries `kernel` in its form for best ids; false when it has none.
  bool addBest(tile::KernelOp kernel, unsigned scores) {
    Climb climb{kernel, scores, {}, std::nullopt, {}, 0};
    if (!emit(climb, kernel))
      return false;
    climbs.push_back(std::move(climb));
    return true;
  }

  Status tryRung(size_t rung, mlir::ModuleOp plan) {
    llvm::SmallVector<std::pair<Climb *, tile::KernelOp>> tried;
    std::vector<KernelLadder> texts;
    for (Climb &climb : climbs) {
      if (climb.compiled)
        continue;
      tile::KernelOp candidate = climb.original;
      if (plan != first)
        candidate = plan.lookupSymbol<tile::KernelOp>(climb.original.getSymNameAttr());
      if (plan != first && !canReplace(climb.original, plan, candidate))
        continue;
      Result<CudaKernelText> text = emit(climb, candidate);
      if (!text && text.status().code() != ErrorCode::ResourceExhausted)
        return text.status();
      if (!text) { // More shared memory than there is.
        climb.status = text.status();
        continue;
      }
      ++climb.texts;
      texts.push_back({std::move(*text)});
      tried.push_back({&climb, candidate});
    }
    std::vector<Result<CudaKernel>> results = compiler.compileEach(target, texts);
    for (auto [row, result] : llvm::zip_equal(tried, results)) {
      auto [climb, candidate] = row;
      climb->status = result.status();
      if (!result && result.status().code() != ErrorCode::ResourceExhausted)
        return result.status();
      if (!result)
        continue;
      climb->taken = candidate;
      climb->compiled = std::move(*result);
      climb->compiled->rung = rung;
    }
    return {};
  }

  bool isDone() const {
    return llvm::all_of(climbs, [](const Climb &climb) { return climb.compiled.has_value(); });
  }

  /// The error of the first kernel that fits nowhere.
  Status status() const {
    for (const Climb &climb : climbs)
      if (!climb.compiled)
        return climb.texts < 2 ? climb.status
                               : Status(climb.status.code(), climb.status.message() + "; it is the last of " +
                                                                 std::to_string(climb.texts) + " tiles");
    return {};
  }

  /// The kernels of the plan, in module order.
  llvm::MutableArrayRef<Climb> kernels() { return llvm::MutableArrayRef<Climb>(climbs).take_front(plain); }
  /// Those of addBest, in order.
  llvm::MutableArrayRef<Climb> best() { return llvm::MutableArrayRef<Climb>(climbs).drop_front(plain); }

private:
  Result<CudaKernelText> emit(Climb &climb, tile::KernelOp kernel) const {
    CudaOptions form = options;
    form.emit.scores = climb.scores;
    return codegen::emit(kernel, target, form, names.lookup(climb.original.getSymName()));
  }

  const CudaTarget &target;
  const CudaOptions &options;
  const KernelCompiler &compiler;
  mlir::ModuleOp first;
  llvm::StringMap<KernelNames> names;
  std::vector<Climb> climbs;
  size_t plain = 0;
};

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

/// Of the head's first variants, those for few rows, as far as they have a form for best ids.
std::vector<plan::VariantAttr> addBestVariants(mlir::ModuleOp module, Climber &climber) {
  std::vector<plan::VariantAttr> variants;
  std::optional<Head> head = headOf(module);
  if (!head)
    return variants;
  for (auto variant : head->kernel.getVariants().getAsRange<plan::VariantAttr>()) {
    auto kernel = module.lookupSymbol<tile::KernelOp>(variant.getKernel().getAttr());
    if (!climber.addBest(kernel, head->scores))
      break;
    variants.push_back(variant);
  }
  return variants;
}

/// `publish` writes a CudaKernel's files and gives a CompiledKernel.
template <class Publish>
Result<SamplingPlan> publishSampling(const SamplingTexts &texts, const CudaTarget &target,
                                     const KernelCompiler &compiler, llvm::ArrayRef<plan::VariantAttr> variants,
                                     llvm::MutableArrayRef<Climb> best, Publish publish) {
  SamplingPlan plan;
  std::vector<KernelLadder> ladders = {{texts.sample}};
  if (!best.empty())
    ladders.push_back({texts.merge});
  FUSEC_ASSIGN_OR_RETURN(std::vector<CudaKernel> kernels, compiler.compile(target, ladders));
  FUSEC_ASSIGN_OR_RETURN(plan.sample, publish(kernels.front()));
  for (auto [variant, climb] : llvm::zip_equal(variants, best)) {
    FUSEC_ASSIGN_OR_RETURN(CompiledKernel compiled, publish(*climb.compiled));
    plan.best.push_back({std::move(compiled), climb.taken.getGrid(), variant.getSymbol(), variant.getLimit()});
  }
  if (!best.empty()) {
    FUSEC_ASSIGN_OR_RETURN(plan.merge, publish(kernels.back()));
  }
  return plan;
}

} // namespace

Result<CudaKernels> compileCuda(const PlanLadder &plans, const CudaTarget &target, const fs::path &folder,
                                const CudaOptions &options) {
  FUSEC_ASSIGN_OR_RETURN(KernelCompiler compiler, KernelCompiler::create(options.compiler));
  FUSEC_ASSIGN_OR_RETURN(mlir::ModuleOp module, plans.plan(0));
  for (auto kernel : module.getOps<tile::KernelOp>())
    FUSEC_RETURN_IF_ERROR(dumpIR(kernel, target, options.compiler.dumpTo));
  Climber climber(target, options, compiler, module);
  const std::optional<SamplingTexts> sampling = samplingKernels(options.sampledVocab, options.emit.symbols);
  std::vector<plan::VariantAttr> best;
  if (sampling)
    best = addBestVariants(module, climber);
  FUSEC_RETURN_IF_ERROR(climber.tryRung(0, module));
  for (size_t rung = 1; rung < plans.rungs && !climber.isDone(); ++rung) {
    FUSEC_ASSIGN_OR_RETURN(mlir::ModuleOp smaller, plans.plan(rung));
    FUSEC_RETURN_IF_ERROR(climber.tryRung(rung, smaller));
  }
  FUSEC_RETURN_IF_ERROR(climber.status());

  CudaKernels compiled{{}, {}, {std::string(target.name), "NVRTC " + compiler.nvrtc().versionText(), {}}};
  auto publishTo = [&](const CudaKernel &kernel) {
    compiled.table.rows.push_back(kernelTableRow(kernel));
    return publish(kernel, target, folder);
  };
  for (Climb &climb : climber.kernels()) {
    FUSEC_ASSIGN_OR_RETURN(CompiledKernel row, publishTo(*climb.compiled));
    compiled.kernels.push_back(std::move(row));
  }
  if (sampling) {
    FUSEC_ASSIGN_OR_RETURN(compiled.sampling,
                           publishSampling(*sampling, target, compiler, best, climber.best(), publishTo));
  }
  for (Climb &climb : climber.kernels()) { // Last: what is replaced is gone.
    if (climb.taken == climb.original)
      continue;
    FUSEC_RETURN_IF_ERROR(dumpIR(climb.taken, target, options.compiler.dumpTo));
    replaceKernel(climb.original, climb.taken);
  }
  return compiled;
}

} // namespace fusec::codegen
