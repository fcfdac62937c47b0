//===- Extensions.cpp -----------------------------------------------------------------------===//
#include "passes/extend/Extensions.h"

#include "passes/Passes.h"

#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace fusec {

namespace {

/// The phase at whose end a plugin's passes run.
Phase phaseOf(ExtensionPoint point) {
  switch (point) {
  case ExtensionPoint::PrimitivesEnd:
    return Phase::Primitives;
  case ExtensionPoint::DerivedEnd:
    return Phase::Derived;
  case ExtensionPoint::GroupsEnd:
    return Phase::Groups;
  case ExtensionPoint::PlanEnd:
    return Phase::Plan;
  }
  llvm_unreachable("all points are listed");
}

bool anyRule(const RuleFiles &files, bool hints) {
  return llvm::any_of(
      files, [&](const auto &file) { return llvm::any_of(file->rules(), [&](Rule &r) { return r.hints == hints; }); });
}

} // namespace

Result<Extensions> Extensions::open(MLIRContext &context, const std::vector<std::filesystem::path> &ruleFiles,
                                    const std::vector<std::filesystem::path> &plugins) {
  Extensions result;
  for (const std::filesystem::path &path : ruleFiles) {
    FUSEC_ASSIGN_OR_RETURN(std::unique_ptr<RuleFile> file, RuleFile::load(context, path));
    result.files->push_back(std::move(file));
  }
  for (const std::filesystem::path &path : plugins) {
    FUSEC_ASSIGN_OR_RETURN(const LoadedPlugin *plugin, loadPlugin(path));
    result.loaded.push_back(plugin);
  }
  return result;
}

void Extensions::appendBefore(OpPassManager &pm, Phase phase) const {
  if ((phase == Phase::Derived || phase == Phase::Groups) && anyRule(*files, true))
    pm.addPass(createFusePlaceHintsPass(files));
}

void Extensions::appendAfter(OpPassManager &pm, Phase phase) const {
  if (phase == Phase::Primitives && anyRule(*files, false)) {
    pm.addPass(createFuseApplyRulesPass(files));
    // Rules may write named ops and leave equal ones.
    pm.addPass(createFuseDecomposePass());
    pm.addPass(createCanonicalizerPass());
    pm.addPass(createCSEPass());
    pm.addPass(createVerifyFusePass());
  }
  if (phase == Phase::Derived && anyRule(*files, true))
    pm.addPass(createFusePlaceHintsPass(files));
  appendPlugins(pm, phase);
}

void Extensions::appendPlugins(OpPassManager &pm, Phase phase) const {
  bool any = false;
  for (const LoadedPlugin *plugin : loaded)
    for (const PluginRegistry::Added &added : plugin->registry.passes())
      if (phaseOf(added.point) == phase) {
        added.append(pm);
        any = true;
      }
  // What the phase promises holds for what plugins left, too.
  if (any && phase == Phase::Primitives)
    pm.addPass(createVerifyFusePass());
  if (any && phase == Phase::Plan)
    pm.addPass(createVerifyPlanPass());
}

/// Why a rule had no effect; empty when it had one, or could not have had it yet.
static std::string idleness(const Rule &rule, Phase last, const FusionControl &control) {
  if (last < (rule.hints ? Phase::Groups : Phase::Primitives))
    return "";
  if (rule.matches == 0)
    return "never matched";
  std::string mark = "rule '" + rule.name + "'";
  bool decided = llvm::any_of(control.asked(), [&](const AskedFusion &q) {
    return q.by == DecidedBy::Rule && StringRef(q.reason).contains(mark);
  });
  if (!rule.hints || decided)
    return "";
  return "matched, but decided no fusion: none of those it speaks about was legal";
}

std::vector<std::string> Extensions::idleRules(Phase last, const FusionControl &control) const {
  std::vector<std::string> idle;
  for (const auto &file : *files)
    for (const Rule &rule : file->rules())
      if (std::string why = idleness(rule, last, control); !why.empty())
        idle.push_back(placeOf(rule.location) + ": rule '" + rule.name + "' " + why);
  return idle;
}

} // namespace fusec
