//===- DeriveFusion.cpp - dependent reductions in one loop ---------------------===//
#include "passes/Passes.h"
#include "passes/fusion/FusionControl.h"

#include "mlir/IR/BuiltinOps.h"

namespace fusec {
#define GEN_PASS_DEF_FUSEDERIVEPASS
#include "passes/Passes.h.inc"
} // namespace fusec

using namespace mlir;

namespace {

struct FuseDerive : fusec::impl::FuseDerivePassBase<FuseDerive> {
  using FuseDerivePassBase::FuseDerivePassBase;
  explicit FuseDerive(std::shared_ptr<fusec::FusionControl> control) : control(std::move(control)) {}

  void runOnOperation() override {}

  std::shared_ptr<fusec::FusionControl> control;
};

} // namespace

std::unique_ptr<Pass> fusec::createFuseDerivePass(std::shared_ptr<FusionControl> control) {
  return std::make_unique<FuseDerive>(std::move(control));
}
