//===- ExactReciprocal.cpp - a plugin for fusec ----------------------------------------===//
//
// In the bodies of maps, `x / c` becomes `x * (1 / c)` where 1/c is exact: the
// result has the same bits, and a product costs a fraction of a division. The
// mean inside a norm over a power of two of channels is such a division.
//
//===----------------------------------------------------------------------===//
#include "ir/fuse/FuseDialect.h"
#include "passes/extend/Plugin.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace {

struct DivisionByConstant : OpRewritePattern<arith::DivFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::DivFOp op, PatternRewriter &rewriter) const override {
    APFloat divisor(0.0f), reciprocal(0.0f);
    if (!op->getParentOfType<fusec::fuse::MapOp>() || !matchPattern(op.getRhs(), m_ConstantFloat(&divisor)))
      return failure();
    if (!divisor.getExactInverse(&reciprocal))
      return rewriter.notifyMatchFailure(op, "the reciprocal is not exact");
    auto factor = arith::ConstantOp::create(rewriter, op.getLoc(), rewriter.getFloatAttr(op.getType(), reciprocal));
    rewriter.replaceOpWithNewOp<arith::MulFOp>(op, op.getLhs(), factor);
    return success();
  }
};

struct ExactReciprocal : PassWrapper<ExactReciprocal, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExactReciprocal)

  StringRef getArgument() const override { return "exact-reciprocal"; }
  StringRef getDescription() const override { return "Multiplies instead of dividing where that is exact"; }

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<DivisionByConstant>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

void registerPasses(fusec::PluginRegistry &registry) {
  PassRegistration<ExactReciprocal>(); // For `fusec opt --load-pass-plugin=... --exact-reciprocal`.
  registry.addPasses(fusec::ExtensionPoint::PrimitivesEnd,
                     [](OpPassManager &pm) { pm.addPass(std::make_unique<ExactReciprocal>()); });
}

} // namespace

FUSEC_PLUGIN("exact-reciprocal", "1.0", registerPasses)
