//===- Pipelines.cpp -----------------------------------------------------------------===//
#include "passes/Pipelines.h"

#include "passes/Passes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace fusec {

namespace {

constexpr PhaseInfo phaseTable[] = {
    {Phase::Import, "import", "the model's graph with named ops, as the importer wrote it"},
    {Phase::Primitives, "primitives", "the graph in primitives, simplified"},
    {Phase::Derived, "derived", "the graph with dependent reductions marked to share one loop"},
    {Phase::Groups, "groups", "the graph with every computing op assigned to a kernel"},
    {Phase::Plan, "plan", "tile kernels and the program that launches them"},
};

void buildPrimitives(OpPassManager &pm, const PipelineOptions &options) {
  pm.addPass(createFuseDecomposePass());
  pm.addPass(createVerifyFusePass());
  // Angle tables and gathers are written once per use; one copy serves all layers.
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  // After CSE, so that equal activations are one value.
  pm.addPass(createFuseMergeContractionsPass());
  // Slices of the stacked results compose with the views behind them.
  pm.addPass(createCanonicalizerPass());
  if (!options.operands.empty()) {
    FuseRoundOperandsPassOptions rounding;
    rounding.type = options.operands;
    pm.addPass(createFuseRoundOperandsPass(rounding));
  }
}

void buildPlan(OpPassManager &pm, const PipelineOptions &options) {
  FuseToPlanPassOptions lowering;
  lowering.registers = options.registers;
  lowering.page = options.page;
  lowering.gpu = options.isGpu;
  lowering.rung = options.rung;
  lowering.streamWeights = options.streamWeights;
  lowering.libraryFlops = options.products.libraryFlops;
  lowering.kernelFlops = options.products.kernelFlops;
  lowering.bytesPerSecond = options.products.bytesPerSecond;
  lowering.launchSeconds = options.products.launchSeconds;
  pm.addPass(createFuseToPlanPass(lowering));
  pm.addPass(createPlanMemoryPass());
  // Kernels are written by asking for values; loops of one trip and repeated loads go here.
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createVerifyPlanPass());
}

} // namespace

ArrayRef<PhaseInfo> phases() { return phaseTable; }

std::optional<Phase> phaseByName(StringRef name) {
  for (const PhaseInfo &row : phaseTable)
    if (row.name == name)
      return row.phase;
  return std::nullopt;
}

void buildPhase(OpPassManager &pm, Phase phase, const PipelineOptions &options) {
  switch (phase) {
  case Phase::Import:
    return;
  case Phase::Primitives:
    return buildPrimitives(pm, options);
  case Phase::Derived:
    pm.addPass(createFuseDerivePass(options.fusion));
    return;
  case Phase::Groups:
    pm.addPass(createFuseFormGroupsPass(options.fusion));
    return;
  case Phase::Plan:
    return buildPlan(pm, options);
  }
}

void registerPassesAndPipelines(const PipelineOptions &options) {
  registerFusecPasses();
  for (const PhaseInfo &row : phases())
    if (row.phase != Phase::Import)
      PassPipelineRegistration<>(("fusec-" + row.name).str(), row.description,
                                 [phase = row.phase, options](OpPassManager &pm) { buildPhase(pm, phase, options); });
}

} // namespace fusec
