//===- HostKernels.cpp - kernels of the differential tests as host C++ ------------===//
//
//   tile.kernel -> CUDA C++ -> clang -> this process
//
// A run works on the test's own buffers. A block per program, and two more, which
// must return at once. Threads take turns upwards and downwards by turns.
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/CudaTarget.h"
#include "codegen/cuda/EmitKernel.h"
#include "test/hostcuda/HostCudaKernel.h"
#include "test/unit/codegen/KernelHarness.h"

#include <algorithm>
#include <map>

namespace fusec::codegen {

namespace {

using hostcuda::HostCudaKernels;

class HostKernels : public RunnableKernels {
public:
  Status emit(mlir::ModuleOp kernelModule, std::string_view level, CudaEmitOptions options) {
    FUSEC_ASSIGN_OR_RETURN(target, cudaTargetByName(level));
    options.hasWarpgroupProducts = target->has(CudaFeature::Wgmma);
    options.sharedBytesPerBlock = target->sharedPerBlock;
    for (auto kernel : kernelModule.getOps<tile::KernelOp>()) {
      // Tests call kernels what C calls its functions, "norm".
      mlir::OwningOpRef<tile::KernelOp> renamed = kernel.clone();
      renamed->setSymName(kernel.getSymName().str() + "_kernel");
      FUSEC_ASSIGN_OR_RETURN(sources[kernel.getSymName().str()], emitCudaKernel(*renamed, options));
    }
    return {};
  }

  Status run(const std::string &name, const std::vector<void *> &args, const std::vector<int64_t> &sizes,
             const Ranges &ranges) override {
    auto source = sources.find(name);
    if (source == sources.end())
      return notFound("no kernel '" + name + "'");
    FUSEC_ASSIGN_OR_RETURN(HostCudaKernels * kernels, load(source->second));
    hostcuda::HostCudaLaunch launch;
    std::vector<std::string> names(args.size());
    for (size_t i = 0; i < args.size(); ++i) {
      const GuardedBuffer *memory = GuardedBuffer::at(args[i]);
      if (!memory)
        return internalError("an argument is no guarded buffer");
      names[i] = "argument " + std::to_string(i);
      launch.parameters.push_back(reinterpret_cast<uint64_t>(args[i]));
      launch.memory.push_back({args[i], static_cast<size_t>(memory->size()), names[i].c_str()});
    }
    launch.parameters.push_back(reinterpret_cast<uint64_t>(sizes.data()));
    launch.memory.push_back({sizes.data(), sizes.size() * 8, "sizes"});
    int64_t programs = 0;
    for (auto [begin, end] : ranges)
      programs = std::max(programs, end);
    launch.grid = static_cast<unsigned>(programs + 2);
    launch.threads = static_cast<unsigned>(source->second.threads);
    launch.sharedBytes = static_cast<unsigned>(source->second.sharedBytes);
    launch.seed = launches++;
    return kernels->launch(source->second.entry, launch);
  }

  std::string bytes() const override {
    std::string all;
    for (auto &[name, source] : sources)
      all += source.text;
    return all;
  }

private:
  /// Loaded once per process: many tests have the same kernels.
  Result<HostCudaKernels *> load(const CudaKernelText &source) const {
    static std::map<std::string, std::unique_ptr<HostCudaKernels>> known;
    std::unique_ptr<HostCudaKernels> &kernels = known[std::string(target->name) + source.text];
    if (!kernels) {
      FUSEC_ASSIGN_OR_RETURN(
          kernels,
          HostCudaKernels::create({.name = source.entry, .text = source.text, .target = std::string(target->name)}));
    }
    return kernels.get();
  }

  const CudaTarget *target = nullptr;
  std::map<std::string, CudaKernelText> sources;
  static inline uint64_t launches = 0;
};

} // namespace

Result<std::unique_ptr<RunnableKernels>> RunnableKernels::create(mlir::ModuleOp module, std::string_view level,
                                                                 const std::vector<std::string> &symbols,
                                                                 int64_t pageTokens) {
  CudaEmitOptions options;
  options.symbols = symbols;
  options.pageTokens = pageTokens;
  auto kernels = std::make_unique<HostKernels>();
  FUSEC_RETURN_IF_ERROR(kernels->emit(module, level, options));
  return std::unique_ptr<RunnableKernels>(std::move(kernels));
}

} // namespace fusec::codegen
