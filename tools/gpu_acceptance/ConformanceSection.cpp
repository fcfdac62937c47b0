//===- ConformanceSection.cpp - test/unit/gpu/GpuConformanceTest in the runner ------===//
//
// The checks are those of the test suite, linked in; here are the two functions
// they ask for their device and their kernels, and a listener for the report.
//
//===----------------------------------------------------------------------===//
#include "tools/gpu_acceptance/Section.h"

#include "runtime/base/AtomicFile.h"
#include "runtime/device/gpu/OpenGpuDevice.h"
#include "test/unit/gpu/GpuTestDevices.h"

#include <gtest/gtest.h>

namespace {

fusec::acceptance::Settings current;

class Listener : public testing::EmptyTestEventListener {
public:
  explicit Listener(fusec::acceptance::Report &report) : report(report) {}
  void OnTestEnd(const testing::TestInfo &test) override {
    std::string detail;
    for (int i = 0; i < test.result()->total_part_count(); ++i)
      detail += std::string(detail.empty() ? "" : "; ") + test.result()->GetTestPartResult(i).summary();
    report.check(test.name(), test.result()->Passed(), detail);
  }

private:
  fusec::acceptance::Report &report;
};

} // namespace

namespace fusec::runtime::test {

std::vector<TestDevice> testDevices() {
  return {{"Device", [] { return openGpuDevice(current.device); }}};
}

std::string readFixture(const std::string &name) {
  Result<std::string> text = readWholeFile(current.data / name);
  return text ? *text : std::string();
}

} // namespace fusec::runtime::test

namespace fusec::acceptance {

Status runConformance(const Settings &settings, Report &report) {
  current = settings;
  FUSEC_RETURN_IF_ERROR(runtime::openGpuDevice(settings.device).status()); // One clear failure instead of one per test.
  int count = 1;
  char name[] = "conformance", *arguments[] = {name, nullptr};
  testing::InitGoogleTest(&count, arguments);
  testing::UnitTest::GetInstance()->listeners().Append(new Listener(report)); // Owned by the list.
  const bool failed = RUN_ALL_TESTS() != 0;
  return failed && report.failures() == 0 ? internalError("the suite failed outside its tests") : Status();
}

} // namespace fusec::acceptance
