//===- EmitReduce.cpp - folding lanes by the fixed tree --------------------===//
//
// Lane i merges with lane i + n/2. While a row has more than one piece whole
// pieces merge; then the halves of its last piece. `combine` is scalar in the
// IR and runs here on vectors: every op in it acts lane by lane. The rows of a
// rank-2 input take each step side by side, which hides the latency of the tree.
//
//===----------------------------------------------------------------------===//
#include "codegen/host/KernelEmitter.h"

using namespace mlir;
using namespace fusec::tile;

namespace fusec::codegen {

/// `combine(a, c)`; all values are vectors of one width.
KernelEmitter::Carrier KernelEmitter::combine(ReduceOp op, const Carrier &a, const Carrier &c) {
  Block &block = op.getCombine().front();
  for (size_t i = 0; i < a.size(); ++i) {
    bind(block.getArgument(i), {a[i]});
    bind(block.getArgument(a.size() + i), {c[i]});
  }
  emitBlock(block);
  int64_t width = llvm::cast<llvm::FixedVectorType>(a.front()->getType())->getNumElements();
  Carrier merged;
  for (Value v : block.getTerminator()->getOperands())
    merged.push_back(splat(pieces(v).front(), width)); // a constant stays scalar until here
  return merged;
}

/// Merges the two halves of every value's lanes.
KernelEmitter::Carrier KernelEmitter::foldHalves(ReduceOp op, const Carrier &carrier, int width) {
  SmallVector<int> low(width / 2), high(width / 2);
  for (int l = 0; l < width / 2; ++l)
    low[l] = l, high[l] = l + width / 2;
  Carrier a, c;
  for (llvm::Value *v : carrier) {
    a.push_back(b.CreateShuffleVector(v, low));
    c.push_back(b.CreateShuffleVector(v, high));
  }
  return combine(op, a, c);
}

void KernelEmitter::emitReduce(ReduceOp op) {
  TileShape shape = shapeOf(op.getInputs().front().getType());
  SmallVector<Pieces> inputs;
  for (Value input : op.getInputs())
    inputs.push_back(pieces(input));
  int64_t perRow = shape.piecesPerRow();
  SmallVector<Carrier> columns(shape.pieces());
  for (int64_t i = 0; i < shape.pieces(); ++i)
    for (Pieces &p : inputs)
      columns[i].push_back(p[i]);
  for (int64_t n = perRow / 2; n >= 1; n /= 2)
    for (int64_t i = 0; i < n; ++i)
      for (int64_t row = 0; row < shape.rows; ++row)
        columns[row * perRow + i] = combine(op, columns[row * perRow + i], columns[row * perRow + i + n]);
  for (int64_t width = shape.width; width > 1; width /= 2)
    for (int64_t row = 0; row < shape.rows; ++row)
      columns[row * perRow] = foldHalves(op, columns[row * perRow], static_cast<int>(width));
  for (auto [c, result] : llvm::enumerate(op.getResults())) {
    Pieces folded;
    for (int64_t row = 0; row < shape.rows; ++row)
      folded.push_back(columns[row * perRow][c]);
    if (!isa<VectorType>(result.getType()))
      folded = {b.CreateExtractElement(folded.front(), uint64_t(0))};
    bind(result, std::move(folded));
  }
}

} // namespace fusec::codegen
