//===- VirtualRun.h - runs PTX in tests --------------------------------------===//
//
//   VirtualRun run;
//   uint64_t x = run.upload<float>({1, 2}, "x"), y = run.reserve(8, "y");
//   ASSERT_TRUE(run.load(ptx).ok());
//   Status status = run.launch("kernel", {.parameters = {x, y}});
//   EXPECT_THAT(run.download<float>(y, 2), ElementsAre(1, 2));
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/virtual/VirtualDevice.h"

#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <vector>

namespace fusec::virtualgpu {

class VirtualRun {
public:
  struct Shape {
    runtime::GpuDim3 grid{1, 1, 1}, block{32, 1, 1};
    uint32_t sharedBytes = 0;
    std::vector<uint64_t> parameters;
  };

  explicit VirtualRun(const VirtualOptions &options = {});

  Status load(std::string_view ptx);
  Status launch(const std::string &kernel, const Shape &shape);

  uint64_t reserve(int64_t bytes, std::string_view owner);
  template <typename T> uint64_t upload(const std::vector<T> &values, std::string_view owner) {
    const int64_t bytes = static_cast<int64_t>(values.size() * sizeof(T));
    uint64_t at = reserve(bytes, owner);
    EXPECT_TRUE(stream->copyToDevice(at, values.data(), bytes).ok());
    EXPECT_TRUE(stream->synchronize().ok());
    return at;
  }
  template <typename T> std::vector<T> download(uint64_t at, size_t count) {
    std::vector<T> values(count);
    EXPECT_TRUE(stream->copyToHost(values.data(), at, static_cast<int64_t>(count * sizeof(T))).ok());
    EXPECT_TRUE(stream->synchronize().ok());
    return values;
  }

  VirtualDevice &gpu() { return *device; }
  runtime::GpuStream &work() { return *stream; }
  runtime::GpuModule &loaded() { return *module; }

private:
  std::unique_ptr<VirtualDevice> device;
  std::unique_ptr<runtime::GpuStream> stream;
  std::vector<runtime::GpuBuffer> buffers;
  std::unique_ptr<runtime::GpuModule> module;
};

/// A module of one kernel "k" whose parameters are `parameters` 64-bit words p0, p1, ...; `body` may use
/// %r0-99 (b32), %rd0-99 (b64), %f0-99 (f32), %fd0-9 (f64), %h0-99 (b16), %p0-19, and finds %rd90+i = p<i>.
std::string kernelText(int parameters, std::string_view body, std::string_view attributes = "",
                       std::string_view declarations = "", std::string_view target = "sm_80");

} // namespace fusec::virtualgpu
