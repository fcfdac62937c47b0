//===- DataFlow.cpp ---------------------------------------------------------------------===//
#include "passes/fusion/DataFlow.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fusec::fuse;

namespace fusec {

bool isIndexOnly(Operation *op) {
  if (auto gather = dyn_cast<GatherOp>(op)) {
    ArrayRef<Dim> dims = cast<GraphTensorType>(gather.getTable().getType()).getDims();
    return dims.size() > 1 && dims[1].kind == DimKind::Paged;
  }
  return isa<ViewOp, ReshapeOp, WeightOp, ConstantOp>(op);
}

SmallVector<Operation *> computingProducers(Operation *op) {
  SetVector<Operation *> found;
  SmallVector<Value> pending(op->getOperands());
  while (!pending.empty()) {
    Operation *def = pending.pop_back_val().getDefiningOp();
    if (!def)
      continue;
    if (isIndexOnly(def))
      llvm::append_range(pending, def->getOperands());
    else
      found.insert(def);
  }
  return found.takeVector();
}

SmallVector<Operation *> computingUsers(Operation *op) {
  SetVector<Operation *> found;
  SmallVector<Operation *> pending(op->getUsers());
  while (!pending.empty()) {
    Operation *user = pending.pop_back_val();
    if (isIndexOnly(user))
      llvm::append_range(pending, user->getUsers());
    else
      found.insert(user);
  }
  return found.takeVector();
}

bool computesFrom(Value value, Operation *op) {
  while (Operation *def = value.getDefiningOp()) {
    if (def == op)
      return true;
    if (!isIndexOnly(def) || def->getNumOperands() == 0)
      return false;
    value = def->getOperand(0);
  }
  return false;
}

bool multipliesMatrix(ContractOp op) {
  bool given = isa<BlockArgument>(op.getRhs()) || op.getRhs().getDefiningOp<WeightOp>();
  return given && cast<GraphTensorType>(op.getRhs().getType()).getRank() == 2;
}

DataFlow::DataFlow(func::FuncOp function) {
  for (Operation &op : function.getBody().front().without_terminator())
    if (!isIndexOnly(&op)) {
      nodes[&op] = {ops.size(), computingProducers(&op), computingUsers(&op)};
      ops.push_back(&op);
    }
}

} // namespace fusec
