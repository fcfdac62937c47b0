//===- Executor.cpp ----------------------------------------------------------===//

#include "runtime/exec/Executor.h"

#include <algorithm>

namespace fusec::runtime {

namespace {

int64_t ceilDiv(int64_t value, int64_t by) { return (value + by - 1) / by; }

/// The symbols of the largest step: what memory is planned for.
SymbolValues symbolMaxima(const StepLimits &limits, int64_t pageTokens) {
  SymbolValues maxima;
  maxima[Symbol::Tokens] = limits.tokens;
  maxima[Symbol::Sequences] = limits.sequences;
  maxima[Symbol::Blocks] = ceilDiv(limits.contextTokens, pageTokens);
  maxima[Symbol::OutputRows] = limits.outputRows;
  maxima[Symbol::Context] = maxima[Symbol::Blocks] * pageTokens;
  return maxima;
}

/// InternalError unless every value is in [0, end).
Status requireRange(std::span<const int32_t> values, int64_t end, const char *what) {
  for (int32_t value : values)
    if (value < 0 || value >= end)
      return internalError("step: " + std::string(what) + " " + std::to_string(value) + " is not in [0, " +
                           std::to_string(end) + ")");
  return {};
}

Status requireSize(size_t size, int64_t low, int64_t high, const char *what) {
  int64_t found = static_cast<int64_t>(size);
  if (found >= low && found <= high)
    return {};
  return internalError("step: expected " + std::to_string(low) + " to " + std::to_string(high) + " " + what +
                       ", found " + std::to_string(found));
}

} // namespace

Executor::Executor(const Artifact &artifact, HostDevice &device, const ExecutorOptions &options)
    : artifact(artifact), device(device), options(options) {}

Result<std::unique_ptr<Executor>> Executor::create(const Artifact &artifact, HostDevice &device, const KvCache &cache,
                                                   const ExecutorOptions &options) {
  const TargetInfo *target = artifact.manifest.findTarget(options.level);
  if (!target)
    return notFound("the artifact has no kernels for the level '" + options.level + "'");
  std::unique_ptr<Executor> executor(new Executor(artifact, device, options));
  SymbolValues maxima = symbolMaxima(options.limits, artifact.manifest.kv.pageTokens);
  FUSEC_ASSIGN_OR_RETURN(executor->arena, ActivationArena::create(artifact.manifest, maxima));
  FUSEC_ASSIGN_OR_RETURN(executor->inputs, StepInputs::create(maxima));
  FUSEC_RETURN_IF_ERROR(executor->loadKernels(*target));
  FUSEC_RETURN_IF_ERROR(executor->bind(cache));
  return executor;
}

Status Executor::loadKernels(const TargetInfo &target) {
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

std::vector<void *> Executor::bufferAddresses(const KvCache &cache) const {
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

Status Executor::bind(const KvCache &cache) {
  const Manifest &manifest = artifact.manifest;
  auto isCache = [](const BufferInfo &buffer) { return buffer.kind == BufferKind::Cache; };
  size_t needed = std::count_if(manifest.buffers.begin(), manifest.buffers.end(), isCache);
  if (needed != cache.numBuffers())
    return internalError("executor: the plan has " + std::to_string(needed) + " cache buffers, the cache has " +
                         std::to_string(cache.numBuffers()));
  std::vector<void *> addresses = bufferAddresses(cache);
  for (const LaunchInfo &launch : manifest.launches) {
    BoundLaunch row{&launch, &kernels.at(launch.kernel), {}, {}};
    for (int32_t arg : launch.args)
      row.args.push_back(addresses[arg]);
    row.time.launch = launch.name;
    row.time.kernel = launch.kernel;
    bound.push_back(std::move(row));
  }
  for (size_t i = 0; i < manifest.buffers.size(); ++i)
    if (manifest.buffers[i].kind == BufferKind::Output) {
      logits = static_cast<const float *>(addresses[i]);
      logitsSlot = manifest.buffers[i].slot;
    }
  launches.resize(bound.size());
  symbolValues.resize(manifest.symbols.size());
  return {};
}

Result<std::span<const float>> Executor::step(const StepInput &input) {
  FUSEC_RETURN_IF_ERROR(checkInput(input));
  FUSEC_RETURN_IF_ERROR(prepareLaunches(symbolsOf(input)));
  inputs.fill(input);
  std::fill(seconds.begin(), seconds.end(), 0.0);
  device.run(launches, symbolValues, seconds);
  recordTimes();
  return std::span<const float>(logits,
                                input.outputRows.size() * static_cast<size_t>(artifact.manifest.model.vocabSize));
}

Status Executor::checkInput(const StepInput &input) const {
  const StepLimits &limits = options.limits;
  int64_t maxBlocks = ceilDiv(limits.contextTokens, artifact.manifest.kv.pageTokens);
  FUSEC_RETURN_IF_ERROR(requireSize(input.tokens.size(), 1, limits.tokens, "tokens"));
  FUSEC_RETURN_IF_ERROR(requireSize(input.outputRows.size(), 0, limits.outputRows, "output rows"));
  if (input.positions.size() != input.tokens.size() || input.sequences.size() != input.tokens.size())
    return internalError("step: tokens, positions and sequences differ in length");
  if (input.blockStride < 1 || input.blockStride > maxBlocks ||
      input.blockTable.size() % static_cast<size_t>(input.blockStride) != 0)
    return internalError("step: the block table of " + std::to_string(input.blockTable.size()) +
                         " entries does not have rows of 1 to " + std::to_string(maxBlocks));
  size_t rows = input.blockTable.size() / static_cast<size_t>(input.blockStride);
  FUSEC_RETURN_IF_ERROR(requireSize(rows, 1, limits.sequences, "sequences"));
  return checkTokens(input);
}

Status Executor::checkTokens(const StepInput &input) const {
  int64_t sequences = static_cast<int64_t>(input.blockTable.size()) / input.blockStride;
  int64_t context = std::min(options.limits.contextTokens, input.blockStride * artifact.manifest.kv.pageTokens);
  FUSEC_RETURN_IF_ERROR(requireRange(input.tokens, artifact.manifest.model.vocabSize, "token id"));
  FUSEC_RETURN_IF_ERROR(requireRange(input.positions, context, "position"));
  FUSEC_RETURN_IF_ERROR(requireRange(input.sequences, sequences, "sequence"));
  FUSEC_RETURN_IF_ERROR(requireRange(input.blockTable, options.numPages, "page"));
  return requireRange(input.outputRows, static_cast<int64_t>(input.tokens.size()), "output row");
}

SymbolValues Executor::symbolsOf(const StepInput &input) const {
  int64_t pageTokens = artifact.manifest.kv.pageTokens;
  int64_t context = *std::max_element(input.positions.begin(), input.positions.end()) + 1;
  SymbolValues values;
  values[Symbol::Tokens] = static_cast<int64_t>(input.tokens.size());
  values[Symbol::Sequences] = static_cast<int64_t>(input.blockTable.size()) / input.blockStride;
  values[Symbol::Blocks] = input.blockStride;
  values[Symbol::OutputRows] = static_cast<int64_t>(input.outputRows.size());
  values[Symbol::Context] = ceilDiv(context, pageTokens) * pageTokens;
  return values;
}

Status Executor::prepareLaunches(const SymbolValues &values) {
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

void Executor::recordTimes() {
  for (size_t i = 0; i < seconds.size(); ++i) {
    LaunchTime &time = bound[i].time;
    time.runs += launches[i].programs > 0;
    time.programs += launches[i].programs;
    time.seconds += seconds[i];
  }
}

MemoryPlan Executor::memory() const {
  int64_t logitBytes = arena.slotBytes(logitsSlot);
  return {{{"activations", arena.bytes() - logitBytes},
           {"logits", logitBytes},
           {"step inputs", inputs.bytes()},
           {"scratch", device.scratchBytes()}}};
}

void Executor::setProfiling(bool on) { seconds.assign(on ? bound.size() : 0, 0.0); }

std::vector<LaunchTime> Executor::takeProfile() {
  std::vector<LaunchTime> times;
  for (BoundLaunch &launch : bound) {
    if (launch.time.runs > 0)
      times.push_back(launch.time);
    launch.time = {launch.info->name, launch.info->kernel, "", 0, 0, 0};
  }
  return times;
}

} // namespace fusec::runtime
