//===- HostMmaDevice.cpp - texts of the device library as host C++ ----------------===//
//
// MmaHarness.h's device for tests of the library that are linked with the host
// front end. NVRTC, which they ask for, is not used.
//
//===----------------------------------------------------------------------===//
#include "test/hostcuda/HostCudaKernel.h"
#include "test/unit/cuda/mma/MmaHarness.h"

#include <cstring>
#include <list>

namespace fusec::test {

namespace {

class HostMmaDevice : public MmaDevice {
public:
  Status load(const Source &source) {
    FUSEC_ASSIGN_OR_RETURN(kernels,
                           hostcuda::HostCudaKernels::create({.name = source.name.substr(0, source.name.find('.')),
                                                              .text = source.text,
                                                              .definitions = source.definitions,
                                                              .headers = source.headers,
                                                              .target = source.target}));
    return {};
  }
  Result<uint64_t> put(const void *from, int64_t bytes) override {
    const auto *start = static_cast<const std::byte *>(from);
    buffers.emplace_back(start, start + bytes);
    return reinterpret_cast<uint64_t>(buffers.back().data());
  }
  Status get(void *to, uint64_t at, int64_t bytes) override {
    std::memcpy(to, reinterpret_cast<const void *>(at), static_cast<size_t>(bytes));
    return {};
  }
  Status launch(const std::string &kernel, MmaLaunch shape, const std::vector<uint64_t> &parameters) override {
    hostcuda::HostCudaLaunch launch{.grid = static_cast<unsigned>(shape.grid),
                                    .threads = static_cast<unsigned>(shape.threads),
                                    .sharedBytes = static_cast<unsigned>(shape.shared),
                                    .parameters = parameters};
    for (const std::vector<std::byte> &buffer : buffers)
      launch.memory.push_back({buffer.data(), buffer.size(), "test"});
    launch.seed = seed;
    return kernels->launch(kernel, launch);
  }
  void setSeed(uint64_t newSeed) override { seed = newSeed; }

private:
  std::unique_ptr<hostcuda::HostCudaKernels> kernels;
  std::list<std::vector<std::byte>> buffers;
  uint64_t seed = 0;
};

} // namespace

Result<std::unique_ptr<MmaDevice>> MmaDevice::create(const codegen::Nvrtc &, const Source &source) {
  auto device = std::make_unique<HostMmaDevice>();
  FUSEC_RETURN_IF_ERROR(device->load(source));
  return std::unique_ptr<MmaDevice>(std::move(device));
}

} // namespace fusec::test
