//===- Executor.h - runs an artifact's plan, step by step --------------------===//
//
// Binds every launch to addresses once, then per step: checks the input, picks
// kernel variants and grid sizes from the step's symbols, and gives all launches
// to the device as one region. It knows no requests and no text.
//
//   FUSEC_ASSIGN_OR_RETURN(auto executor, Executor::create(artifact, device, cache, options));
//   FUSEC_ASSIGN_OR_RETURN(std::span<const float> logits, executor->step(input));
//
// Ownership: owns kernels, activations and inputs; borrows artifact, device and
// cache, which must outlive it. Threading: one call at a time.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/device/host/HostDevice.h"
#include "runtime/exec/ActivationArena.h"
#include "runtime/exec/Artifact.h"
#include "runtime/exec/LaunchTime.h"
#include "runtime/exec/MemoryPlan.h"
#include "runtime/exec/StepInput.h"
#include "runtime/exec/StepInputs.h"
#include "runtime/kv/KvCache.h"

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace fusec::runtime {

struct ExecutorOptions {
  std::string level; ///< A level of the manifest that this CPU runs.
  StepLimits limits;
  int64_t numPages = 0; ///< Pages of every buffer of the cache.
};

class Executor {
public:
  /// Loads the kernels and reserves memory for steps up to the limits. The cache
  /// has one buffer per cache buffer of the manifest, in its order.
  static Result<std::unique_ptr<Executor>> create(const Artifact &artifact, HostDevice &device, const KvCache &cache,
                                                  const ExecutorOptions &options);

  /// Runs the model. `[R, vocab]` logits, valid until the next step; empty for
  /// R = 0. Internal error, and nothing run, for input beyond the limits or with
  /// an index out of range.
  Result<std::span<const float>> step(const StepInput &input);

  /// Rows for activations, logits, inputs, and scratch.
  MemoryPlan memory() const;

  void setProfiling(bool on);
  /// Launches that ran since the last call, in plan order.
  std::vector<LaunchTime> takeProfile();

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

  Executor(const Artifact &artifact, HostDevice &device, const ExecutorOptions &options);
  Status bind(const KvCache &cache);
  Status loadKernels(const TargetInfo &target);
  std::vector<void *> bufferAddresses(const KvCache &cache) const;
  Status checkInput(const StepInput &input) const;
  Status checkTokens(const StepInput &input) const;
  SymbolValues symbolsOf(const StepInput &input) const;
  Status prepareLaunches(const SymbolValues &values);
  void recordTimes();

  const Artifact &artifact;
  HostDevice &device;
  ExecutorOptions options;
  std::vector<HostModule> modules;
  ActivationArena arena;
  StepInputs inputs;
  std::map<std::string, std::vector<BoundVariant>, std::less<>> kernels;
  std::vector<BoundLaunch> bound;
  std::vector<Launch> launches;      ///< Of the current step, parallel to `bound`.
  std::vector<int64_t> symbolValues; ///< Of the current step, in the manifest's order.
  std::vector<double> seconds;       ///< Of the current step; empty when not profiling.
  const float *logits = nullptr;
  int32_t logitsSlot = -1;
};

} // namespace fusec::runtime
