//===- EngineState.cpp - from options to a loaded engine ----------------------===//

#include "runtime/engine/EngineState.h"

#include "runtime/base/MappedFile.h"
#include "runtime/engine/PoolSize.h"
#include "runtime/exec/ExecutorFactory.h"

#include <algorithm>
#include <unistd.h>

namespace fusec::runtime {

namespace {

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
  FUSEC_ASSIGN_OR_RETURN(PoolSize size, sizePool(options, artifact.manifest));
  FUSEC_ASSIGN_OR_RETURN(text::Tokenizer tokenizer, text::Tokenizer::load(options.artifact / "tokenizer.json"));
  auto state = std::make_unique<EngineState>(size.options, std::move(artifact), std::move(tokenizer));
  FUSEC_RETURN_IF_ERROR(state->loadChatTemplate());
  state->collectEndIds();
  FUSEC_RETURN_IF_ERROR(state->reserve(size));
  state->compose(size);
  return state;
}

Status EngineState::reserve(const PoolSize &size) {
  ExecutorOptions setup;
  setup.device = options.device;
  setup.level = options.level;
  setup.threads = options.threads;
  setup.limits = {options.chunkTokens, options.maxSequences, size.maxOutputRows, options.contextTokens};
  setup.numPages = size.numPages;
  setup.usesGraphs = options.graphs;
  setup.progress = options.progress;
  setup.sampleableIds = sampleableIds();
  FUSEC_ASSIGN_OR_RETURN(executor, createExecutor(artifact, setup));
  options.level = executor->info().level;
  options.threads = executor->info().threads;
  memory = executor->memory();
  return isOnHost(options) ? checkMachineMemory() : Status();
}

void EngineState::compose(const PoolSize &size) {
  const Manifest &manifest = artifact.manifest;
  kv.emplace(KvManager::Options{size.numPages, manifest.kv.pageTokens, options.prefixCache});
  SchedulerOptions rules;
  rules.tokenBudget = options.chunkTokens;
  rules.maxSequences = options.maxSequences;
  rules.maxOutputRows = size.maxOutputRows;
  // A token behind the last position is never computed: an evaluation may fill the context.
  rules.contextTokens = options.contextTokens + 1;
  rules.policy = options.policy;
  rules.staticBatches = options.staticBatches;
  scheduler.emplace(*kv, rules);
  const ModelText text{tokenizer, endIds, sampleableIds(), options.contextTokens};
  loop.emplace(EngineParts{*executor, *kv, *scheduler, monitor, text, manifest.model, options.maxSequences,
                           manifest.model.digest + " " + manifest.kv.dtype});
}

Status EngineState::checkMachineMemory() const {
  // Pages become resident on first use, so a plan that cannot fit would only fail in the middle of a long prompt.
  int64_t machine = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  int64_t needed = memory.totalBytes() - static_cast<int64_t>(artifact.weights.size()); // Weights can be paged out.
  if (machine <= 0 || needed <= machine)
    return {};
  return resourceExhausted(
      "a KV pool of " + std::to_string(options.kvTokens) + " tokens for " + std::to_string(options.maxSequences) +
      " sequences in a context of " + std::to_string(options.contextTokens) + " needs " + std::to_string(needed >> 20) +
      " MiB (kv cache " + std::to_string(kvBytes(memory) >> 20) + " MiB), this machine has " +
      std::to_string(machine >> 20) + " MiB: choose a smaller context, fewer sequences or a smaller pool");
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
