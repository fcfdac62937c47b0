//===- PlanModel.h - a plan driven token by token ------------------------------===//
//
// What ReferenceModel is for graphs, for plan.program: builds the inputs of
// each step, hands out cache pages and keeps the pools. Pages are handed out in
// a scattered order, so that a kernel that ignores the block table shows it;
// page 0 is the sink and never handed out.
//
//   PlanModel model = *PlanModel::create(module, program, env, Precision::Exact, options);
//   Tensor next = *model.logits({1, 15, 3}, LogitRows::LastOfChunk);
//
// The module must outlive the model. Threading: one at a time.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/reference/PlanInterpreter.h"
#include "ir/reference/SequenceHistory.h"

namespace fusec::reference {

struct PlanModelOptions {
  int64_t sequences = 1;
  int64_t contextTokens = 128; ///< Per sequence; more is ResourceExhausted.
  PlanOptions plan;
};

class PlanModel {
public:
  /// Allocates every cache buffer of the program, filled with zeros.
  static Result<PlanModel> create(mlir::ModuleOp module, plan::ProgramOp program, Environment environment,
                                  Precision precision, PlanModelOptions options = {});

  /// Appends the chunks to their sequences; logits [R, vocab] in the order of the tokens.
  Result<Tensor> step(llvm::ArrayRef<Chunk> chunks, LogitRows rows = LogitRows::All);
  /// The same for sequence 0.
  Result<Tensor> logits(llvm::ArrayRef<int32_t> tokens, LogitRows rows = LogitRows::All);

  /// Launches of the last step, with their traffic.
  llvm::ArrayRef<LaunchRecord> launches() const { return lastLaunches; }

private:
  PlanModel(mlir::ModuleOp module, plan::ProgramOp program, Environment environment, Precision precision,
            PlanModelOptions options)
      : module(module), program(program), environment(std::move(environment)), precision(precision),
        options(std::move(options)), history(this->options.sequences) {}
  void makeBlockTable();
  Status makeCaches();

  mlir::ModuleOp module;
  plan::ProgramOp program;
  Environment environment;
  Precision precision;
  PlanModelOptions options;
  SequenceHistory history;
  PlanInputs inputs; ///< Caches and the block table; the rest is set by each step.
  std::vector<LaunchRecord> lastLaunches;
};

} // namespace fusec::reference
