//===- Traffic.h - bytes each launch moves ------------------------------------------===//
//
// Predicted from the plan, at the sizes of a given step. `readBytes` and
// `writtenBytes` count every buffer a kernel touches once per launch: what must
// come from memory when caches hold whatever is read again. A table that is
// gathered counts the rows taken, and a cache the positions that the kernel's
// loops visit (AccessCount.h), so a bounded loop reads less than the cache holds.
//
// `loadedBytes` and `storedBytes` count what the programs really load and
// store, repeats included: what the reference interpreter counts.
// `touchedBytes` counts of these what a program loads or stores for the first
// time: what programs move when each has a cache of its own.
//
// `minimumBytes` counts only what must cross the kernels' borders in any
// schedule: weights, caches, inputs and outputs, not activations between
// kernels.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/plan/PlanDialect.h"
#include "passes/report/OpWork.h"

#include <functional>
#include <optional>

namespace fusec {

struct LaunchTraffic {
  plan::LaunchOp launch;
  mlir::StringRef variant; ///< The tile kernel that runs.
  double readBytes = 0, writtenBytes = 0;
  double loadedBytes = 0, storedBytes = 0, touchedBytes = 0;
  double minimumBytes = 0; ///< The part of read and written that no fusion can remove.
};

/// What the step's integer inputs hold: their buffer's name and an index give a value.
using StepInputs = std::function<std::optional<int64_t>(llvm::StringRef buffer, llvm::ArrayRef<int64_t> index)>;

/// One sequence whose last positions are the step's tokens.
StepInputs singleSequence(const StepSizes &sizes, int64_t context);

/// One row per launch of the module's program that does anything, in order.
std::vector<LaunchTraffic> trafficOf(mlir::ModuleOp module, const StepSizes &sizes, const StepInputs &inputs);
/// The same for one sequence that fills the cache to `C`.
std::vector<LaunchTraffic> trafficOf(mlir::ModuleOp module, const StepSizes &sizes);

/// Bytes of weights, caches, inputs and outputs, each once, however often launches read them. This
/// is what a step costs when everything between is free.
double minimumBytesOf(mlir::ModuleOp module, const StepSizes &sizes, const StepInputs &inputs);

} // namespace fusec
