//===- Executor.h - runs an artifact's plan, step by step --------------------===//
//
// What the engine asks of a device: run one step of the model on its KV cache.
// Two do it: HostExecutor on the CPU, GpuExecutor on a GPU. An executor knows no
// requests and no text.
//
//   FUSEC_ASSIGN_OR_RETURN(auto executor, createExecutor(artifact, options)); // ExecutorFactory.h
//   FUSEC_ASSIGN_OR_RETURN(StepOutput output, executor->step(input));
//
// step() is launch() and wait(). Between the two a GPU computes, and the caller may
// do other work, but not change the step's page copies or launch another.
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
#include "runtime/kv/PageCopy.h"

#include <cstdint>
#include <functional>
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

  /// Starts a step; wait() must follow before the next call. The arrays of `input`
  /// are copied. Internal error, and nothing started, for input beyond the limits or
  /// with an index out of range. The host only prepares: it computes in wait(), with
  /// all its cores.
  virtual Status launch(const StepInput &input) = 0;
  /// What the launched step gives, logits of R rows or the tokens chosen after them;
  /// valid until the next launch. Internal error when there is none, and what went
  /// wrong on the device.
  virtual Result<StepOutput> wait() = 0;
  /// Both.
  Result<StepOutput> step(const StepInput &input) {
    FUSEC_RETURN_IF_ERROR(launch(input));
    return wait();
  }

  /// Calls work(0) to work(count - 1), each once and in any order, on the threads that
  /// steps are computed with, if there are any; while no step is launched.
  virtual void forEach(int64_t count, const std::function<void(int64_t)> &work) {
    for (int64_t i = 0; i < count; ++i)
      work(i);
  }

  /// Copies whole pages of the cache, in order, before the next step. Internal error,
  /// and nothing copied, for a page that the cache does not have.
  virtual Status copyPages(std::span<const PageCopy> copies) = 0;

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
