//===- OpName.cpp --------------------------------------------------------------------===//
#include "passes/report/OpName.h"

using namespace mlir;

namespace fusec {

std::string modelName(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc))
    return name.getName().str();
  if (auto fused = dyn_cast<FusedLoc>(loc); fused && !fused.getLocations().empty())
    return modelName(fused.getLocations().front());
  return "?";
}

std::string opName(Operation *op) { return modelName(op->getLoc()) + ":" + op->getName().stripDialect().str(); }

} // namespace fusec
