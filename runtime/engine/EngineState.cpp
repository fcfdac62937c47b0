//===- EngineState.cpp - from options to a loaded engine ----------------------===//

#include "runtime/engine/EngineState.h"

#include "runtime/base/MappedFile.h"
#include "runtime/exec/ExecutorFactory.h"

#include <algorithm>
#include <unistd.h>

namespace fusec::runtime {

namespace {

constexpr int64_t defaultContextTokens = 4096;
constexpr int maxThreads = 1024;
/// Logits of a whole chunk would dwarf the other activations of a small model; more rows than this are evaluated in
/// several steps.
constexpr int64_t maxLogitBytes = 64 << 20;

Status requireBetween(const char *what, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high)
    return {};
  return invalidArgument(std::string(what) + ": expected " + std::to_string(low) + " to " + std::to_string(high) +
                         ", found " + std::to_string(value));
}

Result<EngineOptions> resolve(EngineOptions options, const Manifest &manifest) {
  int64_t modelContext = manifest.model.contextLength;
  FUSEC_RETURN_IF_ERROR(requireBetween("threads", options.threads, 0, maxThreads));
  if (options.contextTokens == 0)
    options.contextTokens = std::min(modelContext, defaultContextTokens);
  FUSEC_RETURN_IF_ERROR(
      requireBetween("context tokens (the model's limit is the most)", options.contextTokens, 1, modelContext));
  if (options.chunkTokens < 1)
    return invalidArgument("chunk tokens: expected at least 1, found " + std::to_string(options.chunkTokens));
  options.chunkTokens = std::min(options.chunkTokens, options.contextTokens);
  return options;
}

int64_t kvBytes(const MemoryPlan &memory) {
  for (const MemoryPlan::Row &row : memory.rows)
    if (row.name.starts_with("kv cache"))
      return row.bytes;
  return 0;
}

bool isOnHost(const EngineOptions &options) { return options.device.empty() || options.device == "host"; }

} // namespace

Result<std::unique_ptr<EngineState>> EngineState::load(const EngineOptions &options) {
  FUSEC_ASSIGN_OR_RETURN(Artifact artifact, Artifact::open(options.artifact));
  FUSEC_ASSIGN_OR_RETURN(EngineOptions resolved, resolve(options, artifact.manifest));
  FUSEC_ASSIGN_OR_RETURN(text::Tokenizer tokenizer, text::Tokenizer::load(options.artifact / "tokenizer.json"));
  auto state = std::make_unique<EngineState>(std::move(resolved), std::move(artifact), std::move(tokenizer));
  FUSEC_RETURN_IF_ERROR(state->loadChatTemplate());
  state->collectEndIds();
  FUSEC_RETURN_IF_ERROR(state->reserve());
  return state;
}

Status EngineState::reserve() {
  const Manifest &manifest = artifact.manifest;
  int64_t pageTokens = manifest.kv.pageTokens;
  int64_t numPages = (options.contextTokens + pageTokens - 1) / pageTokens + 1; // And the sink.
  maxOutputRows = std::clamp<int64_t>(maxLogitBytes / (manifest.model.vocabSize * 4), 1, options.chunkTokens);
  ExecutorOptions setup{
      options.device, options.level,  options.threads,  {options.chunkTokens, 1, maxOutputRows, options.contextTokens},
      numPages,       options.graphs, options.progress, sampleableIds()};
  allocator = BlockAllocator(static_cast<int32_t>(numPages));
  FUSEC_ASSIGN_OR_RETURN(executor, createExecutor(artifact, setup));
  sequence.emplace(*executor, allocator, pageTokens);
  options.level = executor->info().level;
  options.threads = executor->info().threads;
  memory = executor->memory();
  return isOnHost(options) ? checkMachineMemory() : Status();
}

Status EngineState::checkMachineMemory() const {
  // Pages become resident on first use, so a plan that cannot fit would only fail in the middle of a long prompt.
  int64_t machine = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  int64_t needed = memory.totalBytes() - static_cast<int64_t>(artifact.weights.size()); // Weights can be paged out.
  if (machine <= 0 || needed <= machine)
    return {};
  return resourceExhausted("a context of " + std::to_string(options.contextTokens) + " tokens needs " +
                           std::to_string(needed >> 20) + " MiB (kv cache " + std::to_string(kvBytes(memory) >> 20) +
                           " MiB), this machine has " + std::to_string(machine >> 20) +
                           " MiB: choose a smaller context");
}

Status EngineState::loadChatTemplate() {
  std::filesystem::path path = options.artifact / "chat_template.jinja";
  std::error_code ec;
  if (!std::filesystem::exists(path, ec))
    return {};
  FUSEC_ASSIGN_OR_RETURN(MappedFile file, MappedFile::open(path));
  std::string source(reinterpret_cast<const char *>(file.bytes().data()), file.size());
  Result<text::ChatTemplate> compiled = text::ChatTemplate::compile(std::move(source));
  if (!compiled)
    return compiled.status().withContext(path.string());
  chatTemplate.emplace(std::move(compiled).value());
  return {};
}

void EngineState::collectEndIds() {
  endIds = artifact.manifest.model.eosIds;
  endIds.insert(endIds.end(), tokenizer.endIds().begin(), tokenizer.endIds().end());
  std::sort(endIds.begin(), endIds.end());
  endIds.erase(std::unique(endIds.begin(), endIds.end()), endIds.end());
}

} // namespace fusec::runtime
