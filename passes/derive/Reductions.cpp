//===- Reductions.cpp ------------------------------------------------------------------===//
#include "passes/derive/Reductions.h"

using namespace mlir;
using namespace fusec::fuse;

namespace fusec {

namespace {

Reduction over(Operation *op, Value element, unsigned operand) {
  ArrayRef<Dim> dims = cast<GraphTensorType>(element.getType()).getDims();
  return {op, element, operand, SmallVector<Dim>(dims.drop_back()), dims.back()};
}

} // namespace

std::optional<Reduction> asReduction(ReduceOp op) {
  int64_t rank = cast<GraphTensorType>(op.getInputs().front().getType()).getRank();
  if (op.getDims() != ArrayRef<int64_t>{rank - 1})
    return std::nullopt;
  return over(op, op.getInputs().front(), 0);
}

std::optional<Reduction> asReduction(ContractOp op, unsigned operand) {
  SmallVector<unsigned> summed = op.getSummedDims();
  AffineMap map = op.getMap(operand);
  if (summed.size() != 1 || map.getNumResults() == 0 || !map.isProjectedPermutation())
    return std::nullopt;
  if (cast<AffineDimExpr>(map.getResults().back()).getPosition() != summed.front())
    return std::nullopt;
  return over(op, operand == 0 ? op.getLhs() : op.getRhs(), operand);
}

Operation *reductionBehind(Value value) {
  Operation *def = value.getDefiningOp();
  if (!def || isa<ReduceOp>(def))
    return def;
  if (isa<ViewOp>(def))
    return reductionBehind(def->getOperand(0));
  if (!isa<MapOp>(def))
    return nullptr;
  for (Value operand : def->getOperands())
    if (Operation *found = reductionBehind(operand))
      return found;
  return nullptr;
}

SmallVector<AffineExpr> iterationOf(AffineMap resultMap, Builder &b) {
  SmallVector<AffineExpr> exprs(resultMap.getNumDims(), b.getAffineConstantExpr(0));
  for (auto [i, expr] : llvm::enumerate(resultMap.getResults()))
    exprs[cast<AffineDimExpr>(expr).getPosition()] = b.getAffineDimExpr(i);
  return exprs;
}

} // namespace fusec
