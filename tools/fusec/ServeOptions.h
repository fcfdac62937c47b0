//===- ServeOptions.h - the command line of `fusec serve` ---------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/engine/Engine.h"
#include "serve/http/Server.h"
#include "serve/openai/ApiOptions.h"
#include "tools/fusec/Environment.h"

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
} // namespace CLI

namespace fusec {

struct ServeOptions {
  serve::http::ServerOptions http;
  serve::ApiOptions api;
  int64_t maxSequences = 16;
  uint64_t kvBytes = 0;
  std::string policy = "fcfs";
  bool noPrefixCache = false, staticBatches = false, noPage = false;
  std::string apiKeyFile, log = "json", metricsAlias;
  int64_t requestTimeoutSeconds = 600, drainTimeoutSeconds = 30;

  void declare(CLI::App &app);
  /// What ModelOptions does not say of the engine.
  runtime::EngineOptions engine() const;
  /// Takes in the key file and the environment and brings the rest into the form of the libraries. InvalidArgument
  /// names the option.
  Status resolve(const Environment &environment);
};

} // namespace fusec
