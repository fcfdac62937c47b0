//===- FormGroups.cpp - writes the grouping into the graph ---------------------===//
#include "passes/Passes.h"
#include "passes/fusion/FusionControl.h"
#include "passes/fusion/Grouping.h"
#include "passes/fusion/Remark.h"

namespace fusec {
#define GEN_PASS_DEF_FUSEFORMGROUPSPASS
#include "passes/Passes.h.inc"
} // namespace fusec

using namespace mlir;

namespace {

struct FuseFormGroups : fusec::impl::FuseFormGroupsPassBase<FuseFormGroups> {
  using FuseFormGroupsPassBase::FuseFormGroupsPassBase;
  explicit FuseFormGroups(std::shared_ptr<fusec::FusionControl> control) : control(std::move(control)) {}

  void runOnOperation() override {
    if (!control)
      control = std::make_shared<fusec::FusionControl>(fusec::FusionOptions());
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.getBody().empty())
        continue;
      control->enter(function.getBody().front());
      fusec::Grouping grouping = fusec::group(function, fusec::CostModel(tokens, context), *control);
      annotate(grouping);
      for (const fusec::Decision &decision : grouping.decisions) {
        control->record(decision);
        fusec::reportFusion(decision);
      }
    }
  }

  void annotate(const fusec::Grouping &grouping) {
    Builder b(&getContext());
    for (auto [g, group] : llvm::enumerate(grouping.groups))
      for (Operation *op : group.ops)
        op->setAttr("group", b.getI64IntegerAttr(g));
    for (Operation *op : grouping.inlined)
      op->setAttr("inline", b.getUnitAttr());
  }

  std::shared_ptr<fusec::FusionControl> control;
};

} // namespace

std::unique_ptr<Pass> fusec::createFuseFormGroupsPass(std::shared_ptr<FusionControl> control) {
  return std::make_unique<FuseFormGroups>(std::move(control));
}
