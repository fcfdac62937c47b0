//===- OpName.cpp --------------------------------------------------------------------===//
#include "passes/report/OpName.h"

#include "mlir/IR/Block.h"
#include "llvm/ADT/StringExtras.h"

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

/// Compares what a location is called without building strings for equal locations.
static bool sameModelName(Location a, Location b) { return a == b || modelName(a) == modelName(b); }

std::string uniqueOpName(Operation *op) {
  int64_t ordinal = 1;
  if (Block *block = op->getBlock())
    for (Operation &other : *block) {
      if (&other == op)
        break;
      ordinal += other.getName() == op->getName() && sameModelName(other.getLoc(), op->getLoc());
    }
  return opName(op) + (ordinal == 1 ? "" : "#" + std::to_string(ordinal));
}

/// Where the layer number of a name lies: the first component that is all digits and not the first.
static std::pair<size_t, size_t> layerSpan(StringRef name) {
  for (size_t dot = name.find('.'); dot != StringRef::npos; dot = name.find('.', dot + 1)) {
    size_t end = dot + 1;
    while (end < name.size() && llvm::isDigit(name[end]))
      ++end;
    bool whole = end == name.size() || name[end] == '.' || name[end] == ':';
    if (end > dot + 1 && whole)
      return {dot + 1, end};
  }
  return {StringRef::npos, StringRef::npos};
}

std::string withoutLayer(StringRef name) {
  auto [begin, end] = layerSpan(name);
  if (begin == StringRef::npos)
    return name.str();
  return (name.take_front(begin) + "*" + name.drop_front(end)).str();
}

int64_t layerOf(StringRef name) {
  auto [begin, end] = layerSpan(name);
  int64_t layer = -1;
  if (begin != StringRef::npos && name.substr(begin, end - begin).getAsInteger(10, layer))
    return -1;
  return layer;
}

} // namespace fusec
