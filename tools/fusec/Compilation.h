//===- Compilation.h - one run of the compiler, phase by phase -----------------===//
//
// Owns the MLIR context, the opened model and the module while it goes through
// the phases of passes/Pipelines.h. Diagnostics of MLIR become a Status.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "models/import/Model.h"
#include "passes/Pipelines.h"
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

private:
  Status openIR();
  Status runPhase(mlir::ModuleOp target, const PhaseInfo &phase, const PipelineOptions &pipeline,
                  const std::string &suffix);
  Status dump(mlir::ModuleOp target, const PhaseInfo &phase, const std::string &suffix);
  Status enableRemarks();

  const CompileOptions &options;
  mlir::MLIRContext context;
  std::optional<models::Model> source;
  mlir::OwningOpRef<mlir::ModuleOp> graph;
  Phase done = Phase::Import;
};

/// The best CPU level of this machine.
std::string defaultLevel();
/// Vector registers of a CPU level.
int64_t registersOf(llvm::StringRef level);
/// Makes MLIR's printing and timing flags known once and parses `flags`.
Status parseMlirFlags(const std::vector<std::string> &flags);

} // namespace fusec
