//===- KernelBudget.h - what a kernel may use ------------------------------===//
//
// A kernel that spills registers is slow in a way that no test of its results
// shows, so the budget is part of what "compiled" means. One row per kernel
// family in KernelBudget.cpp.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cuda/CompileLog.h"
#include "codegen/cuda/CudaTarget.h"

#include <span>

namespace fusec::codegen {

struct KernelBudget {
  std::string_view family; ///< As the emitter names it, e.g. "gemv".
  int registers;           ///< Per thread, at most.
  int64_t spillBytes = 0;  ///< Stores and loads together, at most.
  int64_t stackBytes = 0;  ///< Per thread, at most.
};

/// One row per family.
std::span<const KernelBudget> kernelBudgets();

/// Internal for a family without a row.
Result<const KernelBudget *> kernelBudgetOf(std::string_view family);

/// What a launch adds to what the log says.
struct LaunchShape {
  int threads = 0;           ///< Per block.
  int64_t dynamicShared = 0; ///< Bytes per block.
};

/// Everything about `found` that exceeds its budget or the target, as "registers 168 (allowed 128)"; empty when it
/// fits. Serial wgmma never fits.
std::vector<std::string> excessOf(const KernelResources &found, const KernelBudget &budget, const LaunchShape &launch,
                                  const CudaTarget &target);

} // namespace fusec::codegen
