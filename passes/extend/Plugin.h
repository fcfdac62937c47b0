//===- Plugin.h - what a compiled plugin offers to fusec ------------------------------------===//
//
// A plugin is a shared object that adds passes at named points of a
// compilation. It links fusec::plugin and ends in one line:
//
//   static void registerPasses(fusec::PluginRegistry &registry) {
//     registry.addPasses(fusec::ExtensionPoint::PrimitivesEnd,
//                        [](mlir::OpPassManager &pm) { pm.addPass(createMyPass()); });
//   }
//   FUSEC_PLUGIN("my-plugin", "1.0", registerPasses)
//
// A plugin shares fusec's C++ classes and MLIR's, so it works with exactly the
// fusec and LLVM it was built against; loading compares both before it calls
// anything else. Threading: `registerPasses` is called once per process.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/extend/Version.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/Config/llvm-config.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace fusec {

/// Changes when PluginInfo does.
inline constexpr uint32_t pluginAbi = 1;

/// The points where passes can be added, each at the end of a phase.
enum class ExtensionPoint {
  PrimitivesEnd, ///< "primitives-end": the graph in primitives, after rules; before derivation.
  DerivedEnd,    ///< "derived-end": dependent reductions are marked; before grouping.
  GroupsEnd,     ///< "groups-end": every computing op has its group; before kernels are written.
  PlanEnd,       ///< "plan-end": tile kernels and the plan, once per CPU level.
};

/// Where a plugin registers what it adds.
class PluginRegistry {
public:
  using AppendPasses = std::function<void(mlir::OpPassManager &)>;

  /// `append` is called for each pass manager that reaches `point`; its passes run on the module.
  void addPasses(ExtensionPoint point, AppendPasses append) { added.push_back({point, std::move(append)}); }

  struct Added {
    ExtensionPoint point;
    AppendPasses append;
  };
  const std::vector<Added> &passes() const { return added; }

private:
  std::vector<Added> added;
};

/// What the entry point returns. `abi` stays first in every version.
struct PluginInfo {
  uint32_t abi;
  const char *fusecVersion;
  const char *llvmVersion;
  const char *name;
  const char *version;
  void (*registerPasses)(PluginRegistry &);
};

/// The one symbol that is looked up in a plugin.
inline constexpr const char *pluginSymbol = "fusecPluginInfo";

} // namespace fusec

/// Defines a plugin's entry point.
#define FUSEC_PLUGIN(NAME, VERSION, REGISTER)                                                                          \
  extern "C" __attribute__((visibility("default"))) const fusec::PluginInfo *fusecPluginInfo() {                       \
    static const fusec::PluginInfo info = {fusec::pluginAbi, FUSEC_VERSION, LLVM_VERSION_STRING, NAME,                 \
                                           VERSION,          REGISTER};                                                \
    return &info;                                                                                                      \
  }
