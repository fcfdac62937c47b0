//===- EngineState.h - what an Engine owns ------------------------------------===//
//
// Built in order of the members and destroyed in reverse: each borrows from
// those above it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/engine/Engine.h"
#include "runtime/engine/SequenceRunner.h"
#include "runtime/exec/Artifact.h"
#include "runtime/exec/Executor.h"
#include "runtime/kv/BlockAllocator.h"
#include "runtime/text/ChatTemplate.h"
#include "runtime/text/Tokenizer.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

namespace fusec::runtime {

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
  BlockAllocator allocator{1}; ///< Sized when the cache is reserved.
  std::unique_ptr<Executor> executor;
  std::optional<SequenceRunner> sequence;
  MemoryPlan memory;
  int64_t maxOutputRows = 1; ///< Logit rows one step can give.
  /// Ids that may be generated are below: rows that pad the embedding beyond the tokenizer are not.
  int64_t sampleableIds() const { return std::min(artifact.manifest.model.vocabSize, tokenizer.size()); }

private:
  Status reserve();
  Status checkMachineMemory() const;
  Status loadChatTemplate();
  void collectEndIds();
};

} // namespace fusec::runtime
