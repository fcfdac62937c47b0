//===- RunStats.h - rates and memory of one generation as text -------------===//
#pragma once

#include "runtime/engine/Engine.h"

#include <cstdint>
#include <string>

namespace fusec {

/// What `fusec run --stats` prints: tokens and rates of both phases, settings, memory by owner.
std::string describeRun(const runtime::Generation &generation, const runtime::Engine &engine);

/// One line: graphs captured, steps replayed, and how many were launched kernel by kernel for which reason.
std::string describeGraphs(const runtime::GraphStats &stats);

/// "1.5 MiB", "98.4 MiB", ...
std::string formatBytes(int64_t bytes);

/// Largest resident memory of this process so far, in bytes; 0 when unknown.
int64_t peakResidentBytes();

} // namespace fusec
