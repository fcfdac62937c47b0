//===- EmitDot.cpp - tile.dot ----------------------------------------------===//
//
// For every k in order: the rhs pieces of row k, then for every row m the lhs
// element spread over the lanes, and one fused multiply-add per piece. Operands
// that are lazy loads are read here, element by element.
//
// Dots that share their lhs (the two halves of a gated unit) run side by side:
// an lhs element is spread once, and there are more independent sums to hide
// latency. A single row against packed weights is a stream: its pieces go in
// groups as large as the registers allow, since each needs its sum, scale,
// minimum and code word at hand.
//
//===----------------------------------------------------------------------===//
#include "codegen/host/KernelEmitter.h"
#include "codegen/host/NarrowFloats.h"

#include "llvm/IR/Intrinsics.h"

using namespace mlir;
using namespace fusec::tile;

namespace fusec::codegen {

/// A dot operand: a lazy load or pieces in registers.
struct KernelEmitter::DotOperand {
  std::optional<Access> load;
  Pieces pieces;
  TileShape shape;
};

/// One dot of a group that shares its lhs.
struct KernelEmitter::DotTask {
  DotOp op;
  DotOperand rhs;
  Pieces acc;
};

KernelEmitter::DotOperand KernelEmitter::dotOperand(Value v) {
  DotOperand operand;
  operand.shape = shapeOf(v.getType());
  auto load = v.getDefiningOp<LoadOp>();
  if (load && !values.count(v))
    operand.load = access(load);
  else
    operand.pieces = pieces(v);
  return operand;
}

/// Packed weights that are decoded on the way.
static bool readsPanels(DotOp op) {
  auto load = op.getRhs().getDefiningOp<LoadOp>();
  return load && cast<BufferType>(load.getBuffer().getType()).getLayout() == Layout::Panel;
}

/// One row against them.
static bool isStream(DotOp op) { return readsPanels(op) && cast<VectorType>(op.getType()).getDimSize(0) == 1; }

/// Dots right after `op` that can run together with it: the same lhs, operands
/// known before `op`, and all sums in registers.
SmallVector<DotOp> KernelEmitter::together(DotOp op) {
  SmallVector<DotOp> dots{op};
  TileShape shape = shapeOf(op.getType());
  auto isReady = [&](Value v) {
    Operation *definition = v.getDefiningOp();
    return !definition || definition->getBlock() != op->getBlock() || definition->isBeforeInBlock(op);
  };
  for (Operation *next = op->getNextNode(); next && isa<LoadOp, DotOp>(next); next = next->getNextNode()) {
    auto dot = dyn_cast<DotOp>(next);
    auto load = dot ? dot.getRhs().getDefiningOp<LoadOp>() : LoadOp();
    int64_t columns = (dots.size() + 1) * shape.piecesPerRow();
    bool fits = isStream(op) || (shape.rows + 1) * columns + 2 <= level.registers;
    if (load && fits && dot.getLhs() == op.getLhs() && dot.getType() == op.getType() &&
        dot.getOperandType() == op.getOperandType() && isStream(dot) == isStream(op) && isReady(dot.getAcc()) &&
        llvm::all_of(load->getOperands(), isReady))
      dots.push_back(dot);
  }
  return dots;
}

llvm::Value *KernelEmitter::dotElement(const DotOperand &lhs, int64_t m, int64_t k) {
  if (lhs.load)
    return loadScalar(*lhs.load, m, k);
  llvm::Value *piece = lhs.pieces[m * lhs.shape.piecesPerRow() + k / lhs.shape.width];
  return b.CreateExtractElement(piece, k % lhs.shape.width);
}

llvm::Value *KernelEmitter::roundOperand(DotOp op, llvm::Value *v) {
  std::optional<Type> type = op.getOperandType();
  if (!type)
    return v;
  StorageType storage = type->isF16() ? StorageType::F16 : StorageType::BF16;
  llvm::Value *bits = roundedBits(b, v, storage);
  llvm::Type *f32 = v->getType();
  if (type->isF16())
    return b.CreateFPExt(b.CreateBitCast(bits, f32->getWithNewType(b.getHalfTy())), f32);
  return b.CreateBitCast(b.CreateShl(b.CreateZExt(bits, f32->getWithNewType(b.getInt32Ty())), 16), f32);
}

void KernelEmitter::emitDot(DotOp op) {
  if (values.count(op)) // ran together with an earlier one
    return;
  TileShape shape = shapeOf(op.getType());
  DotOperand lhs = dotOperand(op.getLhs());
  SmallVector<DotTask, 1> tasks;
  for (DotOp dot : together(op))
    tasks.push_back({dot, dotOperand(dot.getRhs()), pieces(dot.getAcc())});
  bool isStreamed = isStream(op);
  int64_t perRow = shape.piecesPerRow(), columns = perRow * tasks.size();
  // As many columns at a time as the registers hold the sums of, with a row of the rhs and the lhs element.
  int64_t fitting = std::max<int64_t>(1, (level.registers - 1) / (shape.rows + 1));
  int64_t group = isStreamed ? level.decodedAtOnce : std::min(columns, fitting);
  for (DotTask &task : tasks)
    if (readsPanels(op) && task.rhs.load)
      emitPrefetch(*task.rhs.load);
  for (int64_t first = 0; first < columns; first += group)
    for (int64_t k = 0; k < lhs.shape.lanes; ++k) {
      int64_t end = std::min(first + group, columns);
      Pieces row;
      for (int64_t c = first; c < end; ++c) {
        DotOperand &rhs = tasks[c / perRow].rhs;
        int64_t p = c % perRow;
        llvm::Value *piece =
            rhs.load ? loadPiece(*rhs.load, k, p * shape.width, shape.width) : rhs.pieces[k * perRow + p];
        row.push_back(roundOperand(op, piece));
      }
      for (int64_t m = 0; m < shape.rows; ++m) {
        llvm::Value *spread = splat(roundOperand(op, dotElement(lhs, m, k)), shape.width);
        for (int64_t c = first; c < end; ++c) {
          llvm::Value *&sum = tasks[c / perRow].acc[m * perRow + c % perRow];
          sum = b.CreateIntrinsic(llvm::Intrinsic::fma, {sum->getType()}, {spread, row[c - first], sum});
        }
      }
    }
  for (DotTask &task : tasks)
    bind(task.op, std::move(task.acc));
}

} // namespace fusec::codegen
