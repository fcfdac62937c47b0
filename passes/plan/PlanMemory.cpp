//===- PlanMemory.cpp - slots for activations --------------------------------------===//
//
// 1. Number the launches; a buffer lives from its first to its last launch.
// 2. Walk the launches; give each buffer that starts a slot free since an
//    earlier launch whose last holder had the same shape, else a new one.
//    (Sizes are symbolic; equal shapes are equal at run time.)
// 3. The graph's output never shares.
//
//===----------------------------------------------------------------------===//
#include "ir/plan/PlanDialect.h"
#include "passes/Passes.h"

#include "llvm/ADT/MapVector.h"

namespace fusec {
#define GEN_PASS_DEF_PLANMEMORYPASS
#include "passes/Passes.h.inc"
} // namespace fusec

using namespace mlir;
namespace plan = fusec::plan;

namespace {

struct Life {
  int64_t first = 0, last = 0;
};

llvm::MapVector<plan::BufferOp, Life> lifetimes(plan::ProgramOp program) {
  llvm::MapVector<plan::BufferOp, Life> lives;
  int64_t time = 0;
  for (Operation &step : program.getBody().front()) {
    if (isa<plan::BufferOp>(step))
      continue;
    for (Value arg : step.getOperands()) {
      auto buffer = arg.getDefiningOp<plan::BufferOp>();
      if (!buffer.getSlot())
        continue;
      auto [it, isNew] = lives.insert({buffer, {time, time}});
      it->second.last = time;
    }
    ++time;
  }
  return lives;
}

struct PlanMemory : fusec::impl::PlanMemoryPassBase<PlanMemory> {
  void runOnOperation() override {
    for (auto program : getOperation().getOps<plan::ProgramOp>())
      assignSlots(program);
  }

  void assignSlots(plan::ProgramOp program) {
    struct Slot {
      Type shape;
      int64_t freeFrom;
    };
    SmallVector<Slot> slots;
    Builder b(&getContext());
    for (auto &[buffer, life] : lifetimes(program)) {
      bool shares = buffer.getKind() == plan::BufferKind::Activation;
      auto it = llvm::find_if(
          slots, [&](const Slot &s) { return shares && s.shape == buffer.getType() && s.freeFrom <= life.first; });
      if (it == slots.end())
        it = slots.insert(slots.end(), Slot{shares ? buffer.getType() : Type(), 0});
      it->freeFrom = life.last + 1;
      plan::BufferOp(buffer).setSlotAttr(b.getI64IntegerAttr(it - slots.begin()));
    }
  }
};

} // namespace
