//===- VirtualMmaDevice.cpp - texts through NVRTC on the virtual device ----------===//
#include "runtime/device/virtual/VirtualDevice.h"
#include "test/unit/cuda/mma/MmaHarness.h"

namespace fusec::test {

namespace {

class VirtualMmaDevice : public MmaDevice {
public:
  Status load(const codegen::Nvrtc &nvrtc, const Source &source) {
    std::string log;
    FUSEC_ASSIGN_OR_RETURN(const codegen::CudaTarget *target, codegen::cudaTargetByName(source.target));
    auto code = nvrtc.compile({.name = source.name,
                               .text = source.text,
                               .target = target,
                               .headers = source.headers,
                               .options = source.definitions,
                               .ptxOnly = true},
                              &log);
    if (!code)
      return internalError(code.status().message() + "\n" + log);
    FUSEC_ASSIGN_OR_RETURN(gpu, virtualgpu::VirtualDevice::create({.target = source.target}));
    FUSEC_ASSIGN_OR_RETURN(module, gpu->loadModule(std::as_bytes(std::span<const char>(code->ptx)), source.name));
    FUSEC_ASSIGN_OR_RETURN(stream, gpu->createStream());
    return {};
  }

  Result<uint64_t> put(const void *from, int64_t bytes) override {
    FUSEC_ASSIGN_OR_RETURN(runtime::GpuBuffer buffer, gpu->allocate(bytes, "test"));
    buffers.push_back(std::move(buffer));
    const uint64_t at = buffers.back().address();
    FUSEC_RETURN_IF_ERROR(stream->copyToDevice(at, from, bytes));
    FUSEC_RETURN_IF_ERROR(stream->synchronize());
    return at;
  }
  Status get(void *to, uint64_t at, int64_t bytes) override {
    FUSEC_RETURN_IF_ERROR(stream->copyToHost(to, at, bytes));
    return stream->synchronize();
  }
  Status launch(const std::string &kernel, MmaLaunch shape, const std::vector<uint64_t> &parameters) override {
    FUSEC_ASSIGN_OR_RETURN(runtime::GpuFunction * function, module->function(kernel));
    runtime::GpuLaunch launch;
    launch.function = function;
    launch.grid.x = static_cast<uint32_t>(shape.grid);
    launch.block.x = static_cast<uint32_t>(shape.threads);
    launch.sharedBytes = static_cast<uint32_t>(shape.shared);
    launch.parameters = parameters;
    FUSEC_RETURN_IF_ERROR(stream->launch(launch));
    return stream->synchronize();
  }
  void setSeed(uint64_t seed) override {
    gpu->clearError();
    gpu->setSeed(seed);
  }
  double bankConflictFactor(const std::string &kernel) const override {
    return gpu->counters(kernel).bankConflictFactor();
  }

private:
  std::unique_ptr<virtualgpu::VirtualDevice> gpu;
  std::unique_ptr<runtime::GpuStream> stream;
  std::unique_ptr<runtime::GpuModule> module;
  std::vector<runtime::GpuBuffer> buffers;
};

} // namespace

Result<std::unique_ptr<MmaDevice>> MmaDevice::create(const codegen::Nvrtc &nvrtc, const Source &source) {
  auto device = std::make_unique<VirtualMmaDevice>();
  FUSEC_RETURN_IF_ERROR(device->load(nvrtc, source));
  return std::unique_ptr<MmaDevice>(std::move(device));
}

} // namespace fusec::test
