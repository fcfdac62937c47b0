//===- RoundOperands.cpp - products in 16 bits -------------------------------===//
#include "ir/fuse/FuseDialect.h"
#include "passes/Passes.h"

namespace fusec {
#define GEN_PASS_DEF_FUSEROUNDOPERANDSPASS
#include "passes/Passes.h.inc"
} // namespace fusec

using namespace mlir;
using namespace fusec::fuse;

namespace {

struct FuseRoundOperands : fusec::impl::FuseRoundOperandsPassBase<FuseRoundOperands> {
  using FuseRoundOperandsPassBase::FuseRoundOperandsPassBase;

  void runOnOperation() override {
    Builder b(&getContext());
    if (type != "f16" && type != "bf16") {
      getOperation().emitError("operands are rounded to f16 or bf16, not to '") << type << "'";
      return signalPassFailure();
    }
    Type operands = type == "f16" ? Type(b.getF16Type()) : Type(b.getBF16Type());
    getOperation().walk([&](ContractOp op) {
      NumericsAttr n = op.getNumerics();
      if (n.getAccumulate().isF32())
        op.setNumericsAttr(NumericsAttr::get(&getContext(), n.getAccumulate(), n.getOrder(), n.getEmpty(), operands));
    });
  }
};

} // namespace
