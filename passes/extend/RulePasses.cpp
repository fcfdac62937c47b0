//===- RulePasses.cpp - rule files as passes ------------------------------------------------===//
//
// In a compilation the files are opened by Extensions; on the command line of
// `fusec opt` by the pass, from its option.
//
//===----------------------------------------------------------------------===//
#include "passes/Passes.h"
#include "passes/extend/ApplyRules.h"
#include "passes/extend/Extensions.h"

#include "mlir/Dialect/PDL/IR/PDL.h"
#include "mlir/Dialect/PDLInterp/IR/PDLInterp.h"

namespace fusec {
#define GEN_PASS_DEF_FUSEAPPLYRULESPASS
#define GEN_PASS_DEF_FUSEPLACEHINTSPASS
#include "passes/Passes.h.inc"
} // namespace fusec

using namespace mlir;
using fusec::RuleFile;
using fusec::RuleFiles;

namespace {

/// Opens the files that an option names.
LogicalResult openFiles(MLIRContext *context, ArrayRef<std::string> paths, std::shared_ptr<RuleFiles> &files) {
  if (files)
    return success();
  files = std::make_shared<RuleFiles>();
  for (const std::string &path : paths) {
    fusec::Result<std::unique_ptr<RuleFile>> file = RuleFile::load(*context, path);
    if (!file)
      return emitError(UnknownLoc::get(context)) << file.status().message();
    files->push_back(std::move(*file));
  }
  return success();
}

SmallVector<RuleFile *> pointers(const RuleFiles &files) {
  return llvm::map_to_vector(files, [](const auto &file) { return file.get(); });
}

struct FuseApplyRules : fusec::impl::FuseApplyRulesPassBase<FuseApplyRules> {
  using FuseApplyRulesPassBase::FuseApplyRulesPassBase;
  explicit FuseApplyRules(std::shared_ptr<RuleFiles> files) : opened(std::move(files)) {}

  LogicalResult initialize(MLIRContext *context) override {
    return openFiles(context, SmallVector<std::string>(files.begin(), files.end()), opened);
  }
  void runOnOperation() override {
    if (failed(fusec::applyRewritingRules(getOperation(), pointers(*opened))))
      signalPassFailure();
  }

  std::shared_ptr<RuleFiles> opened;
};

struct FusePlaceHints : fusec::impl::FusePlaceHintsPassBase<FusePlaceHints> {
  using FusePlaceHintsPassBase::FusePlaceHintsPassBase;
  explicit FusePlaceHints(std::shared_ptr<RuleFiles> files) : opened(std::move(files)) {}

  LogicalResult initialize(MLIRContext *context) override {
    return openFiles(context, SmallVector<std::string>(files.begin(), files.end()), opened);
  }
  void runOnOperation() override {
    if (failed(fusec::placeHints(getOperation(), pointers(*opened))))
      signalPassFailure();
  }

  std::shared_ptr<RuleFiles> opened;
};

} // namespace

std::unique_ptr<Pass> fusec::createFuseApplyRulesPass(std::shared_ptr<RuleFiles> files) {
  return std::make_unique<FuseApplyRules>(std::move(files));
}

std::unique_ptr<Pass> fusec::createFusePlaceHintsPass(std::shared_ptr<RuleFiles> files) {
  return std::make_unique<FusePlaceHints>(std::move(files));
}
