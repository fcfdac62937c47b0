//===- StatsJson.h - an engine's figures as JSON -----------------------------------===//
#pragma once

#include "runtime/engine/EngineStats.h"

#include <nlohmann/json.hpp>

namespace fusec::serve {

/// What /api/stats and /api/live show. Steps with a number up to `afterStep` are left out.
nlohmann::json statsJson(const runtime::EngineStats &stats, uint64_t afterStep = 0);

} // namespace fusec::serve
