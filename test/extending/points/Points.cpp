// Says at each extension point what the module holds there.
#include "ir/fuse/FuseDialect.h"
#include "passes/extend/Plugin.h"

#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace {

struct Say : PassWrapper<Say, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Say)
  explicit Say(StringRef point) : point(point) {}

  void runOnOperation() override {
    int64_t maps = 0, grouped = 0, kernels = 0;
    getOperation().walk([&](Operation *op) {
      maps += isa<fusec::fuse::MapOp>(op);
      grouped += op->hasAttr("group");
      kernels += op->getName().getStringRef() == "tile.kernel";
    });
    llvm::outs() << point << (maps ? " maps" : "") << (grouped ? " grouped" : "") << (kernels ? " kernels" : "")
                 << "\n";
  }

  StringRef point;
};

void registerPasses(fusec::PluginRegistry &registry) {
  using fusec::ExtensionPoint;
  constexpr std::pair<ExtensionPoint, const char *> points[] = {{ExtensionPoint::PlanEnd, "plan-end"},
                                                                {ExtensionPoint::GroupsEnd, "groups-end"},
                                                                {ExtensionPoint::DerivedEnd, "derived-end"},
                                                                {ExtensionPoint::PrimitivesEnd, "primitives-end"}};
  for (auto [point, name] : points)
    registry.addPasses(point, [name](OpPassManager &pm) { pm.addPass(std::make_unique<Say>(name)); });
}

} // namespace

FUSEC_PLUGIN("points", "1.0", registerPasses)
