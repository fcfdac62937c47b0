//===- ObjectCompiler.cpp - tile kernels to one shared library -------------===//
#include "codegen/host/ObjectCompiler.h"

#include "codegen/host/SharedLinker.h"

#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Utils/Cloning.h"

#include <atomic>
#include <mutex>
#include <thread>

using namespace fusec::tile;

namespace fusec::codegen {
namespace fs = std::filesystem;

namespace {

constexpr llvm::StringLiteral tripleName = "x86_64-unknown-linux-gnu";
/// Kernels are vector code already: only clean-up and hoisting are left to do.
constexpr llvm::StringLiteral pipeline =
    "function(early-cse<memssa>,instcombine<no-verify-fixpoint>,loop-mssa(licm),simplifycfg)";

/// Keeps instructions in the order they were emitted. The machine scheduler
/// hoists the decoding of weights away from its use, up to 1500 spills per loop;
/// emission already alternates independent chains.
class EmissionOrder final : public llvm::OptPassGate {
public:
  bool shouldRunPass(llvm::StringRef pass, llvm::StringRef) const override { return pass != "machine-scheduler"; }
  bool isEnabled() const override { return true; }
};

std::unique_ptr<llvm::TargetMachine> makeTargetMachine(const HostLevel &level) {
  static std::once_flag initialised;
  std::call_once(initialised, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
  llvm::Triple triple(tripleName);
  std::string message;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return nullptr;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, level.cpu, level.features, options, llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Default));
}

Status optimise(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  llvm::ModulePassManager passes;
  if (llvm::Error error = builder.parsePassPipeline(passes, pipeline))
    return internalError("pass pipeline: " + llvm::toString(std::move(error)));
  passes.run(module, modules);
  return Status();
}

Result<std::string> generate(llvm::Module &module, llvm::TargetMachine &machine, llvm::CodeGenFileType kind) {
  llvm::SmallString<0> bytes;
  llvm::raw_svector_ostream out(bytes);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, out, nullptr, kind))
    return internalError("the X86 target cannot write objects");
  passes.run(module);
  return std::string(bytes.data(), bytes.size());
}

Status writeText(const fs::path &path, llvm::StringRef text) {
  std::error_code error;
  llvm::raw_fd_ostream out(path.string(), error);
  if (error)
    return invalidArgument("cannot write '" + path.string() + "': " + error.message());
  out << text;
  return Status();
}

template <typename T> std::string printed(const T &what) {
  std::string text;
  llvm::raw_string_ostream out(text);
  what.print(out, nullptr);
  return text;
}

Status dumpKernel(KernelOp kernel, llvm::Module &module, llvm::TargetMachine &machine, const HostLevel &level,
                  const fs::path &folder) {
  std::string name = kernel.getSymName().str(), suffix = "." + std::string(level.name);
  std::string text;
  llvm::raw_string_ostream out(text);
  kernel->print(out);
  FUSEC_RETURN_IF_ERROR(writeText(folder / (name + ".mlir"), text));
  FUSEC_RETURN_IF_ERROR(writeText(folder / (name + suffix + ".ll"), printed(module)));
  // Generating code rewrites the module; the object must not depend on whether somebody looked.
  std::unique_ptr<llvm::Module> copy = llvm::CloneModule(module);
  FUSEC_ASSIGN_OR_RETURN(std::string assembly, generate(*copy, machine, llvm::CodeGenFileType::AssemblyFile));
  return writeText(folder / (name + suffix + ".s"), assembly);
}

struct KernelObject {
  CompiledKernel kernel;
  std::string bytes;
};

Result<KernelObject> compileKernel(KernelOp kernel, const HostLevel &level, const HostOptions &options) {
  std::string name = kernel.getSymName().str();
  std::unique_ptr<llvm::TargetMachine> machine = makeTargetMachine(level);
  if (!machine)
    return internalError("this LLVM has no X86 target");
  EmissionOrder order;
  llvm::LLVMContext context;
  context.setOptPassGate(order);
  llvm::Module module(name, context);
  module.setTargetTriple(llvm::Triple(tripleName));
  module.setDataLayout(machine->createDataLayout());
  module.setPICLevel(llvm::PICLevel::SmallPIC);
  FUSEC_ASSIGN_OR_RETURN(LoweredKernel lowered, lowerKernel(kernel, level, options.lowering, module));
  std::string message;
  llvm::raw_string_ostream out(message);
  if (llvm::verifyModule(module, &out))
    return internalError("kernel '" + name + "' became invalid LLVM IR: " + message);
  FUSEC_RETURN_IF_ERROR(optimise(module, *machine));
  if (!options.dumpKernelsTo.empty())
    FUSEC_RETURN_IF_ERROR(dumpKernel(kernel, module, *machine, level, options.dumpKernelsTo));
  FUSEC_ASSIGN_OR_RETURN(std::string bytes, generate(module, *machine, llvm::CodeGenFileType::ObjectFile));
  return KernelObject{{name, lowered.scratchBytes}, std::move(bytes)};
}

} // namespace

Result<std::vector<CompiledKernel>> compileHost(mlir::ModuleOp module, std::string_view levelName,
                                                const fs::path &library, const HostOptions &options) {
  const HostLevel *level = hostLevelByName(levelName);
  if (!level)
    return invalidArgument("unknown CPU level '" + std::string(levelName) + "', expected avx2 or avx512");
  auto kernels = llvm::to_vector(module.getOps<KernelOp>());
  std::vector<Result<KernelObject>> objects(kernels.size(), Result<KernelObject>(cancelled("not compiled")));
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i; (i = next++) < kernels.size();)
      objects[i] = compileKernel(kernels[i], *level, options);
  };
  size_t threads = options.threads ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> team;
  for (size_t t = 1; t < std::min(threads, kernels.size()); ++t)
    team.emplace_back(work);
  work();
  for (std::thread &t : team)
    t.join();

  std::vector<CompiledKernel> compiled;
  std::vector<std::string> bytes;
  for (Result<KernelObject> &object : objects) {
    if (!object)
      return object.status();
    compiled.push_back(object->kernel);
    bytes.push_back(std::move(object->bytes));
  }
  FUSEC_RETURN_IF_ERROR(linkShared(bytes, library));
  return compiled;
}

} // namespace fusec::codegen
