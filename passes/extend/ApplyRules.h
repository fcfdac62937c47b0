//===- ApplyRules.h - runs the rules of a file over a graph -----------------------------------===//
#pragma once

#include "passes/extend/RuleFile.h"

#include "mlir/Pass/Pass.h"

namespace fusec {

/// Applies the rewriting rules of each file, in order, until none matches. Emits an error that
/// names the rule when one writes IR that does not verify, cannot do its rewrite, or never ends.
mlir::LogicalResult applyRewritingRules(mlir::ModuleOp module, llvm::ArrayRef<RuleFile *> files);

/// Replaces all hints in the graph by those that the rules with at = "fusion" place.
mlir::LogicalResult placeHints(mlir::ModuleOp module, llvm::ArrayRef<RuleFile *> files);

} // namespace fusec
