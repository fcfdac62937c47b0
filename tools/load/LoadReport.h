//===- LoadReport.h - a load test as JSON, text and a page ------------------------===//
//
// The JSON holds everything: figures, the workload, the context of client and
// server, and one line per request, so that others can compute their own figures.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tools/load/LoadSummary.h"
#include "tools/load/PrefixBound.h"
#include "tools/load/ServerPool.h"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <vector>

namespace fusec::load {

/// What a cache of the server's size could have given, empty at the start.
struct PrefixReuse {
  ServerPool pool;
  PrefixBound bound;
};

struct LoadReport {
  const LoadPlan &plan;
  const LoadResult &result;
  const LoadSummary &summary;
  const Objectives &objectives;
  const nlohmann::json &context; ///< Machine, command line, server; members that are null are missing.
  std::optional<PrefixReuse> reuse = {};
};

/// Names of the context's members that are missing: each makes the result not comparable.
std::vector<std::string> missingContext(const nlohmann::json &context);

nlohmann::json toJson(const LoadReport &report);
/// A table for a terminal, ending with a line that says whether the result is comparable.
std::string toText(const LoadReport &report);
/// One HTML file without references to others: figures, plots, context.
std::string toPage(const LoadReport &report);

} // namespace fusec::load
