//===- VirtualStream.h - work in order on the virtual device -----------------===//
//
// Every call becomes a piece of work: done at once, kept for synchronize() on a
// deferred device, or recorded while a capture is on.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/gpu/GpuDevice.h"

#include <chrono>
#include <functional>
#include <optional>
#include <vector>

namespace fusec::virtualgpu {

class VirtualDevice;
class VirtualFunction;

class VirtualEvent : public runtime::GpuEvent {
public:
  Status synchronize() override;
  Result<double> millisecondsSince(const runtime::GpuEvent &start) const override;
  void happen() { at = std::chrono::steady_clock::now(); }

private:
  friend class VirtualStream;
  std::optional<std::chrono::steady_clock::time_point> at;
  runtime::GpuStream *stream = nullptr; ///< Of the last record().
};

/// One copy, fill, launch or event.
struct VirtualWork {
  std::function<Status()> act;
  std::optional<runtime::GpuGraphLaunch> launch; ///< Of a kernel launch.
};

class VirtualGraph : public runtime::GpuGraph {
public:
  Result<std::vector<runtime::GpuGraphLaunch>> launches() const override;
  std::vector<VirtualWork> work;
};

class VirtualStream : public runtime::GpuStream {
public:
  explicit VirtualStream(VirtualDevice &device) : device(device) {}

  Status copyToDevice(runtime::GpuAddress to, const void *from, int64_t bytes) override;
  Status copyToHost(void *to, runtime::GpuAddress from, int64_t bytes) override;
  Status copyOnDevice(runtime::GpuAddress to, runtime::GpuAddress from, int64_t bytes) override;
  Status fill(runtime::GpuAddress to, uint8_t value, int64_t bytes) override;
  Status launch(const runtime::GpuLaunch &launch) override;
  Status record(runtime::GpuEvent &event) override;
  Status wait(runtime::GpuEvent &event) override;
  Status synchronize() override;
  Status beginCapture() override;
  Result<std::unique_ptr<runtime::GpuGraph>> endCapture() override;
  Status launchGraph(runtime::GpuGraph &graph) override;
  void *nativeHandle() const override { return nullptr; }

private:
  Status submit(VirtualWork work);
  Status checkLaunch(const VirtualFunction &function, const runtime::GpuLaunch &launch) const;

  VirtualDevice &device;
  std::vector<VirtualWork> queue;
  std::unique_ptr<VirtualGraph> capture;
};

} // namespace fusec::virtualgpu
