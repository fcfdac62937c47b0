//===- HostKernels.cpp - kernels on the CPU levels ---------------------------===//
#include "codegen/host/ObjectCompiler.h"
#include "runtime/device/host/HostModule.h"
#include "test/unit/codegen/KernelHarness.h"

#include <atomic>
#include <cstring>
#include <fstream>
#include <unistd.h>

namespace fusec::codegen {

namespace {

std::filesystem::path freshPath() {
  static std::atomic<int> counter = 0;
  auto folder = std::filesystem::temp_directory_path();
  return folder / ("fusec-kernels-" + std::to_string(getpid()) + "-" + std::to_string(counter++) + ".so");
}

class HostKernels : public RunnableKernels {
public:
  ~HostKernels() override {
    module.reset();
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }

  Status compile(mlir::ModuleOp kernelModule, std::string_view level, const HostOptions &options) {
    FUSEC_ASSIGN_OR_RETURN(kernels, compileHost(kernelModule, level, path, options));
    FUSEC_ASSIGN_OR_RETURN(runtime::HostModule loaded, runtime::HostModule::load(path));
    module.emplace(std::move(loaded));
    return {};
  }

  Status run(const std::string &name, const std::vector<void *> &args, const std::vector<int64_t> &sizes,
             const Ranges &ranges) override {
    FUSEC_ASSIGN_OR_RETURN(runtime::KernelEntry kernel, module->entry(name));
    GuardedBuffer values(static_cast<int64_t>(sizes.size() * 8));
    std::memcpy(values.as(), sizes.data(), sizes.size() * 8);
    for (auto [begin, end] : ranges) {
      GuardedBuffer scratch(scratchBytes(name)); // fresh: programs share nothing through it
      std::memset(scratch.as(), 0xff, scratch.size());
      kernel(args.data(), values.as<int64_t>(), begin, end, scratch.as());
      if (!scratch.slackIsUntouched())
        return internalError("@" + name + " writes behind its scratch memory");
    }
    return {};
  }

  std::string bytes() const override {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  Entry entry(const std::string &name) const override {
    Result<runtime::KernelEntry> found = module->entry(name);
    return found ? *found : nullptr;
  }

  int64_t scratchBytes(const std::string &name) const override {
    for (const CompiledKernel &kernel : kernels)
      if (kernel.entry == name)
        return kernel.scratchBytes;
    return 0;
  }

private:
  const std::filesystem::path path = freshPath();
  std::vector<CompiledKernel> kernels;
  std::optional<runtime::HostModule> module;
};

} // namespace

Result<std::unique_ptr<RunnableKernels>> RunnableKernels::create(mlir::ModuleOp module, std::string_view level,
                                                                 const std::vector<std::string> &symbols,
                                                                 int64_t pageTokens) {
  HostOptions options;
  options.lowering.symbols = symbols;
  options.lowering.pageTokens = pageTokens;
  options.threads = 1;
  if (const char *folder = std::getenv("FUSEC_DUMP_KERNELS"))
    options.dumpKernelsTo = folder;
  auto kernels = std::make_unique<HostKernels>();
  FUSEC_RETURN_IF_ERROR(kernels->compile(module, level, options));
  return std::unique_ptr<RunnableKernels>(std::move(kernels));
}

std::vector<std::string> runnableLevels() {
  std::vector<std::string> levels;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    levels.push_back("avx2");
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
    levels.push_back("avx512");
  return levels;
}

} // namespace fusec::codegen
