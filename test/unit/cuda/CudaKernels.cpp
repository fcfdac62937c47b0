//===- CudaKernels.cpp - kernels on the virtual GPU ---------------------------===//
//
//   tile.kernel -> CUDA C++ -> NVRTC -> PTX -> virtual device
//
// A run copies every buffer to the device and back. A block per program, and
// two more, which must return at once. Each launch has another schedule of warps.
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/EmitKernel.h"
#include "codegen/cuda/Nvrtc.h"
#include "runtime/device/virtual/VirtualDevice.h"
#include "test/unit/codegen/KernelHarness.h"
#include "test/unit/cuda/CudaTestSupport.h"

#include <cstring>
#include <fstream>
#include <map>

namespace fusec::codegen {

namespace {

struct Compiled {
  CudaKernelText source;
  std::string ptx;
};

/// Compiles a text once per process: many tests have the same kernels.
Result<std::string> ptxOf(const Nvrtc &nvrtc, const CudaTarget &target, const CudaKernelText &source) {
  static std::map<std::pair<std::string, std::string>, std::string> known;
  std::string &ptx = known[{std::string(target.name), source.text}];
  if (ptx.empty()) {
    NvrtcInput input{.name = source.entry + ".cu",
                     .text = source.text,
                     .target = &target,
                     .headers = deviceLibrary(),
                     .ptxOnly = true};
    FUSEC_ASSIGN_OR_RETURN(NvrtcOutput output, nvrtc.compile(input));
    if (output.log.find("warning") != std::string::npos)
      return internalError("warnings of " + source.entry + ": " + output.log);
    ptx = output.ptx;
    if (const char *folder = std::getenv("FUSEC_DUMP_KERNELS")) {
      std::string stem = std::string(folder) + "/" + std::to_string(known.size()) + "." + source.entry;
      std::ofstream(stem + ".cu") << source.text;
      std::ofstream(stem + ".ptx") << ptx;
    }
  }
  return ptx;
}

class CudaKernels : public RunnableKernels {
public:
  Status compile(mlir::ModuleOp kernelModule, std::string_view level, CudaEmitOptions options) {
    FUSEC_ASSIGN_OR_RETURN(target, cudaTargetByName(level));
    options.hasWarpgroupProducts = target->has(CudaFeature::Wgmma);
    options.sharedBytesPerBlock = target->sharedPerBlock;
    for (auto kernel : kernelModule.getOps<tile::KernelOp>()) {
      // Tests call kernels what CUDA calls its functions, "norm".
      mlir::OwningOpRef<tile::KernelOp> renamed = kernel.clone();
      renamed->setSymName(kernel.getSymName().str() + "_kernel");
      FUSEC_ASSIGN_OR_RETURN(CudaKernelText source, emitCudaKernel(*renamed, options));
      kernels[kernel.getSymName().str()].source = source;
    }
    FUSEC_ASSIGN_OR_RETURN(device, virtualgpu::VirtualDevice::create({.target = std::string(level)}));
    FUSEC_ASSIGN_OR_RETURN(stream, device->createStream());
    return {};
  }

  Status run(const std::string &name, const std::vector<void *> &args, const std::vector<int64_t> &sizes,
             const Ranges &ranges) override {
    FUSEC_ASSIGN_OR_RETURN(runtime::GpuFunction * function, load(name));
    std::map<void *, runtime::GpuBuffer> buffers;
    std::vector<uint64_t> parameters;
    for (void *address : args) {
      if (!buffers.count(address))
        FUSEC_RETURN_IF_ERROR(upload(address, buffers));
      parameters.push_back(buffers[address].address());
    }
    FUSEC_ASSIGN_OR_RETURN(runtime::GpuBuffer sizesOnDevice,
                           device->allocate(static_cast<int64_t>(sizes.size() * 8), "sizes"));
    FUSEC_RETURN_IF_ERROR(stream->copyToDevice(sizesOnDevice.address(), sizes.data(), sizes.size() * 8));
    parameters.push_back(sizesOnDevice.address());
    int64_t programs = 0;
    for (auto [begin, end] : ranges)
      programs = std::max(programs, end);
    const CudaKernelText &source = kernels[name].source;
    runtime::GpuLaunch launch;
    launch.function = function;
    launch.grid = {static_cast<uint32_t>(programs + 2), 1, 1};
    launch.block = {static_cast<uint32_t>(source.threads), 1, 1};
    launch.sharedBytes = static_cast<uint32_t>(source.sharedBytes);
    launch.parameters = parameters;
    device->setSeed(launches++); // 0: in order
    FUSEC_RETURN_IF_ERROR(stream->launch(launch));
    for (auto &[address, buffer] : buffers)
      if (int64_t bytes = GuardedBuffer::at(address)->size())
        FUSEC_RETURN_IF_ERROR(stream->copyToHost(address, buffer.address(), bytes));
    return stream->synchronize();
  }

  std::string bytes() const override {
    std::string all;
    for (auto &[name, kernel] : kernels)
      all += kernel.source.text;
    return all;
  }

private:
  /// Compiled when first run: a graph's kernels have more variants than a test launches.
  Result<runtime::GpuFunction *> load(const std::string &name) {
    auto found = kernels.find(name);
    if (found == kernels.end())
      return notFound("no kernel '" + name + "'");
    std::unique_ptr<runtime::GpuModule> &module = modules[name];
    if (!module) {
      FUSEC_ASSIGN_OR_RETURN(Nvrtc nvrtc, Nvrtc::load(test::nvrtcSearch()));
      FUSEC_ASSIGN_OR_RETURN(std::string ptx, ptxOf(nvrtc, *target, found->second.source));
      auto image = std::as_bytes(std::span(ptx.data(), ptx.size()));
      FUSEC_ASSIGN_OR_RETURN(module, device->loadModule(image, name));
    }
    return module->function(found->second.source.entry);
  }

  Status upload(void *address, std::map<void *, runtime::GpuBuffer> &buffers) {
    const GuardedBuffer *memory = GuardedBuffer::at(address);
    if (!memory)
      return internalError("an argument is no guarded buffer");
    FUSEC_ASSIGN_OR_RETURN(runtime::GpuBuffer buffer, device->allocate(std::max<int64_t>(1, memory->size()),
                                                                       "argument " + std::to_string(buffers.size())));
    if (memory->size() > 0)
      FUSEC_RETURN_IF_ERROR(stream->copyToDevice(buffer.address(), address, memory->size()));
    buffers[address] = std::move(buffer);
    return {};
  }

  const CudaTarget *target = nullptr;
  std::map<std::string, Compiled> kernels;
  std::unique_ptr<virtualgpu::VirtualDevice> device;
  std::unique_ptr<runtime::GpuStream> stream;
  std::map<std::string, std::unique_ptr<runtime::GpuModule>> modules;
  static inline uint64_t launches = 0;
};

} // namespace

Result<std::unique_ptr<RunnableKernels>> RunnableKernels::create(mlir::ModuleOp module, std::string_view level,
                                                                 const std::vector<std::string> &symbols,
                                                                 int64_t pageTokens) {
  CudaEmitOptions options;
  options.symbols = symbols;
  options.pageTokens = pageTokens;
  auto kernels = std::make_unique<CudaKernels>();
  FUSEC_RETURN_IF_ERROR(kernels->compile(module, level, options));
  return std::unique_ptr<RunnableKernels>(std::move(kernels));
}

} // namespace fusec::codegen
