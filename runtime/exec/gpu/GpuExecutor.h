//===- GpuExecutor.h - steps on a GPU --------------------------------------------===//
//
// Per step: check the input, fill the step block in pinned memory, send it,
// launch, fetch the logits or, 4 bytes a row, the chosen ids. Decode steps replay
// a captured graph (GraphCache.h); all others launch kernel by kernel and are
// counted with the reason. Where the plan asks for it and the device has a library
// of matrix products, steps of many tokens call it; decode steps never do, so that
// a graph and its launches one by one are the same.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/exec/Artifact.h"
#include "runtime/exec/Executor.h"
#include "runtime/exec/StepShape.h"
#include "runtime/exec/gpu/DecodeBuckets.h"
#include "runtime/exec/gpu/GpuKernels.h"
#include "runtime/exec/gpu/GpuLaunchPlan.h"
#include "runtime/exec/gpu/GpuMemory.h"
#include "runtime/exec/gpu/GraphCache.h"
#include "runtime/exec/gpu/StepBlock.h"
#include "runtime/kv/SequenceRanges.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace fusec::runtime {

struct GpuExecutorOptions {
  StepLimits limits;
  int64_t numPages = 0;            ///< Pages of every buffer of the cache.
  bool usesGraphs = true;          ///< False: every step kernel by kernel.
  int64_t maxGraphSequences = 256; ///< Of the largest graph.
  GpuMemory::Progress progress;    ///< While weights are copied; may be empty.
  int64_t sampleableIds = 0;       ///< Ids below may be chosen on the device; 0 = all of the vocabulary.
};

class GpuExecutor final : public Executor {
public:
  /// Chooses the target, loads its kernels, reserves memory for steps up to the
  /// limits and copies the weights.
  static Result<std::unique_ptr<GpuExecutor>> create(const Artifact &artifact, std::unique_ptr<GpuDevice> device,
                                                     const GpuExecutorOptions &options);

  const ExecutorInfo &info() const override { return facts; }
  Status launch(const StepInput &input) override;
  Result<StepOutput> wait() override;
  Status copyPages(std::span<const PageCopy> copies) override;
  bool samplesOnDevice() const override { return choices.at != 0; }
  MemoryPlan memory() const override;
  void setProfiling(bool on) override { isProfiling = on; }
  std::vector<LaunchTime> takeProfile() override;
  GraphStats graphStats() const override { return stats; }

private:
  GpuExecutor(const Artifact &artifact, std::unique_ptr<GpuDevice> device, const GpuExecutorOptions &options);
  Status load();
  Status reserveMemory();
  /// An output on the device, and pinned memory to fetch it to.
  struct Fetched {
    GpuAddress at = 0; ///< 0: the plan does not have it.
    std::span<std::byte> copy;
  };
  Result<Fetched> findOutput(OutputKind kind);
  /// The step that was launched and not waited for.
  struct UnderWay {
    size_t rows = 0;
    bool chooses = false; ///< Gives choices, not logits.
  };
  size_t logitsOf(size_t rows) const { return rows * static_cast<size_t>(artifact.manifest.model.vocabSize); }
  /// What a step of these sizes is asked for, by launches that the plan has for them.
  StepGoal goalOf(const StepInput &input, const SymbolValues &sizes) const;
  Status launchStep(const StepInput &input, const SymbolValues &values);
  /// Opens the library of products; a note says why there is none.
  void openProducts();
  /// True when the step was launched as the bucket's graph; else `reason` says why not.
  Result<bool> launchAsGraph(const StepInput &input, const SymbolValues &values, const SymbolValues &bucket,
                             EagerReason &reason);
  Status launchEagerly(const StepInput &input, const SymbolValues &values, bool hasLibrary);
  Status enqueue(const PlannedLaunch &planned);
  Status launchTimed(const std::vector<PlannedLaunch> &launches);
  Status recordTimes(const std::vector<PlannedLaunch> &launches);

  const Artifact &artifact;
  GpuExecutorOptions options;
  std::unique_ptr<GpuDevice> device; ///< Outlives all below.
  StepShape shape;
  ExecutorInfo facts;
  std::optional<GpuKernels> kernels;
  std::unique_ptr<GpuProducts> products; ///< Null: kernels multiply.
  std::optional<GpuMemory> gpuMemory;
  std::optional<SequenceRanges> ranges; ///< Contiguous layout.
  std::unique_ptr<GpuStream> stream;
  std::optional<StepBlock> block;
  GpuLaunchPlan plan;
  DecodeBuckets buckets;
  GraphCache graphs;
  GraphStats stats;
  Fetched logits, choices;
  std::optional<UnderWay> underWay;
  bool isProfiling = false;
  std::vector<std::unique_ptr<GpuEvent>> events; ///< Before each launch and after the last.
  std::vector<LaunchTime> times;                 ///< By launch of the manifest.
};

} // namespace fusec::runtime
