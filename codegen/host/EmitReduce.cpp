//===- EmitReduce.cpp - folding lanes by the fixed tree --------------------===//
//
// Lane i merges with lane i + n/2. While more than one piece is left whole
// pieces merge; then the halves of the last piece. `combine` is scalar in the
// IR and runs here on vectors: every op in it acts lane by lane.
//
//===----------------------------------------------------------------------===//
#include "codegen/host/KernelEmitter.h"

using namespace mlir;
using namespace fusec::tile;

namespace fusec::codegen {

SmallVector<llvm::Value *> KernelEmitter::combine(ReduceOp op, ArrayRef<llvm::Value *> a, ArrayRef<llvm::Value *> c) {
  Block &block = op.getCombine().front();
  for (size_t i = 0; i < a.size(); ++i) {
    bind(block.getArgument(i), {a[i]});
    bind(block.getArgument(a.size() + i), {c[i]});
  }
  emitBlock(block);
  SmallVector<llvm::Value *> merged;
  for (Value v : block.getTerminator()->getOperands())
    merged.push_back(pieces(v).front());
  return merged;
}

void KernelEmitter::emitReduce(ReduceOp op) {
  SmallVector<Pieces> carriers;
  for (Value input : op.getInputs())
    carriers.push_back(pieces(input));
  auto column = [&](size_t piece) {
    SmallVector<llvm::Value *> c;
    for (Pieces &p : carriers)
      c.push_back(p[piece]);
    return c;
  };
  for (size_t n = carriers.front().size(); n > 1; n /= 2)
    for (size_t i = 0; i < n / 2; ++i) {
      SmallVector<llvm::Value *> merged = combine(op, column(i), column(i + n / 2));
      for (auto [p, v] : llvm::zip(carriers, merged))
        p[i] = v;
    }
  SmallVector<llvm::Value *> current = column(0);
  int width = shapeOf(op.getInputs().front().getType()).width;
  for (; width > 1; width /= 2) {
    SmallVector<int> low(width / 2), high(width / 2);
    for (int l = 0; l < width / 2; ++l)
      low[l] = l, high[l] = l + width / 2;
    SmallVector<llvm::Value *> a, c;
    for (llvm::Value *v : current) {
      a.push_back(b.CreateShuffleVector(v, low));
      c.push_back(b.CreateShuffleVector(v, high));
    }
    current = combine(op, a, c);
  }
  for (auto [result, v] : llvm::zip(op.getResults(), current))
    bind(result, {b.CreateExtractElement(v, uint64_t(0))});
}

} // namespace fusec::codegen
