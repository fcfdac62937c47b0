//===- BuildReport.h - a Report from a compilation -------------------------------------===//
//
//   report::Graph before = report::captureGraph(module, sizes);     // after phase primitives
//   ... phases derived, groups; the plan of one level ...
//   report::Report report = report::buildReport({before, module, plan, control, step});
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/fusion/FusionControl.h"
#include "passes/report/OpWork.h"
#include "passes/report/Report.h"

#include "mlir/IR/BuiltinOps.h"

namespace fusec::report {

/// The ops of the module's graph that compute, with the kernels they were assigned to so far.
Graph captureGraph(mlir::ModuleOp module, const StepSizes &sizes);

struct ReportInput {
  Graph before;                 ///< Captured after the phase primitives.
  mlir::ModuleOp grouped;       ///< After the phase groups.
  mlir::ModuleOp plan;          ///< After the phase plan, for one level.
  const FusionControl &control; ///< Of this compilation.
  StepShape step;
  int64_t page = 64;
};

/// Everything but the model's name, the level, times and the text of the plan.
Report buildReport(ReportInput input);

/// "cost", "plan", ... as reports say it.
const char *decidedByName(DecidedBy by);
/// A `proof` attribute as text.
Proof proofOf(mlir::DictionaryAttr dictionary);

/// Parts of it, each for itself.
std::vector<Kernel> buildKernels(mlir::ModuleOp plan, const Graph &grouped, const StepSizes &sizes,
                                 const StepShape &step);
std::vector<DecisionRow> buildDecisions(const FusionControl &control, const StepSizes &sizes);
Memory buildMemory(mlir::ModuleOp plan, const StepSizes &sizes);

} // namespace fusec::report
