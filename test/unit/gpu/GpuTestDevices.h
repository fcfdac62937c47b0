//===- GpuTestDevices.h - the devices that GPU tests run on ------------------------===//
//
// The virtual device, also with all work deferred; the CUDA code on top of the fake driver; and, with
// FUSEC_TEST_CUDA=1 in the environment, a real GPU.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/gpu/GpuDevice.h"

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace fusec::runtime::test {

struct TestDevice {
  std::string name; ///< "Virtual", "VirtualDeferred", "CudaOnFake", "Cuda".
  std::function<Result<std::unique_ptr<GpuDevice>>()> open;
};

std::vector<TestDevice> testDevices();

/// How gtest shows a parameter.
inline void PrintTo(const TestDevice &device, std::ostream *stream) { *stream << device.name; }

/// The file test/unit/gpu/fixtures/<name>.
std::string readFixture(const std::string &name);

/// Makes openGpuDevice("cuda") load the fake driver, until the end of the scope.
/// Other variables of FakeLibcuda.cpp are set likewise.
class FakeDriverScope {
public:
  explicit FakeDriverScope(std::vector<std::pair<std::string, std::string>> variables = {});
  ~FakeDriverScope();
  FakeDriverScope(const FakeDriverScope &) = delete;
  FakeDriverScope &operator=(const FakeDriverScope &) = delete;

private:
  std::vector<std::string> names;
};

/// Objects of the fake driver that nobody gave back, and contexts left current on this thread.
int fakeLiveObjects();
int fakeContextDepth();

} // namespace fusec::runtime::test
