//===- ModelOptions.h - from MODEL on a command line to an engine ----------===//
//
// The options that run, bench and eval share, and what they do with them:
// decide what MODEL is, compile it into the cache when needed, load it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/engine/Engine.h"
#include "runtime/schema/KvLayout.h"
#include "runtime/schema/Pooling.h"
#include "runtime/schema/StorageType.h"
#include "tools/fusec/DeviceOptions.h"
#include "tools/fusec/Environment.h"
#include "tools/fusec/ExtensionOptions.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace fusec {

struct CompileOptions;

/// `--kv-dtype`: how a compiled model stores keys and values.
struct KvDtypeOption {
  std::string name; ///< Empty when it was not given.

  CLI::Option *declare(CLI::App &app);
  /// Nothing when it was not given.
  std::optional<StorageType> type() const;
};

/// `--kv-layout`: where the cache pages of a sequence lie.
struct KvLayoutOption {
  std::string name; ///< Empty when it was not given.

  void declare(CLI::App &app);
  KvLayout layout() const { return kvLayoutByName(name).value_or(KvLayout::Paged); }
};

/// `--kv-page-tokens`: positions of a page of a compiled model's cache.
struct KvPageOption {
  int64_t tokens = 0; ///< 0 when it was not given.

  CLI::Option *declare(CLI::App &app);
  /// What to compile for.
  int64_t chosen() const;
};

/// `--embeddings[=POOLING]`: compile for embeddings instead of text.
struct EmbeddingsOption {
  std::string name; ///< Empty when it was not given; "model" without a pooling.

  CLI::Option *declare(CLI::App &app);
  bool given() const { return !name.empty(); }
  std::optional<Pooling> pooling() const { return poolingByName(name); }
};

/// `--fusion-plan`: a file that says which fusions to take (docs/fusion-plan.md).
struct FusionPlanOption {
  std::string file; ///< Empty when it was not given.

  void declare(CLI::App &app);
};

struct ModelOptions {
  std::string model;
  int threads = 0;
  int64_t contextTokens = 0;
  int64_t chunkTokens = 256;
  std::string level;
  DeviceOptions device;
  KvDtypeOption kvDtype;
  KvLayoutOption kvLayout;
  KvPageOption kvPage;
  EmbeddingsOption embeddings; ///< declare() leaves it to commands that give embeddings.
  FusionPlanOption fusionPlan;
  ExtensionOptions extensions;
  bool recompile = false;

  /// Adds MODEL and the engine's options to `app`.
  void declare(CLI::App &app);
};

/// What these options ask of the compiler, for a target (DeviceOptions::compileTarget) and, on the host, one CPU level
/// (empty: the best this CPU runs). Output and progress are the caller's to set.
CompileOptions compileOptionsFor(const ModelOptions &options, const std::string &target, const std::string &level,
                                 const Environment &environment);

/// The artifact directory for MODEL: MODEL itself when it is one, else a cache entry, compiled on
/// first use with a progress bar on a terminal. InvalidArgument when an artifact was compiled
/// otherwise than the options ask.
Result<std::filesystem::path> artifactFor(const ModelOptions &options, const Environment &environment);

/// artifactFor, then Engine::create. `more`: what these options don't set (sequences at once, KV memory, policy). Notes
/// about the device go to standard error.
Result<std::unique_ptr<runtime::Engine>> openEngine(const ModelOptions &options, const Environment &environment,
                                                    const runtime::EngineOptions &more = {});

/// Prints "fusec: MESSAGE" to standard error. Returns ExitInterrupted for a Cancelled status and
/// ExitFailure for all others.
int reportError(const Status &status);

} // namespace fusec
