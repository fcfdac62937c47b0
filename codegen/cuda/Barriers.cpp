//===- Barriers.cpp --------------------------------------------------------===//
#include "codegen/cuda/Barriers.h"

#include "ir/tile/LazyLoad.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace fusec::tile;

namespace fusec::codegen::cuda {

namespace {

/// What threads may have done since the last barrier: buffers read, buffers written with the op that did. One op
/// writes an element once, also in a loop, so it need not wait for itself.
struct Pending {
  llvm::SmallDenseSet<Value> reads;
  llvm::SmallDenseSet<std::pair<Value, Operation *>> writes;
  size_t size() const { return reads.size() + writes.size(); }
  void merge(const Pending &other) {
    reads.insert(other.reads.begin(), other.reads.end());
    writes.insert(other.writes.begin(), other.writes.end());
  }
};

class BarrierFinder {
public:
  explicit BarrierFinder(KernelOp kernel) {
    kernel.walk([&](StoreOp op) { stored.insert(op.getBuffer()); });
    walk(kernel.getBody().front());
  }
  llvm::DenseSet<Operation *> barriers;

private:
  void walk(Block &block) {
    for (Operation &op : block)
      visit(op);
  }

  void visit(Operation &op) {
    if (auto load = dyn_cast<LoadOp>(op)) {
      if (!isLazy(load))
        read(op, load.getBuffer());
    } else if (auto dot = dyn_cast<DotOp>(op)) {
      for (Value operand : {dot.getLhs(), dot.getRhs()})
        if (auto load = operand.getDefiningOp<LoadOp>(); load && isLazy(load))
          read(op, load.getBuffer());
    } else if (auto store = dyn_cast<StoreOp>(op)) {
      write(op, store.getBuffer());
    } else if (isa<scf::ForOp>(op)) {
      visitLoop(op);
    } else if (isa<scf::IfOp>(op)) {
      visitBranches(op);
    }
  }

  void read(Operation &op, Value buffer) {
    if (!stored.contains(buffer))
      return;
    if (isWritten(buffer, nullptr))
      waitBefore(op);
    pending.reads.insert(buffer);
  }

  void write(Operation &op, Value buffer) {
    if (isWritten(buffer, &op) || pending.reads.contains(buffer))
      waitBefore(op);
    pending.writes.insert({buffer, &op});
  }

  /// True if something in `op` touches what is pending.
  bool conflicts(Operation &op) {
    bool found = false;
    op.walk([&](LoadOp load) { found |= isWritten(load.getBuffer(), nullptr); });
    op.walk([&](StoreOp store) {
      found |= isWritten(store.getBuffer(), store) || pending.reads.contains(store.getBuffer());
    });
    return found;
  }

  bool isWritten(Value buffer, Operation *except) {
    return llvm::any_of(pending.writes, [&](auto &write) {
      return write.first == buffer && write.second != except && !areApart(write.second, except);
    });
  }

  /// True for two stores that differ only in where they begin along the last dimension, and do not reach each other.
  static bool areApart(Operation *one, Operation *other) {
    auto a = dyn_cast<StoreOp>(one), b = dyn_cast_or_null<StoreOp>(other);
    if (!a || !b || a.getMap() != b.getMap() || a.getPages() || b.getPages() || a.getIndices().empty() ||
        a.getIndices().drop_back() != b.getIndices().drop_back())
      return false;
    AffineMap map = a.getMap();
    const unsigned last = map.getNumDims() - 1;
    for (AffineExpr expr : map.getResults().drop_back())
      if (expr.isFunctionOfDim(last))
        return false;
    std::optional<int64_t> from = getConstantIntValue(a.getIndices().back()),
                           with = getConstantIntValue(b.getIndices().back());
    if (map.getResult(map.getNumResults() - 1) != getAffineDimExpr(last, map.getContext()) || !from || !with)
      return false;
    return *from + lanesOf(a) <= *with || *with + lanesOf(b) <= *from;
  }
  static int64_t lanesOf(StoreOp op) {
    auto type = dyn_cast<VectorType>(op.getValue().getType());
    return type && type.getRank() > 0 ? type.getShape().back() : 1;
  }

  void waitBefore(Operation &op) {
    barriers.insert(&op);
    pending = {};
  }

  /// An iteration follows what comes before the loop or another iteration; the loop may also run no iteration.
  void visitLoop(Operation &op) {
    if (conflicts(op)) // once before the loop, not in every iteration
      waitBefore(op);
    Pending entry = pending;
    for (size_t before = ~size_t(0); before != entry.size();) {
      before = entry.size();
      pending = entry;
      walk(op.getRegion(0).front());
      entry.merge(pending);
    }
    pending = entry;
  }

  void visitBranches(Operation &op) {
    Pending entry = pending, exit;
    for (Region &region : op.getRegions()) {
      pending = entry;
      if (!region.empty())
        walk(region.front());
      exit.merge(pending);
    }
    pending = exit;
  }

  llvm::SmallDenseSet<Value> stored;
  Pending pending;
};

} // namespace

llvm::DenseSet<Operation *> findBarriers(KernelOp kernel) { return BarrierFinder(kernel).barriers; }

} // namespace fusec::codegen::cuda
