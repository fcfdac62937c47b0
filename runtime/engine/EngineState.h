//===- EngineState.h - what an Engine owns ------------------------------------===//
//
// Built in order of the members and destroyed in reverse: each borrows from
// those above it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/engine/Engine.h"
#include "runtime/engine/EngineLoop.h"
#include "runtime/engine/EngineMonitor.h"
#include "runtime/exec/Artifact.h"
#include "runtime/exec/Executor.h"
#include "runtime/kv/KvManager.h"
#include "runtime/sched/Scheduler.h"
#include "runtime/text/ChatTemplate.h"
#include "runtime/text/Tokenizer.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

namespace fusec::runtime {

struct PoolSize;

struct EngineState {
  EngineState(EngineOptions options, Artifact artifact, text::Tokenizer tokenizer)
      : options(std::move(options)), artifact(std::move(artifact)), tokenizer(std::move(tokenizer)) {}

  /// Reads and resolves everything; see Engine::create.
  static Result<std::unique_ptr<EngineState>> load(const EngineOptions &options);

  EngineOptions options; ///< Resolved.
  Artifact artifact;
  text::Tokenizer tokenizer;
  std::optional<text::ChatTemplate> chatTemplate;
  std::vector<TokenId> endIds; ///< Sorted.
  std::unique_ptr<Executor> executor;
  std::optional<KvManager> kv;
  std::optional<Scheduler> scheduler;
  EngineMonitor monitor;
  std::optional<EngineLoop> loop;
  MemoryPlan memory;
  /// Ids that may be generated are below: rows that pad the embedding beyond the tokenizer are not.
  int64_t sampleableIds() const { return std::min(artifact.manifest.model.vocabSize, tokenizer.size()); }

private:
  Status reserve(const PoolSize &size);
  void compose(const PoolSize &size);
  Status checkMachineMemory() const;
  Status loadChatTemplate();
  void collectEndIds();
};

} // namespace fusec::runtime
