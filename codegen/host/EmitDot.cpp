//===- EmitDot.cpp - tile.dot ----------------------------------------------===//
//
// For every k in order: the rhs pieces of row k, then for every row m the lhs
// element spread over the lanes, and one fused multiply-add per piece. Operands
// that are lazy loads are read here, element by element. A single row against
// packed weights takes as many pieces together as the registers hold: a piece
// needs its sums, scales, minima and code words at hand.
//
//===----------------------------------------------------------------------===//
#include "codegen/host/KernelEmitter.h"

#include "llvm/IR/Intrinsics.h"

using namespace mlir;
using namespace fusec::tile;

namespace fusec::codegen {

void KernelEmitter::emitDot(DotOp op) {
  TileShape lhsShape = shapeOf(op.getLhs().getType()), shape = shapeOf(op.getType());
  auto lazy = [&](Value v) -> std::optional<Access> {
    if (values.count(v))
      return std::nullopt;
    auto load = v.getDefiningOp<LoadOp>();
    return load ? std::optional(access(load)) : std::nullopt;
  };
  std::optional<Access> lhs = lazy(op.getLhs()), rhs = lazy(op.getRhs());
  Pieces lhsPieces = lhs ? Pieces() : pieces(op.getLhs()), rhsPieces = rhs ? Pieces() : pieces(op.getRhs());
  Pieces acc = pieces(op.getAcc());
  int64_t perRow = shape.piecesPerRow(), group = perRow;
  bool decodes = rhs && rhs->buffer.type.getLayout() == Layout::Panel;
  if (decodes && shape.rows == 1) { // a single row streams its weights once
    emitPrefetch(*rhs);
    group = level.decodedAtOnce;
  }
  for (int64_t first = 0; first < perRow; first += group)
    for (int64_t k = 0; k < lhsShape.lanes; ++k) {
      int64_t end = std::min(first + group, perRow);
      Pieces row;
      for (int64_t p = first; p < end; ++p)
        row.push_back(rhs ? loadPiece(*rhs, k, p * shape.width, shape.width) : rhsPieces[k * perRow + p]);
      for (int64_t m = 0; m < shape.rows; ++m) {
        llvm::Value *element;
        if (lhs) {
          element = loadScalar(*lhs, m, k);
        } else {
          llvm::Value *piece = lhsPieces[m * lhsShape.piecesPerRow() + k / lhsShape.width];
          element = b.CreateExtractElement(piece, k % lhsShape.width);
        }
        llvm::Value *spread = splat(element, shape.width);
        for (int64_t p = first; p < end; ++p) {
          llvm::Value *&c = acc[m * perRow + p];
          c = b.CreateIntrinsic(llvm::Intrinsic::fma, {c->getType()}, {spread, row[p - first], c});
        }
      }
    }
  bind(op, std::move(acc));
}

} // namespace fusec::codegen
