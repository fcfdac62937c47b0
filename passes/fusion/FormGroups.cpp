//===- FormGroups.cpp - writes the grouping into the graph ---------------------===//
#include "passes/Passes.h"
#include "passes/fusion/Grouping.h"
#include "passes/fusion/Remark.h"
#include "passes/report/OpName.h"

namespace fusec {
#define GEN_PASS_DEF_FUSEFORMGROUPSPASS
#include "passes/Passes.h.inc"
} // namespace fusec

using namespace mlir;

namespace {

struct FuseFormGroups : fusec::impl::FuseFormGroupsPassBase<FuseFormGroups> {
  using FuseFormGroupsPassBase::FuseFormGroupsPassBase;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      fusec::Grouping grouping = fusec::group(function, fusec::CostModel(tokens, context));
      annotate(grouping);
      for (const fusec::Decision &decision : grouping.decisions)
        report(decision);
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

  static void report(const fusec::Decision &d) {
    Location loc = d.consumer ? d.consumer->getLoc() : d.producer->getLoc();
    std::string text = fusec::opName(d.producer);
    if (d.consumer && d.consumer != d.producer)
      text += " -> " + fusec::opName(d.consumer);
    text += ": " + d.reason;
    if (d.fused)
      fusec::passedFusion(loc, d.kind, text);
    else
      fusec::missedFusion(loc, d.kind, text);
  }
};

} // namespace
