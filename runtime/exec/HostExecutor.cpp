//===- HostExecutor.cpp -------------------------------------------------------===//

#include "runtime/exec/HostExecutor.h"

#include <algorithm>
#include <utility>

namespace fusec::runtime {

HostExecutor::HostExecutor(const Artifact &artifact, HostDevice device, const HostExecutorOptions &options)
    : artifact(artifact), device(std::move(device)), shape(artifact.manifest, options.limits, options.numPages) {
  facts = {"host", "", options.level, this->device.threads(), {}};
}

Result<std::unique_ptr<HostExecutor>> HostExecutor::create(const Artifact &artifact, HostDevice device,
                                                           const HostExecutorOptions &options) {
  const TargetInfo *target = artifact.manifest.findTarget(options.level);
  if (!target || target->kind != TargetKind::Host)
    return notFound("the artifact has no kernels for the level '" + options.level + "'");
  std::unique_ptr<HostExecutor> executor(new HostExecutor(artifact, std::move(device), options));
  SymbolValues maxima = executor->shape.maxima();
  FUSEC_RETURN_IF_ERROR(executor->reserveCache(options.numPages, maxima));
  FUSEC_ASSIGN_OR_RETURN(executor->arena, ActivationArena::create(artifact.manifest, maxima));
  FUSEC_ASSIGN_OR_RETURN(executor->inputs, StepInputs::create(maxima, artifact.manifest.kv.queryTile));
  FUSEC_RETURN_IF_ERROR(executor->loadKernels(*target));
  FUSEC_RETURN_IF_ERROR(executor->bind());
  return executor;
}

Status HostExecutor::reserveCache(int64_t numPages, const SymbolValues &maxima) {
  const KvInfo &kv = artifact.manifest.kv;
  if (kv.layout == KvLayout::Contiguous)
    ranges.emplace(numPages, maxima[Symbol::Sequences], maxima[Symbol::Blocks]);
  FUSEC_ASSIGN_OR_RETURN(cache, KvCache::create({artifact.manifest.cachePageBytes(), kv.pageStride, numPages,
                                                 ranges ? ranges->virtualPages() : 0}));
  return {};
}

Status HostExecutor::loadKernels(const TargetInfo &target) {
  FUSEC_ASSIGN_OR_RETURN(HostModule library, device.loadModule(artifact.directory / target.library));
  int64_t scratchBytes = 0;
  for (const auto &[name, variants] : target.kernels) {
    std::vector<BoundVariant> &resolved = kernels[name];
    for (const KernelVariant &variant : variants) {
      FUSEC_ASSIGN_OR_RETURN(KernelEntry entry, library.entry(variant.entry));
      resolved.push_back({&variant, entry});
      scratchBytes = std::max(scratchBytes, variant.scratchBytes);
    }
  }
  modules.push_back(std::move(library));
  return device.reserveScratch(scratchBytes);
}

std::vector<void *> HostExecutor::bufferAddresses() const {
  std::vector<void *> addresses;
  size_t nextCache = 0;
  for (const BufferInfo &buffer : artifact.manifest.buffers) {
    switch (buffer.kind) {
    case BufferKind::Input:
      addresses.push_back(inputs.address(buffer.input));
      break;
    case BufferKind::Weight:
      // Kernels take one pointer type; weights are mapped read-only, so a write would fault.
      addresses.push_back(const_cast<std::byte *>(artifact.weights.bytes().data()) + buffer.offset);
      break;
    case BufferKind::Cache:
      addresses.push_back(cache.base(nextCache++));
      break;
    case BufferKind::Activation:
    case BufferKind::Output:
      addresses.push_back(arena.address(buffer.slot));
      break;
    }
  }
  return addresses;
}

Status HostExecutor::bind() {
  const Manifest &manifest = artifact.manifest;
  std::vector<void *> addresses = bufferAddresses();
  for (const LaunchInfo &launch : manifest.launches) {
    if (!launch.serves(StepGoal::Logits))
      continue;
    BoundLaunch row{&launch, &kernels.at(launch.kernel), {}, {}};
    for (int32_t arg : launch.args)
      row.args.push_back(addresses[arg]);
    row.time.launch = launch.name;
    row.time.kernel = launch.kernel;
    bound.push_back(std::move(row));
  }
  if (std::optional<size_t> output = manifest.findOutput(manifest.rowOutput())) {
    rows = static_cast<const float *>(addresses[*output]);
    rowsSlot = manifest.buffers[*output].slot;
  }
  launches.resize(bound.size());
  symbolValues.resize(manifest.symbols.size());
  return {};
}

Status HostExecutor::launch(const StepInput &input) {
  launchedRows.reset();
  FUSEC_RETURN_IF_ERROR(shape.check(input));
  if (!input.sampling.empty())
    return internalError("step: the host does not choose tokens");
  FUSEC_RETURN_IF_ERROR(prepareLaunches(shape.symbolsOf(input)));
  StepInput placed = input;
  if (ranges) {
    FUSEC_RETURN_IF_ERROR(ranges->place(input.sequenceIds, input.blockTable, input.blockStride,
                                        [&](int64_t at, BlockId page) { return cache.map(at, page); }));
    placed.blockTable = ranges->table();
  }
  inputs.fill(placed);
  launchedRows = input.outputRows.size();
  return {};
}

Result<StepOutput> HostExecutor::wait() {
  if (!launchedRows)
    return internalError("step: nothing was launched");
  std::fill(seconds.begin(), seconds.end(), 0.0);
  device.run(launches, symbolValues, seconds);
  recordTimes();
  const size_t count = *std::exchange(launchedRows, std::nullopt);
  return StepOutput{{rows, count * static_cast<size_t>(artifact.manifest.model.rowWidth())}, {}};
}

/// A kernel whose programs are calls.
static void callEach(void *const *args, const int64_t *, int64_t begin, int64_t end, void *) {
  const auto &work = *static_cast<const std::function<void(int64_t)> *>(args[0]);
  for (int64_t i = begin; i < end; ++i)
    work(i);
}

void HostExecutor::forEach(int64_t count, const std::function<void(int64_t)> &work) {
  // Launches have one pointer type; callEach() only reads.
  void *const args[] = {const_cast<std::function<void(int64_t)> *>(&work)};
  const Launch calls{callEach, args, count};
  device.run({&calls, 1}, symbolValues, {});
}

Status HostExecutor::copyPages(std::span<const PageCopy> copies) {
  FUSEC_RETURN_IF_ERROR(shape.check(copies));
  for (const PageCopy &copy : copies)
    cache.copyPage(copy);
  return {};
}

Status HostExecutor::prepareLaunches(const SymbolValues &values) {
  const std::vector<Symbol> &symbols = artifact.manifest.symbols;
  for (size_t i = 0; i < symbols.size(); ++i)
    symbolValues[i] = values[symbols[i]];
  for (size_t i = 0; i < bound.size(); ++i) {
    BoundLaunch &launch = bound[i];
    auto variant = std::find_if(launch.variants->begin(), launch.variants->end(),
                                [&](const BoundVariant &v) { return v.info->accepts(values); });
    if (variant == launch.variants->end()) {
      launches[i] = {nullptr, launch.args.data(), 0}; // No programs: the team passes over it.
      continue;
    }
    std::optional<int64_t> programs = variant->info->programs(values);
    if (!programs)
      return internalError("launch '" + launch.info->name + "': the number of programs overflows");
    launches[i] = {variant->entry, launch.args.data(), *programs};
    if (!seconds.empty())
      launch.time.entry = variant->info->entry;
  }
  return {};
}

void HostExecutor::recordTimes() {
  for (size_t i = 0; i < seconds.size(); ++i) {
    LaunchTime &time = bound[i].time;
    time.runs += launches[i].programs > 0;
    time.programs += launches[i].programs;
    time.seconds += seconds[i];
  }
}

MemoryPlan HostExecutor::memory() const {
  const int64_t rowBytes = arena.slotBytes(rowsSlot);
  const char *rowName = artifact.manifest.model.embedding ? "hidden states" : "logits";
  return {{{"weights (mapped)", static_cast<int64_t>(artifact.weights.size())},
           {"kv cache (" + artifact.manifest.kv.describe() + ")", cache.bytes()},
           {"activations", arena.bytes() - rowBytes},
           {rowName, rowBytes},
           {"step inputs", inputs.bytes()},
           {"scratch", device.scratchBytes()}}};
}

void HostExecutor::setProfiling(bool on) { seconds.assign(on ? bound.size() : 0, 0.0); }

std::vector<LaunchTime> HostExecutor::takeProfile() {
  std::vector<LaunchTime> times;
  for (BoundLaunch &launch : bound) {
    if (launch.time.runs > 0)
      times.push_back(launch.time);
    launch.time = {launch.info->name, launch.info->kernel, "", 0, 0, 0};
  }
  return times;
}

} // namespace fusec::runtime
