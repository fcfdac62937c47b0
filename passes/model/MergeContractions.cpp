//===- MergeContractions.cpp - one contraction for matrices that share rows --===//
//
// 1. Collect contractions of an activation with a stored matrix, keyed by the
//    activation, the index maps, the storage type and the width.
// 2. Leave those whose results meet in one elementwise op of their own shape.
// 3. Stack the matrices of the others; each old result is a slice of the new.
//
//===----------------------------------------------------------------------===//
#include "ir/fuse/FuseDialect.h"
#include "passes/Passes.h"
#include "passes/fusion/Remark.h"
#include "passes/report/OpName.h"

#include "llvm/ADT/MapVector.h"

namespace fusec {
#define GEN_PASS_DEF_FUSEMERGECONTRACTIONSPASS
#include "passes/Passes.h.inc"
} // namespace fusec

using namespace mlir;
using namespace fusec::fuse;

namespace {

GraphTensorType typeOf(Value value) { return cast<GraphTensorType>(value.getType()); }

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

/// result[.., n] = sum_k lhs[.., k] * weight[n, k], whatever leads.
bool isStoredMatrixProduct(ContractOp op) {
  if (!op.getRhs().getDefiningOp<WeightOp>() || typeOf(op.getRhs()).getRank() != 2)
    return false;
  unsigned dims = op.getNumIterationDims(), n = dims - 2, k = dims - 1;
  Builder b(op.getContext());
  AffineMap rhs = AffineMap::get(dims, 0, {b.getAffineDimExpr(n), b.getAffineDimExpr(k)}, op.getContext());
  return op.getMap(1) == rhs && op.getMap(2) == b.getMultiDimIdentityMap(dims).dropResult(k) &&
         op.getSummedDims() == SmallVector<unsigned>{k};
}

using Key = std::tuple<Value, Attribute, int, int64_t>;

Key keyOf(ContractOp op) {
  GraphTensorType w = typeOf(op.getRhs());
  return {op.getLhs(), op.getMaps(), static_cast<int>(*w.getStorage()), w.getDim(1).size};
}

/// An elementwise op of the same shape that reads both results.
Operation *meetingOp(ContractOp a, ContractOp b) {
  if (a.getType() != b.getType())
    return nullptr;
  for (Operation *user : a->getUsers())
    if (isa<MapOp>(user) && llvm::is_contained(b->getUsers(), user))
      return user;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Rewrite
//===----------------------------------------------------------------------===//

/// The slice [offset, offset + rows) of the last dimension, typed as the old result.
Value sliceLast(OpBuilder &builder, ContractOp old, Value merged, int64_t offset) {
  unsigned rank = typeOf(merged).getRank();
  SmallVector<AffineExpr> exprs;
  for (unsigned d = 0; d < rank; ++d)
    exprs.push_back(builder.getAffineDimExpr(d));
  exprs.back() = exprs.back() + offset;
  AffineMap map = AffineMap::get(rank, 0, exprs, builder.getContext());
  return ViewOp::create(builder, old.getLoc(), old.getType(), merged, AffineMapAttr::get(map));
}

void merge(ArrayRef<ContractOp> ops) {
  ContractOp first = ops.front();
  OpBuilder builder(first);
  SmallVector<Attribute> names;
  SmallVector<Location> locs;
  int64_t rows = 0;
  for (ContractOp op : ops) {
    llvm::append_range(names, op.getRhs().getDefiningOp<WeightOp>().getNames());
    locs.push_back(op.getLoc());
    rows += typeOf(op.getRhs()).getDim(0).size;
  }
  Location loc = FusedLoc::get(builder.getContext(), locs);
  GraphTensorType w = typeOf(first.getRhs());
  Type stackedType =
      GraphTensorType::get(builder.getContext(), {Dim::fixed(rows), w.getDim(1)}, w.getElementType(), w.getStorage());
  Value stacked = WeightOp::create(builder, loc, stackedType, builder.getArrayAttr(names));
  SmallVector<Dim> dims(typeOf(first.getResult()).getDims());
  dims.back() = Dim::fixed(rows);
  Type type = GraphTensorType::get(builder.getContext(), dims, builder.getF32Type());
  Value merged = ContractOp::create(builder, loc, type, first.getLhs(), stacked, first.getMaps(), first.getNumerics());
  int64_t offset = 0;
  for (ContractOp op : ops) {
    op.getResult().replaceAllUsesWith(sliceLast(builder, op, merged, offset));
    offset += typeOf(op.getRhs()).getDim(0).size;
  }
  for (ContractOp op : ops)
    op.erase();
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

/// Drops contractions that meet another one, with a remark each.
SmallVector<ContractOp> mergeable(ArrayRef<ContractOp> ops) {
  SmallVector<ContractOp> kept;
  for (ContractOp op : ops) {
    bool meets = llvm::any_of(ops, [&](ContractOp other) { return other != op && meetingOp(op, other); });
    if (meets)
      fusec::missedFusion(op.getLoc(), "stack",
                          fusec::opName(op) + ": the results meet elementwise; computed side by side instead");
    else
      kept.push_back(op);
  }
  return kept;
}

struct FuseMergeContractions : fusec::impl::FuseMergeContractionsPassBase<FuseMergeContractions> {
  void runOnOperation() override {
    llvm::MapVector<Key, SmallVector<ContractOp>> sets;
    getOperation().walk([&](ContractOp op) {
      if (isStoredMatrixProduct(op))
        sets[keyOf(op)].push_back(op);
    });
    for (auto &[key, ops] : sets) {
      if (ops.size() < 2)
        continue;
      SmallVector<ContractOp> kept = mergeable(ops);
      if (kept.size() < 2)
        continue;
      for (ContractOp op : ArrayRef<ContractOp>(kept).drop_front())
        fusec::passedFusion(op.getLoc(), "stack", fusec::opName(op) + ": shares its rows with another stored matrix");
      merge(kept);
    }
  }
};

} // namespace
