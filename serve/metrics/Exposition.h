//===- Exposition.h - figures in Prometheus' text format -----------------------------===//
//
// The engine's tables name their metrics as vLLM does and mean the same; here
// they get the prefix "fusec_", and on request also "vllm:", so that existing
// dashboards work. docs/serving/operations.md explains them.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/engine/EngineStats.h"
#include "serve/http/Server.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace fusec::serve::metrics {

/// What the server itself counts.
struct HttpFigures {
  std::map<std::pair<std::string, int>, int64_t> requests; ///< By route and status.
  int64_t openRequests = 0;                                ///< Generations and embeddings accepted and not finished.
  http::ServerStats server;
};

struct ExpositionOptions {
  std::string modelName; ///< The label model_name.
  bool aliasVllm = false;
};

std::string render(const runtime::EngineStats &stats, const HttpFigures &figures, const ExpositionOptions &options);

} // namespace fusec::serve::metrics
