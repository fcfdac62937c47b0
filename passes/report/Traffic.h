//===- Traffic.h - bytes each launch moves ------------------------------------------===//
//
// Predicted from the plan: every buffer a kernel touches counts once per
// launch, at the sizes of a given step; a table that is gathered counts the
// rows taken. `minimum` counts only what must cross the kernels' borders in any
// schedule: weights, caches, inputs and outputs, not activations between
// kernels.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/plan/PlanDialect.h"

#include "llvm/ADT/StringMap.h"

namespace fusec {

using StepSizes = llvm::StringMap<int64_t>; ///< T, S, B, R, C.

struct LaunchTraffic {
  plan::LaunchOp launch;
  double readBytes = 0, writtenBytes = 0;
  double minimumBytes = 0; ///< The part of both that no fusion can remove.
};

/// One row per launch of the module's program, in order.
std::vector<LaunchTraffic> trafficOf(mlir::ModuleOp module, const StepSizes &sizes);

} // namespace fusec
