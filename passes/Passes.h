//===- Passes.h - declarations and registration of all passes ---------------===//
#pragma once

#include "mlir/Pass/Pass.h"

#include <memory>
#include <vector>

namespace mlir {
class ModuleOp;
}

namespace fusec {

class FusionControl;
class RuleFile;

#define GEN_PASS_DECL
#include "passes/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Passes.h.inc"

/// The fusing passes, asking `control` for each fusion; null: the cost model decides alone.
std::unique_ptr<mlir::Pass> createFuseDerivePass(std::shared_ptr<FusionControl> control);
std::unique_ptr<mlir::Pass> createFuseFormGroupsPass(std::shared_ptr<FusionControl> control);

/// The passes of users' rules, on files that are open already.
std::unique_ptr<mlir::Pass> createFuseApplyRulesPass(std::shared_ptr<std::vector<std::unique_ptr<RuleFile>>> files);
std::unique_ptr<mlir::Pass> createFusePlaceHintsPass(std::shared_ptr<std::vector<std::unique_ptr<RuleFile>>> files);

} // namespace fusec
