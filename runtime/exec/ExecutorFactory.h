//===- ExecutorFactory.h - the executor for a device's name ---------------------===//
//
//   "" or "host"            the CPU, at one of the artifact's levels
//   "cuda", "cuda:1"        an NVIDIA GPU
//   "virtual[:sm_90a]"      the virtual GPU; without an architecture, that of the
//                           artifact's first CUDA target
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/exec/Artifact.h"
#include "runtime/exec/Executor.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace fusec::runtime {

struct ExecutorOptions {
  std::string device;     ///< A name as above.
  std::string level;      ///< Host: a level of the manifest; "" = the best this CPU runs.
  int threads = 0;        ///< Host: 0 = one per physical core.
  StepLimits limits;      ///< The largest step.
  int64_t numPages = 0;   ///< Pages of every buffer of the cache.
  bool usesGraphs = true; ///< GPU: capture decode steps.
  std::function<void(std::string_view stage, double fraction)> progress; ///< While loading; may be empty.
  int64_t sampleableIds = 0; ///< Ids below may be chosen on the device; 0 = all of the vocabulary.
};

/// InvalidArgument for an unknown device, NotFound when the device is not there
/// or the artifact has no kernels for it; ResourceExhausted when memory is short.
Result<std::unique_ptr<Executor>> createExecutor(const Artifact &artifact, const ExecutorOptions &options);

} // namespace fusec::runtime
