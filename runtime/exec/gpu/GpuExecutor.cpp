//===- GpuExecutor.cpp ---------------------------------------------------------===//

#include "runtime/exec/gpu/GpuExecutor.h"

#include <algorithm>
#include <utility>

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

int64_t idsToChooseFrom(const Manifest &manifest, const GpuExecutorOptions &options) {
  const int64_t vocab = manifest.model.vocabSize;
  return options.sampleableIds > 0 ? std::min(options.sampleableIds, vocab) : vocab;
}

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
  openProducts();
  FUSEC_RETURN_IF_ERROR(reserveMemory());
  FUSEC_ASSIGN_OR_RETURN(stream, device->createStream());
  plan = GpuLaunchPlan::bind(manifest, *kernels, gpuMemory->addresses(manifest), block->sizes());
  FUSEC_ASSIGN_OR_RETURN(logits, findOutput(OutputKind::Logits));
  FUSEC_ASSIGN_OR_RETURN(choices, findOutput(OutputKind::Choices));
  (void)takeProfile();
  return gpuMemory->fill(*stream, artifact, options.progress);
}

Status GpuExecutor::reserveMemory() {
  const SymbolValues maxima = shape.maxima();
  if (artifact.manifest.kv.layout == KvLayout::Contiguous)
    ranges.emplace(options.numPages, maxima[Symbol::Sequences], maxima[Symbol::Blocks]);
  FUSEC_ASSIGN_OR_RETURN(
      gpuMemory, GpuMemory::reserve(*device, artifact, maxima, options.numPages, ranges ? ranges->virtualPages() : 0));
  const auto sinkRange = ranges ? std::optional(ranges->sinkRange()) : std::nullopt;
  FUSEC_ASSIGN_OR_RETURN(block, StepBlock::create(*device, gpuMemory->stepLayout(), gpuMemory->stepAddress(),
                                                  idsToChooseFrom(artifact.manifest, options), sinkRange));
  return {};
}

void GpuExecutor::openProducts() {
  if (!artifact.manifest.usesLibrary())
    return;
  Result<std::unique_ptr<GpuProducts>> opened = device->openProducts();
  if (opened)
    products = std::move(*opened);
  else
    facts.notes.push_back("large products use generated kernels: " + opened.status().message());
}

Result<GpuExecutor::Fetched> GpuExecutor::findOutput(OutputKind kind) {
  const std::optional<size_t> index = artifact.manifest.findOutput(kind);
  if (!index)
    return Fetched();
  const BufferInfo &buffer = artifact.manifest.buffers[*index];
  const int64_t bytes = buffer.bytesAt(shape.maxima()).value_or(0);
  Fetched output{gpuMemory->addresses(artifact.manifest)[*index], {}};
  FUSEC_ASSIGN_OR_RETURN(output.copy, device->allocatePinned(std::max<int64_t>(bytes, 4), buffer.name));
  return output;
}

Status GpuExecutor::launch(const StepInput &input) {
  if (underWay)
    return internalError("step: the one before was not waited for");
  FUSEC_RETURN_IF_ERROR(shape.check(input));
  if (!input.sampling.empty() && !samplesOnDevice())
    return internalError("step: the artifact has no kernel that chooses tokens");
  StepInput placed = input;
  if (ranges) { // The stream is idle: the step before was waited for, and copies use no range.
    FUSEC_RETURN_IF_ERROR(ranges->place(input.sequenceIds, input.blockTable, input.blockStride,
                                        [&](int64_t at, BlockId page) { return gpuMemory->map(at, page); }));
    placed.blockTable = ranges->table();
  }
  FUSEC_RETURN_IF_ERROR(launchStep(placed, shape.symbolsOf(input)));
  const UnderWay step{input.outputRows.size(), !input.sampling.empty()};
  const Fetched &output = step.chooses ? choices : logits;
  const size_t bytes = step.chooses ? step.rows * sizeof(text::TokenId) : logitsOf(step.rows) * sizeof(float);
  FUSEC_RETURN_IF_ERROR(stream->copyToHost(output.copy.data(), output.at, static_cast<int64_t>(bytes)));
  underWay = step;
  return {};
}

Result<StepOutput> GpuExecutor::wait() {
  if (!underWay)
    return internalError("step: nothing was launched");
  const UnderWay step = *std::exchange(underWay, std::nullopt);
  FUSEC_RETURN_IF_ERROR(stream->synchronize());
  StepOutput output;
  if (step.chooses)
    output.choices = {reinterpret_cast<const text::TokenId *>(choices.copy.data()), step.rows};
  else
    output.logits = {reinterpret_cast<const float *>(logits.copy.data()), logitsOf(step.rows)};
  return output;
}

