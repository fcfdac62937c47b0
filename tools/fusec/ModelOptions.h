//===- ModelOptions.h - from MODEL on a command line to an engine ----------===//
//
// The options that run, bench and eval share, and what they do with them:
// decide what MODEL is, compile it into the cache when needed, load it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/engine/Engine.h"
#include "tools/fusec/Environment.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace CLI {
class App;
} // namespace CLI

namespace fusec {

struct ModelOptions {
  std::string model;
  int threads = 0;
  int64_t contextTokens = 0;
  int64_t chunkTokens = 256;
  std::string level;
  bool recompile = false;

  /// Adds MODEL and the engine's options to `app`.
  void declare(CLI::App &app);
};

/// The artifact directory for MODEL: MODEL itself when it is one, else a cache entry, compiled on
/// first use with a progress bar on a terminal.
Result<std::filesystem::path> artifactFor(const ModelOptions &options, const Environment &environment);

/// artifactFor, then Engine::create.
Result<std::unique_ptr<runtime::Engine>> openEngine(const ModelOptions &options, const Environment &environment);

/// Prints "fusec: MESSAGE" to standard error. Returns ExitInterrupted for a Cancelled status and
/// ExitFailure for all others.
int reportError(const Status &status);

} // namespace fusec
