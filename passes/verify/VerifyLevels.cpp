//===- VerifyLevels.cpp - what may not survive each level ---------------------------===//
#include "ir/plan/PlanDialect.h"
#include "passes/Passes.h"
#include "passes/report/KernelUse.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

#include <limits>
#include <set>

namespace fusec {
#define GEN_PASS_DEF_VERIFYFUSEPASS
#define GEN_PASS_DEF_VERIFYPLANPASS
#include "passes/Passes.h.inc"
} // namespace fusec

using namespace mlir;
namespace tile = fusec::tile;
namespace plan = fusec::plan;
namespace fuse = fusec::fuse;

namespace {

struct VerifyFuse : fusec::impl::VerifyFusePassBase<VerifyFuse> {
  void runOnOperation() override {
    WalkResult walk = getOperation().walk([](Operation *op) {
      if (!op->hasTrait<fuse::Named>())
        return WalkResult::advance();
      op->emitError("a named op is left after decomposition");
      return WalkResult::interrupt();
    });
    if (walk.wasInterrupted())
      signalPassFailure();
  }
};

struct VerifyPlan : fusec::impl::VerifyPlanPassBase<VerifyPlan> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (Operation &op : *module.getBody())
      if (!isa<tile::KernelOp, plan::KernelOp, plan::ProgramOp>(op)) {
        op.emitError("only tile kernels, plan kernels and a program may be left");
        return signalPassFailure();
      }
    SmallVector<plan::ProgramOp> programs(module.getOps<plan::ProgramOp>());
    if (programs.size() != 1) {
      module.emitError("expected one plan.program, found ") << programs.size();
      return signalPassFailure();
    }
    plan::ProgramOp program = programs.front();
    if (failed(checkLaunches(module, program)) || failed(checkWrites(module, program)) || failed(checkSlots(program)))
      signalPassFailure();
  }

  static LogicalResult checkLaunches(ModuleOp module, plan::ProgramOp program) {
    SymbolTable symbols(module);
    for (auto launch : program.getOps<plan::LaunchOp>()) {
      auto kernel = symbols.lookup<plan::KernelOp>(launch.getKernel());
      if (!kernel)
        return launch.emitError("launches ") << launch.getKernelAttr() << ", which is not a plan.kernel";
      for (auto variant : kernel.getVariants().getAsRange<plan::VariantAttr>()) {
        auto body = symbols.lookup<tile::KernelOp>(variant.getKernel().getValue());
        if (!body)
          return kernel.emitError("names ") << variant.getKernel() << ", which is not a tile.kernel";
        if (TypeRange(body.getBody().getArgumentTypes()) != TypeRange(launch.getBuffers().getTypes()))
          return launch.emitError("passes other buffers than ") << variant.getKernel() << " takes";
      }
    }
    return success();
  }

  using Sizes = llvm::MapVector<StringAttr, int64_t>;

  /// One step per way in which the sizes can lie between the limits of variants.
  static SmallVector<Sizes> distinctSteps(ModuleOp module) {
    llvm::MapVector<StringAttr, std::set<int64_t>> limits;
    for (auto kernel : module.getOps<plan::KernelOp>())
      for (auto variant : kernel.getVariants().getAsRange<plan::VariantAttr>())
        if (variant.getSymbol())
          limits[variant.getSymbol()].insert({variant.getLimit(), std::numeric_limits<int64_t>::max()});
    SmallVector<Sizes> steps(1);
    for (auto &[symbol, values] : limits) {
      SmallVector<Sizes> longer;
      for (const Sizes &step : steps)
        for (int64_t value : values) {
          longer.push_back(step);
          longer.back()[symbol] = value;
        }
      steps = std::move(longer);
    }
    return steps;
  }

  static plan::VariantAttr variantOf(plan::KernelOp kernel, const Sizes &sizes) {
    for (auto variant : kernel.getVariants().getAsRange<plan::VariantAttr>())
      if (!variant.getSymbol() || sizes.lookup(variant.getSymbol()) <= variant.getLimit())
        return variant;
    return {};
  }

  /// What one launch or call of a step reads and writes.
  struct Access {
    SmallVector<Value> read, written;
  };

  /// Activations and outputs are written before they are read, whichever variants run and whoever multiplies.
  static LogicalResult checkWrites(ModuleOp module, plan::ProgramOp program) {
    SymbolTable symbols(module);
    llvm::DenseMap<Operation *, SmallVector<fusec::ArgumentUse>> known;
    auto accessOf = [&](plan::LaunchOp launch, const Sizes &sizes) {
      Access access;
      plan::VariantAttr variant = variantOf(symbols.lookup<plan::KernelOp>(launch.getKernel()), sizes);
      if (!variant)
        return access; // Nothing runs.
      auto kernel = symbols.lookup<tile::KernelOp>(variant.getKernel().getValue());
      auto [uses, isNew] = known.try_emplace(kernel);
      if (isNew)
        uses->second = fusec::usesOf(kernel);
      for (auto [use, buffer] : llvm::zip(uses->second, launch.getBuffers())) {
        if (use.read)
          access.read.push_back(buffer);
        if (use.written)
          access.written.push_back(buffer);
      }
      return access;
    };
    for (const Sizes &sizes : distinctSteps(module))
      for (plan::PathKind taken : {plan::PathKind::Kernels, plan::PathKind::Library})
        if (failed(checkStep(program, taken, [&](plan::LaunchOp launch) { return accessOf(launch, sizes); })))
          return failure();
    return success();
  }

  static LogicalResult checkStep(plan::ProgramOp program, plan::PathKind taken,
                                 function_ref<Access(plan::LaunchOp)> accessOf) {
    llvm::DenseSet<Value> written;
    for (Operation &step : program.getBody().front()) {
      auto launch = dyn_cast<plan::LaunchOp>(step);
      auto product = dyn_cast<plan::LibraryProductOp>(step);
      auto path = step.getAttrOfType<plan::PathAttr>("path");
      if ((!launch && !product) || (path && path.getKind() != taken))
        continue;
      const Access access = launch ? accessOf(launch) : Access{product.getReadBuffers(), {product.getResult()}};
      for (Value buffer : access.read)
        if (auto declared = buffer.getDefiningOp<plan::BufferOp>(); declared.getSlot() && !written.contains(buffer))
          return step.emitError("reads buffer '") << declared.getName() << "' before anything was written to it";
      written.insert(access.written.begin(), access.written.end());
    }
    return success();
  }

  /// Between the first and the last launch of a buffer nobody else may use its slot.
  static LogicalResult checkSlots(plan::ProgramOp program) {
    llvm::DenseMap<int64_t, plan::BufferOp> holder;
    llvm::DenseSet<Operation *> replaced;
    for (Operation &step : program.getBody().front())
      for (Value arg : step.getOperands()) {
        auto buffer = arg.getDefiningOp<plan::BufferOp>();
        if (!buffer || !buffer.getSlot())
          continue;
        plan::BufferOp &current = holder[*buffer.getSlot()];
        if (current == buffer)
          continue;
        if (replaced.contains(buffer))
          return step.emitError("uses buffer '") << buffer.getName() << "' after its slot was given to another";
        if (current)
          replaced.insert(current);
        current = buffer;
      }
    return success();
  }
};

} // namespace
