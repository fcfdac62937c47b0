//===- Extensions.h - what a user adds to a compilation --------------------------------------===//
//
// Rule files and plugins, opened once, and where their passes go:
//
//   phase        before it         at its end
//   primitives                     rules, simplification, plugins
//   derived      hints             hints, plugins
//   groups       hints             plugins
//   plan                           plugins
//
// Hints are placed again whenever the ops they speak about may be new.
// Not thread-safe; one object per compilation.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/Pipelines.h"
#include "passes/extend/PluginLoader.h"
#include "passes/extend/RuleFile.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace fusec {

/// Rule files of one compilation, shared with the passes that apply them.
using RuleFiles = std::vector<std::unique_ptr<RuleFile>>;

class Extensions {
public:
  /// Opens all files; `context` must outlive the result. Errors: those of RuleFile and loadPlugin.
  static Result<Extensions> open(mlir::MLIRContext &context, const std::vector<std::filesystem::path> &ruleFiles,
                                 const std::vector<std::filesystem::path> &plugins);

  /// The passes that come before and after those of a phase.
  void appendBefore(mlir::OpPassManager &pm, Phase phase) const;
  void appendAfter(mlir::OpPassManager &pm, Phase phase) const;

  /// One sentence for each rule without effect, once the phases up to `last` have run: one that
  /// matched nothing, or whose hints decided none of the fusions that `control` was asked for.
  std::vector<std::string> idleRules(Phase last, const FusionControl &control) const;

  const RuleFiles &rules() const { return *files; }
  llvm::ArrayRef<const LoadedPlugin *> plugins() const { return loaded; }

private:
  void appendPlugins(mlir::OpPassManager &pm, Phase phase) const;

  std::shared_ptr<RuleFiles> files = std::make_shared<RuleFiles>();
  std::vector<const LoadedPlugin *> loaded;
};

} // namespace fusec
