//===- Cost.cpp ----------------------------------------------------------------===//
#include "passes/fusion/Cost.h"

using namespace mlir;
using namespace fusec::fuse;

namespace fusec {

namespace {
constexpr double launchSeconds = 0.4e-6; // one barrier of a spinning team
constexpr double bytesPerSecond = 40e9;  // caches and memory mixed
constexpr double operationsPerSecond = 50e9;
constexpr double transcendental = 20; // exp, sin, ... in plain operations
} // namespace

double CostModel::secondsPerToken(function_ref<Work(const CostModel &)> work) {
  double seconds = 0;
  for (const Step &s : steps) {
    step = s;
    Work w = work(*this);
    seconds += (w.launches * launchSeconds + w.bytes / bytesPerSecond + w.operations / operationsPerSecond) /
               static_cast<double>(s.tokens);
  }
  return seconds;
}

double CostModel::secondsOfFoldingAgain(ArrayRef<Dim> rows, const Dim &lanes) {
  constexpr double tileLanes = 64, operations = 3; // load, multiply, add
  return secondsPerToken([&](const CostModel &m) {
    double tiles = std::max(1.0, m.elements(lanes) / tileLanes);
    return Work{0, 0, (tiles - 1) * operations * m.elements(rows)};
  });
}

double CostModel::elements(ArrayRef<Dim> dims) const {
  double product = 1;
  for (const Dim &d : dims)
    switch (d.kind) {
    case DimKind::Static:
      product *= static_cast<double>(d.size);
      break;
    case DimKind::Ragged:
      product *= static_cast<double>(step.tokens);
      break;
    case DimKind::Paged:
      product *= static_cast<double>(step.context);
      break;
    case DimKind::Symbolic: // sequences, logits rows: few
      break;
    }
  return product;
}

double CostModel::bytes(GraphTensorType type) const {
  double count = elements(type.getDims());
  if (auto storage = type.getStorage()) {
    const StorageTypeInfo &row = info(*storage);
    return count / static_cast<double>(row.blockElements) * static_cast<double>(row.blockBytes);
  }
  return count * type.getElementType().getIntOrFloatBitWidth() / 8.0;
}

double CostModel::operationsPerElement(MapOp op) {
  double total = 0;
  for (Operation &inner : op.getBody().front().without_terminator()) {
    if (isa<arith::ConstantOp, IndexOp>(inner))
      continue;
    bool cheap = inner.getDialect()->getNamespace() == "arith" || isa<math::AbsFOp>(inner);
    total += cheap ? 1 : transcendental;
  }
  return total;
}

} // namespace fusec
