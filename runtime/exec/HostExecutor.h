//===- HostExecutor.h - steps on the CPU -------------------------------------===//
//
// Binds every launch to addresses once, then per step: checks the input, picks
// kernel variants and grid sizes from the step's symbols, and gives all launches
// to the thread team as one region.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/host/HostDevice.h"
#include "runtime/exec/ActivationArena.h"
#include "runtime/exec/Artifact.h"
#include "runtime/exec/Executor.h"
#include "runtime/exec/StepInputs.h"
#include "runtime/exec/StepShape.h"
#include "runtime/kv/KvCache.h"
#include "runtime/kv/SequenceRanges.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace fusec::runtime {

struct HostExecutorOptions {
  std::string level; ///< A level of the manifest that this CPU runs.
  StepLimits limits;
  int64_t numPages = 0; ///< Pages of every buffer of the cache.
};

class HostExecutor final : public Executor {
public:
  /// Loads the kernels and reserves memory for steps up to the limits.
  static Result<std::unique_ptr<HostExecutor>> create(const Artifact &artifact, HostDevice device,
                                                      const HostExecutorOptions &options);

  const ExecutorInfo &info() const override { return facts; }
  Status launch(const StepInput &input) override;
  Result<StepOutput> wait() override;
  void forEach(int64_t count, const std::function<void(int64_t)> &work) override;
  Status copyPages(std::span<const PageCopy> copies) override;
  MemoryPlan memory() const override;
  void setProfiling(bool on) override;
  std::vector<LaunchTime> takeProfile() override;

private:
  struct BoundVariant {
    const KernelVariant *info;
    KernelEntry entry;
  };
  struct BoundLaunch {
    const LaunchInfo *info;
    const std::vector<BoundVariant> *variants;
    std::vector<void *> args;
    LaunchTime time;
  };

  HostExecutor(const Artifact &artifact, HostDevice device, const HostExecutorOptions &options);
  Status reserveCache(int64_t numPages, const SymbolValues &maxima);
  Status bind();
  Status loadKernels(const TargetInfo &target);
  std::vector<void *> bufferAddresses() const;
  Status prepareLaunches(const SymbolValues &values);
  void recordTimes();

  const Artifact &artifact;
  HostDevice device;
  StepShape shape;
  ExecutorInfo facts;
  KvCache cache;
  std::optional<SequenceRanges> ranges; ///< Contiguous layout.
  std::vector<HostModule> modules;
  ActivationArena arena;
  StepInputs inputs;
  std::map<std::string, std::vector<BoundVariant>, std::less<>> kernels;
  std::vector<BoundLaunch> bound;
  std::vector<Launch> launches;      ///< Of the current step, parallel to `bound`.
  std::vector<int64_t> symbolValues; ///< Of the current step, in the manifest's order.
  std::vector<double> seconds;       ///< Of the current step; empty when not profiling.
  const float *rows = nullptr;       ///< Logits or hidden states of the step.
  int32_t rowsSlot = -1;
  std::optional<size_t> launchedRows; ///< Of the step that wait() will run.
};

} // namespace fusec::runtime
