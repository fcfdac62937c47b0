//===- CpuLevel.h - instruction sets that kernels are compiled for -----------===//
//
// A level is a name in the manifest plus what the CPU and the operating system
// must offer to run it. One row per level in CpuLevel.cpp, best first.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"

#include <span>
#include <string>
#include <string_view>

namespace fusec::runtime {

/// Names of all levels, best first.
std::span<const std::string_view> cpuLevels();

/// Whether this machine runs kernels of the level; false for unknown names.
bool cpuSupports(std::string_view level);

/// The level to run: `forced` when not empty, else the best one that is both
/// in `available` and supported. Errors list what the artifact has and what
/// this CPU runs.
Result<std::string> chooseCpuLevel(std::span<const std::string> available, std::string_view forced);

} // namespace fusec::runtime
