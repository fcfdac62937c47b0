//===- Compilation.h - one run of the compiler, phase by phase -----------------===//
//
// Owns the MLIR context, the opened model and the module while it goes through
// the phases of passes/Pipelines.h. Diagnostics of MLIR become a Status.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/artifact/ArtifactWriter.h"
#include "models/import/Model.h"
#include "passes/Pipelines.h"
#include "passes/extend/Extensions.h"
#include "tools/fusec/Compiler.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

namespace fusec {

class Compilation {
public:
  explicit Compilation(const CompileOptions &options);

  /// Opens the model (or parses the IR that `compileFrom` names) and sets up remarks.
  Status open();
  /// Runs every phase from the first one due up to `last`, dumping as asked.
  Status runThrough(Phase last, const PipelineOptions &pipeline);
  /// Runs the phases after Groups on a copy, for one CPU level.
  Result<mlir::OwningOpRef<mlir::ModuleOp>> planFor(const PipelineOptions &pipeline, llvm::StringRef level);

  mlir::ModuleOp module() { return *graph; }
  const models::Model &model() const { return *source; }
  /// What products round their operands to: "bf16", "f16", or "f32" for no rounding. A model that is stored in full
  /// precision is computed in it, and so is everything on the host.
  std::string math() const;
  /// False for IR that names no model.
  bool hasModel() const { return source.has_value(); }
  /// The rules and plugins of this compilation; rules know how often they matched.
  const Extensions &extensions() const { return added; }
  /// The same as the manifest lists them. Errors: a file that cannot be read any more.
  Result<std::vector<codegen::UsedExtension>> usedExtensions() const;
  /// Says which rules matched nothing, through the options' warning. Call it after the last phase.
  void warnAboutIdleRules() const;
  /// The fusions taken so far.
  const FusionControl &fusions() const { return *fusion; }

private:
  Status openIR();
  Status checkPurpose() const;
  Status runPhase(mlir::ModuleOp target, const PhaseInfo &phase, const PipelineOptions &pipeline,
                  const std::string &suffix);
  Status dump(mlir::ModuleOp target, const PhaseInfo &phase, const std::string &suffix);
  Status enableRemarks();
  Status readFusionPlan();

  const CompileOptions &options;
  mlir::MLIRContext context;
  Extensions added;
  std::optional<models::Model> source;
  mlir::OwningOpRef<mlir::ModuleOp> graph;
  Phase done = Phase::Import;
  std::shared_ptr<FusionControl> fusion; ///< Asked for every fusion of this compilation.
};

/// The best CPU level of this machine.
std::string defaultLevel();
/// Vector registers of a CPU level.
int64_t registersOf(llvm::StringRef level);
/// Makes MLIR's printing and timing flags known once and parses `flags`.
Status parseMlirFlags(const std::vector<std::string> &flags);

} // namespace fusec
