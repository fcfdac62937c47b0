//===- VirtualDevice.h - a GPU in software -----------------------------------===//
//
// A GpuDevice that interprets the PTX NVRTC emits. In checked mode every access
// is checked: bounds, alignment, uninitialised reads, races, copies in flight,
// barriers (docs/cuda/virtual-device.md).
//
//   FUSEC_ASSIGN_OR_RETURN(auto device, VirtualDevice::create({.target = "sm_80", .seed = 7}));
//   ... module, stream, launch as with any GpuDevice ...
//   VirtualCounters done = device->counters("rmsnorm");
//
// A launch runs inside launch() or, with `deferred`, inside synchronize(). After
// an error the device answers every call with it.
//
// Threading: as GpuDevice.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/gpu/GpuDevice.h"
#include "runtime/device/virtual/exec/Grid.h"

#include <map>
#include <optional>
#include <string>

namespace fusec::virtualgpu {

struct VirtualOptions {
  std::string target = "sm_80"; ///< "sm_90a" also loads PTX for sm_90a.
  bool checked = true;
  bool allowUninitialised = false; ///< Checked mode lets kernels read bytes nobody wrote (padded loads).
  uint64_t seed = 0;               ///< 0: warps run in order; else order and turns are random by this seed.
  AsyncPolicy asyncPolicy = AsyncPolicy::Late;
  int threads = 1;       ///< Host threads for the blocks of an unchecked launch.
  bool deferred = false; ///< Work waits for synchronize(): finds host code that forgets it.
  int64_t memoryBytes = int64_t(16) << 30;
  uint64_t instructionBudget = uint64_t(1) << 36; ///< Warp instructions per launch.
};

/// What a kernel did in all its launches since resetCounters().
struct VirtualCounters {
  uint64_t launches = 0;
  InstrCounters total;
  struct Line {
    int ptxLine = 0;
    std::string source; ///< "file.cu:12", or empty.
    std::string opcode;
    InstrCounters counters;
  };
  std::vector<Line> lines; ///< In program order, also those that never ran.
  /// Wavefronts per ideal wavefront of shared memory; 1 without conflicts or accesses.
  double bankConflictFactor() const {
    return total.sharedIdeal ? static_cast<double>(total.sharedWavefronts) / static_cast<double>(total.sharedIdeal) : 1;
  }
};

class VirtualDevice : public runtime::GpuDevice {
public:
  /// InvalidArgument lists the known targets; Unsupported when this processor lacks AVX2, FMA or F16C.
  static Result<std::unique_ptr<VirtualDevice>> create(const VirtualOptions &options = {});
  ~VirtualDevice() override;

  const runtime::GpuInfo &info() const override { return deviceInfo; }
  Result<runtime::GpuBuffer> allocate(int64_t bytes, std::string_view owner) override;
  Result<int64_t> freeBytes() const override { return memory->freeBytes(); }
  Result<std::unique_ptr<runtime::GpuMappedPages>> reserveMapped(const runtime::GpuMappedPagesShape &shape,
                                                                 std::string_view owner) override;
  Result<std::unique_ptr<runtime::GpuModule>> loadModule(std::span<const std::byte> image,
                                                         const std::string &name) override;
  Result<std::unique_ptr<runtime::GpuStream>> createStream() override;
  Result<std::unique_ptr<runtime::GpuEvent>> createEvent() override;
  Result<std::span<std::byte>> allocatePinned(int64_t bytes, std::string_view owner) override;
  void pushRange(const char *) override {}
  void popRange() override {}

  // --- beyond GpuDevice -----------------------------------------------------------
  /// Zeros when the kernel was never launched.
  VirtualCounters counters(const std::string &kernel) const;
  void resetCounters();
  /// The fault of the launch that failed, if any.
  std::optional<Fault> lastFault() const;
  /// Schedules of the next launches.
  void setSeed(uint64_t seed) { options.seed = seed; }
  void setAsyncPolicy(AsyncPolicy policy) { options.asyncPolicy = policy; }
  /// Forgets the error, so that a test can go on.
  void clearError();

  // --- for module and stream ------------------------------------------------------
  DeviceMemory &deviceMemory() { return *memory; }
  const VirtualOptions &settings() const { return options; }
  Status run(const Program &program, const runtime::GpuGraphLaunch &launch);
  Status error() const;
  /// Keeps the first error.
  Status fail(Status status);

protected:
  void release(runtime::GpuAddress at) override { memory->release(at); }

private:
  VirtualDevice(const VirtualOptions &options, std::unique_ptr<DeviceMemory> memory);
  void count(const Program &program, const std::vector<InstrCounters> &counts);

  VirtualOptions options;
  runtime::GpuInfo deviceInfo;
  std::unique_ptr<DeviceMemory> memory;
  mutable std::mutex mutex; ///< Guards what follows.
  std::map<std::string, VirtualCounters> counted;
  std::vector<std::unique_ptr<std::byte[]>> pinned;
  std::optional<Fault> fault;
  Status firstError;
};

} // namespace fusec::virtualgpu

namespace fusec::runtime {

/// A checked virtual device of a target such as "sm_80", with the default options.
Result<std::unique_ptr<GpuDevice>> openVirtualDevice(const std::string &target);

} // namespace fusec::runtime
