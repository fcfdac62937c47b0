//===- DecidingValues.cpp -------------------------------------------------------------------===//
#include "passes/report/DecidingValues.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace fusec {

namespace {

class Collector {
public:
  llvm::DenseSet<Value> collect(tile::KernelOp kernel) {
    kernel.walk([&](Operation *op) {
      llvm::TypeSwitch<Operation *>(op)
          .Case([&](tile::LoadOp o) { add(o.getIndices()); })
          .Case([&](tile::StoreOp o) { add(o.getIndices()); })
          .Case([&](scf::ForOp o) { add({o.getLowerBound(), o.getUpperBound(), o.getStep()}); })
          .Case([&](scf::IfOp o) { add({o.getCondition()}); });
    });
    while (!pending.empty())
      addSources(pending.pop_back_val());
    return std::move(found);
  }

private:
  void add(ValueRange values) {
    for (Value value : values)
      if (found.insert(value).second)
        pending.push_back(value);
  }

  /// What a value is computed from.
  void addSources(Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()); loop && argument.getArgNumber() > 0)
        addCarried(loop, argument.getArgNumber() - 1);
      return;
    }
    const unsigned number = cast<OpResult>(value).getResultNumber();
    llvm::TypeSwitch<Operation *>(value.getDefiningOp())
        .Case([&](scf::ForOp o) { addCarried(o, number); })
        .Case([&](scf::IfOp o) {
          for (Region &region : o->getRegions())
            if (!region.empty())
              add({region.front().getTerminator()->getOperand(number)});
        })
        .Case([&](tile::ReduceOp o) {
          add(o.getInputs());
          add(o.getCombine().front().getTerminator()->getOperands());
        })
        .Default([&](Operation *o) { add(o->getOperands()); });
  }

  void addCarried(scf::ForOp loop, unsigned number) {
    add({loop.getInitArgs()[number], loop.getBody()->getTerminator()->getOperand(number),
         loop.getRegionIterArgs()[number]});
  }

  llvm::DenseSet<Value> found;
  SmallVector<Value> pending;
};

} // namespace

llvm::DenseSet<Value> decidingValues(tile::KernelOp kernel) { return Collector().collect(kernel); }

} // namespace fusec
