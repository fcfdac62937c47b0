//===- GpuTestDevices.cpp ----------------------------------------------------------===//

#include "test/unit/gpu/GpuTestDevices.h"

#include "runtime/device/gpu/OpenGpuDevice.h"
#include "runtime/device/virtual/VirtualDevice.h"

#include <cstdlib>
#include <dlfcn.h>
#include <fstream>
#include <iterator>

namespace fusec::runtime::test {

namespace {

Result<std::unique_ptr<GpuDevice>> openOnFake() {
  FakeDriverScope fake;
  return openGpuDevice("cuda"); // The library stays loaded.
}

/// Work waits for synchronize(), as on a slow GPU: finds code that does not wait for what it needs.
Result<std::unique_ptr<GpuDevice>> openDeferred() {
  virtualgpu::VirtualOptions options;
  options.deferred = true;
  FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<virtualgpu::VirtualDevice> device, virtualgpu::VirtualDevice::create(options));
  return std::unique_ptr<GpuDevice>(std::move(device));
}

int callFake(const char *name) {
  void *library = dlopen(FUSEC_FAKE_LIBCUDA, RTLD_NOW | RTLD_LOCAL);
  auto function = library ? reinterpret_cast<int (*)()>(dlsym(library, name)) : nullptr;
  return function ? function() : -1;
}

} // namespace

std::vector<TestDevice> testDevices() {
  std::vector<TestDevice> devices = {{"Virtual", [] { return openGpuDevice("virtual"); }},
                                     {"VirtualDeferred", openDeferred},
                                     {"CudaOnFake", openOnFake}};
  const char *real = std::getenv("FUSEC_TEST_CUDA");
  if (real && std::string(real) == "1")
    devices.push_back({"Cuda", [] { return openGpuDevice("cuda"); }});
  return devices;
}

std::string readFixture(const std::string &name) {
  std::ifstream file(FUSEC_SOURCE_DIR "/test/unit/gpu/fixtures/" + name);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

FakeDriverScope::FakeDriverScope(std::vector<std::pair<std::string, std::string>> variables) {
  variables.emplace_back("FUSEC_LIBCUDA", FUSEC_FAKE_LIBCUDA);
  for (const auto &[name, value] : variables) {
    setenv(name.c_str(), value.c_str(), 1);
    names.push_back(name);
  }
}

FakeDriverScope::~FakeDriverScope() {
  for (const std::string &name : names)
    unsetenv(name.c_str());
}

int fakeLiveObjects() { return callFake("fakeLiveObjects"); }
int fakeContextDepth() { return callFake("fakeContextDepth"); }

} // namespace fusec::runtime::test