Status GpuExecutor::copyPages(std::span<const PageCopy> copies) {
  FUSEC_RETURN_IF_ERROR(shape.check(copies));
  // In the order of the stream, so the next step sees them.
  for (const PageCopy &copy : copies)
    FUSEC_RETURN_IF_ERROR(stream->copyOnDevice(gpuMemory->pageAddress(copy.to), gpuMemory->pageAddress(copy.from),
                                               gpuMemory->pageStride()));
  return {};
}

StepGoal GpuExecutor::goalOf(const StepInput &input, const SymbolValues &sizes) const {
  if (input.sampling.empty())
    return StepGoal::Logits;
  const bool isGreedy =
      std::ranges::all_of(input.sampling, [](const RowSampling &row) { return row.temperature == 0; });
  return isGreedy && plan.serves(StepGoal::Greedy, sizes) ? StepGoal::Greedy : StepGoal::Sampled;
}

Status GpuExecutor::launchStep(const StepInput &input, const SymbolValues &values) {
  const DecodeBuckets::Choice choice = buckets.choose(input, values);
  EagerReason reason = isProfiling ? EagerReason::Profiling : EagerReason::Disabled;
  if (options.usesGraphs && !isProfiling) {
    reason = choice.reason;
    if (choice.bucket) {
      FUSEC_ASSIGN_OR_RETURN(bool launched, launchAsGraph(input, values, *choice.bucket, reason));
      if (launched)
        return {};
    }
  }
  ++stats[reason];
  const bool isDecode = choice.bucket || choice.reason == EagerReason::TooManySequences;
  return launchEagerly(input, values, products && !isDecode);
}

Result<bool> GpuExecutor::launchAsGraph(const StepInput &input, const SymbolValues &values, const SymbolValues &bucket,
                                        EagerReason &reason) {
  FUSEC_ASSIGN_OR_RETURN(GraphCache::Found found, graphs.find(goalOf(input, bucket), bucket, plan, *stream));
  if (!found.entry->graph) {
    reason = EagerReason::CaptureFailed;
    if (found.isNew)
      facts.notes.push_back("a decode step runs without a graph: " + found.entry->failure);
    return false;
  }
  stats.captured += found.isNew;
  SymbolValues sizes = values;
  sizes[Symbol::Blocks] = bucket[Symbol::Blocks];
  FUSEC_RETURN_IF_ERROR(GraphCache::checkCovers(*found.entry, sizes));
  NamedRange range(*device, "decode (graph)");
  block->fill(input, values, bucket, artifact.manifest.symbols);
  FUSEC_RETURN_IF_ERROR(block->send(*stream));
  FUSEC_RETURN_IF_ERROR(stream->launchGraph(*found.entry->graph));
  ++stats.replayed;
  return true;
}

Status GpuExecutor::enqueue(const PlannedLaunch &planned) {
  if (!planned.product)
    return stream->launch(planned.launch);
  return products->multiply(*stream, *planned.product)
      .withContext("launch '" + artifact.manifest.launches[planned.index].name + "'");
}

Status GpuExecutor::launchEagerly(const StepInput &input, const SymbolValues &values, bool hasLibrary) {
  FUSEC_ASSIGN_OR_RETURN(std::vector<PlannedLaunch> launches, plan.at(values, goalOf(input, values), hasLibrary));
  NamedRange range(*device, "step");
  block->fill(input, values, values, artifact.manifest.symbols);
  FUSEC_RETURN_IF_ERROR(block->send(*stream));
  if (isProfiling)
    return launchTimed(launches);
  for (const PlannedLaunch &planned : launches)
    FUSEC_RETURN_IF_ERROR(enqueue(planned));
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
    FUSEC_RETURN_IF_ERROR(enqueue(launches[i]));
  }
  FUSEC_RETURN_IF_ERROR(stream->record(*events[launches.size()]));
  FUSEC_RETURN_IF_ERROR(stream->synchronize());
  return recordTimes(launches);
}

Status GpuExecutor::recordTimes(const std::vector<PlannedLaunch> &launches) {
  for (size_t i = 0; i < launches.size(); ++i) {
    FUSEC_ASSIGN_OR_RETURN(double milliseconds, events[i + 1]->millisecondsSince(*events[i]));
    LaunchTime &time = times[launches[i].index];
    time.entry = launches[i].product ? products->name() : launches[i].variant->entry;
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
  if (products)
    all.rows.push_back({products->name() + " workspace (GPU)", products->workspaceBytes()});
  all.rows.push_back({"pinned host memory",
                      static_cast<int64_t>(logits.copy.size() + choices.copy.size()) + gpuMemory->stepLayout().bytes});
  return all;
}

} // namespace fusec::runtime
