//===- Executor.h - runs an artifact's plan, step by step --------------------===//
//
// What the engine asks of a device: run one step of the model on its KV cache.
// Two do it: HostExecutor on the CPU, GpuExecutor on a GPU. An executor knows no
// requests and no text.
//
//   FUSEC_ASSIGN_OR_RETURN(auto executor, createExecutor(artifact, options)); // ExecutorFactory.h
//   FUSEC_ASSIGN_OR_RETURN(StepOutput output, executor->step(input));
//
// Ownership: owns its device, kernels, cache and activations; borrows the
// artifact, which must outlive it. Threading: one call at a time.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/exec/GraphStats.h"
#include "runtime/exec/LaunchTime.h"
#include "runtime/exec/MemoryPlan.h"
#include "runtime/exec/StepInput.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace fusec::runtime {

/// What an executor runs on.
struct ExecutorInfo {
  std::string device;             ///< "host", "NVIDIA H200", "virtual sm_80".
  std::string driver;             ///< "CUDA 13.0"; empty without one.
  std::string level;              ///< The manifest's target: "avx512", "sm_80".
  int threads = 0;                ///< Host threads that run kernels; 0 on a GPU.
  std::vector<std::string> notes; ///< What a user may want to know, one sentence each.
};

class Executor {
public:
  virtual ~Executor() = default;

  virtual const ExecutorInfo &info() const = 0;

  /// Runs the model: logits of R rows, or the tokens chosen after them. Internal
  /// error, and nothing run, for input beyond the limits or with an index out of
  /// range.
  virtual Result<StepOutput> step(const StepInput &input) = 0;

  /// Whether StepInput::sampling may be given.
  virtual bool samplesOnDevice() const { return false; }

  /// A row for everything that is reserved: weights, cache, activations, ...
  virtual MemoryPlan memory() const = 0;

  virtual void setProfiling(bool on) = 0;
  /// Launches that ran since the last call, in plan order.
  virtual std::vector<LaunchTime> takeProfile() = 0;

  /// How steps were launched; all zero on the host.
  virtual GraphStats graphStats() const { return {}; }
};

} // namespace fusec::runtime
