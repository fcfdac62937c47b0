//===- GpuExecutor.cpp ---------------------------------------------------------===//

#include "runtime/exec/gpu/GpuExecutor.h"

#include <algorithm>

namespace fusec::runtime {

namespace {

/// Names what runs on the profiler's time line until the end of the scope.
class NamedRange {
public:
  NamedRange(GpuDevice &device, const char *name) : device(device) { device.pushRange(name); }
  ~NamedRange() { device.popRange(); }
  NamedRange(const NamedRange &) = delete;
  NamedRange &operator=(const NamedRange &) = delete;

private:
  GpuDevice &device;
};

} // namespace

GpuExecutor::GpuExecutor(const Artifact &artifact, std::unique_ptr<GpuDevice> owned, const GpuExecutorOptions &options)
    : artifact(artifact), options(options), device(std::move(owned)),
      shape(artifact.manifest, options.limits, options.numPages),
      buckets(shape.maxima(), shape.pageTokens(), options.maxGraphSequences) {
  facts.device = device->info().name;
  if (const int version = device->info().driverVersion; version > 0)
    facts.driver = "CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

Result<std::unique_ptr<GpuExecutor>> GpuExecutor::create(const Artifact &artifact, std::unique_ptr<GpuDevice> device,
                                                         const GpuExecutorOptions &options) {
  std::unique_ptr<GpuExecutor> executor(new GpuExecutor(artifact, std::move(device), options));
  FUSEC_RETURN_IF_ERROR(executor->load());
  return executor;
}

Status GpuExecutor::load() {
  const Manifest &manifest = artifact.manifest;
  FUSEC_ASSIGN_OR_RETURN(GpuTargetChoice choice, chooseGpuTarget(manifest, device->info()));
  facts.level = choice.target->level;
  if (!choice.note.empty())
    facts.notes.push_back(choice.note);
  // Kernels first: what they take is then no longer free.
  FUSEC_ASSIGN_OR_RETURN(kernels, GpuKernels::load(*device, artifact, choice));
  FUSEC_ASSIGN_OR_RETURN(gpuMemory, GpuMemory::reserve(*device, artifact, shape.maxima(), options.numPages));
  FUSEC_ASSIGN_OR_RETURN(stream, device->createStream());
  FUSEC_ASSIGN_OR_RETURN(block, StepBlock::create(*device, gpuMemory->stepLayout(), gpuMemory->stepAddress()));
  plan = GpuLaunchPlan::bind(manifest, *kernels, gpuMemory->addresses(manifest), block->sizes());
  FUSEC_RETURN_IF_ERROR(findLogits());
  (void)takeProfile();
  return gpuMemory->fill(*stream, artifact, options.progress);
}

Status GpuExecutor::findLogits() {
  const std::vector<GpuAddress> addresses = gpuMemory->addresses(artifact.manifest);
  for (size_t i = 0; i < addresses.size(); ++i) {
    const BufferInfo &buffer = artifact.manifest.buffers[i];
    if (buffer.kind != BufferKind::Output)
      continue;
    logits = addresses[i];
    const int64_t bytes = buffer.bytesAt(shape.maxima()).value_or(0);
    FUSEC_ASSIGN_OR_RETURN(fetched, device->allocatePinned(std::max<int64_t>(bytes, 4), "logits"));
  }
  return {};
}

Result<std::span<const float>> GpuExecutor::step(const StepInput &input) {
  FUSEC_RETURN_IF_ERROR(shape.check(input));
  FUSEC_RETURN_IF_ERROR(launchStep(input, shape.symbolsOf(input)));
  const size_t count = input.outputRows.size() * static_cast<size_t>(artifact.manifest.model.vocabSize);
  FUSEC_RETURN_IF_ERROR(stream->copyToHost(fetched.data(), logits, static_cast<int64_t>(count * sizeof(float))));
  FUSEC_RETURN_IF_ERROR(stream->synchronize());
  return std::span<const float>(reinterpret_cast<const float *>(fetched.data()), count);
}

Status GpuExecutor::launchStep(const StepInput &input, const SymbolValues &values) {
  EagerReason reason = isProfiling ? EagerReason::Profiling : EagerReason::Disabled;
  if (options.usesGraphs && !isProfiling) {
    FUSEC_ASSIGN_OR_RETURN(bool launched, launchAsGraph(input, values, reason));
    if (launched)
      return {};
  }
  ++stats[reason];
  return launchEagerly(input, values);
}

Result<bool> GpuExecutor::launchAsGraph(const StepInput &input, const SymbolValues &values, EagerReason &reason) {
  const DecodeBuckets::Choice choice = buckets.choose(input, values);
  if (!choice.bucket) {
    reason = choice.reason;
    return false;
  }
  FUSEC_ASSIGN_OR_RETURN(GraphCache::Found found, graphs.find(*choice.bucket, plan, *stream));
  if (!found.entry->graph) {
    reason = EagerReason::CaptureFailed;
    if (found.isNew)
      facts.notes.push_back("a decode step runs without a graph: " + found.entry->failure);
    return false;
  }
  stats.captured += found.isNew;
  SymbolValues sizes = values;
  sizes[Symbol::Blocks] = (*choice.bucket)[Symbol::Blocks];
  FUSEC_RETURN_IF_ERROR(GraphCache::checkCovers(*found.entry, sizes));
  NamedRange range(*device, "decode (graph)");
  block->fill(input, values, *choice.bucket, artifact.manifest.symbols);
  FUSEC_RETURN_IF_ERROR(block->send(*stream));
  FUSEC_RETURN_IF_ERROR(stream->launchGraph(*found.entry->graph));
  ++stats.replayed;
  return true;
}

Status GpuExecutor::launchEagerly(const StepInput &input, const SymbolValues &values) {
  FUSEC_ASSIGN_OR_RETURN(std::vector<PlannedLaunch> launches, plan.at(values));
  NamedRange range(*device, "step");
  block->fill(input, values, values, artifact.manifest.symbols);
  FUSEC_RETURN_IF_ERROR(block->send(*stream));
  if (isProfiling)
    return launchTimed(launches);
  for (const PlannedLaunch &planned : launches)
    FUSEC_RETURN_IF_ERROR(stream->launch(planned.launch));
  return {};
}

//===----------------------------------------------------------------------===//
// Profiling
//===----------------------------------------------------------------------===//

Status GpuExecutor::launchTimed(const std::vector<PlannedLaunch> &launches) {
  while (events.size() < launches.size() + 1) {
    FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<GpuEvent> event, device->createEvent());
    events.push_back(std::move(event));
  }
  for (size_t i = 0; i < launches.size(); ++i) {
    NamedRange range(*device, artifact.manifest.launches[launches[i].index].name.c_str());
    FUSEC_RETURN_IF_ERROR(stream->record(*events[i]));
    FUSEC_RETURN_IF_ERROR(stream->launch(launches[i].launch));
  }
  FUSEC_RETURN_IF_ERROR(stream->record(*events[launches.size()]));
  FUSEC_RETURN_IF_ERROR(stream->synchronize());
  return recordTimes(launches);
}

Status GpuExecutor::recordTimes(const std::vector<PlannedLaunch> &launches) {
  for (size_t i = 0; i < launches.size(); ++i) {
    FUSEC_ASSIGN_OR_RETURN(double milliseconds, events[i + 1]->millisecondsSince(*events[i]));
    LaunchTime &time = times[launches[i].index];
    time.entry = launches[i].variant->entry;
    time.runs += 1;
    time.programs += launches[i].programs;
    time.seconds += milliseconds / 1000;
  }
  return {};
}

std::vector<LaunchTime> GpuExecutor::takeProfile() {
  std::vector<LaunchTime> taken;
  for (LaunchTime &time : times)
    if (time.runs > 0)
      taken.push_back(std::move(time));
  times.clear();
  for (const LaunchInfo &launch : artifact.manifest.launches)
    times.push_back({launch.name, launch.kernel, "", 0, 0, 0});
  return taken;
}

MemoryPlan GpuExecutor::memory() const {
  MemoryPlan all = gpuMemory->plan();
  all.rows.push_back({"pinned host memory", static_cast<int64_t>(fetched.size()) + gpuMemory->stepLayout().bytes});
  return all;
}

} // namespace fusec::runtime
