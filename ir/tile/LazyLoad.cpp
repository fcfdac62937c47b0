//===- LazyLoad.cpp - loads that are part of the dots that read them ---------===//
#include "ir/tile/LazyLoad.h"

using namespace mlir;

namespace fusec::tile {

bool isLazy(LoadOp op) {
  if (op->use_empty())
    return true;
  Operation *last = op;
  for (Operation *user : op->getUsers()) {
    auto dot = dyn_cast<DotOp>(user);
    if (!dot || user->getBlock() != op->getBlock() || dot.getAcc() == op.getResult())
      return false;
    if (last->isBeforeInBlock(user))
      last = user;
  }
  for (Operation *between = op->getNextNode(); between != last; between = between->getNextNode())
    if (isa<StoreOp>(between) || between->getNumRegions() != 0)
      return false;
  return true;
}

} // namespace fusec::tile
