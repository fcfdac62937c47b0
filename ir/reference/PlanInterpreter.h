//===- PlanInterpreter.h - runs a plan launch by launch -----------------------===//
//
// Runs a plan.program as the runtime would, on the reference kernels:
//
//   PlanInputs inputs;
//   inputs.buffers["tokens"] = ...;            // every input, by name
//   inputs.buffers["k.0"] = pool;              // every cache: [pages, P, H, D]
//   env.symbols["C"] = 64;                     // what no input's shape tells
//   FUSEC_ASSIGN_OR_RETURN(PlanRun run, interpretPlan(module, program, inputs, env,
//   Precision::Exact)); run.outputs["logits"]
//
// Slots are modelled by poison: before a launch writes a buffer, all other
// buffers of its slot become NaN, so that a wrong memory plan shows. Caches are
// updated in the storage that was passed in. Threading: one call at a time.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/reference/KernelInterpreter.h"

#include "ir/plan/PlanDialect.h"

namespace fusec::reference {

struct PlanInputs {
  /// Inputs and caches by buffer name.
  llvm::StringMap<Tensor> buffers;
};

/// What one launch did.
struct LaunchRecord {
  std::string name;    ///< Of the launch.
  std::string variant; ///< The tile kernel that ran.
  KernelRun run;
};

struct PlanRun {
  llvm::StringMap<Tensor> outputs;
  std::vector<LaunchRecord> launches;
};

struct PlanOptions {
  KernelOptions kernel;
  bool hasLibrary = false; ///< Products of large steps are the library's.
  /// Called after each launch with its buffers, in argument order.
  std::function<void(const LaunchRecord &, llvm::ArrayRef<Tensor>)> afterLaunch;
};

Result<PlanRun> interpretPlan(mlir::ModuleOp module, plan::ProgramOp program, const PlanInputs &inputs,
                              const Environment &environment, Precision precision, const PlanOptions &options = {});

/// The variant a kernel picks for the symbols, null when none applies and nothing runs; NotFound when a condition's
/// symbol has no value.
Result<tile::KernelOp> pickVariant(mlir::ModuleOp module, plan::KernelOp kernel, const Environment &environment);

} // namespace fusec::reference
