//===- KernelPrediction.cpp - bytes each kernel should move ----------------===//
#include "tools/fusec/KernelPrediction.h"

#include "passes/report/Traffic.h"

#include <cmath>

namespace fusec {

namespace {

/// Most tokens of a query tile; 0 when the plan has no list of them.
int64_t queryTileOf(mlir::ModuleOp plan) {
  for (auto program : plan.getOps<plan::ProgramOp>())
    if (auto tile = program->getAttrOfType<mlir::IntegerAttr>("query_tile"))
      return tile.getInt();
  return 0;
}

/// One sequence, with the list of query tiles that the runtime makes of it.
StepInputs inputsOf(const StepSizes &sizes, int64_t context, int64_t queryTile) {
  StepInputs others = singleSequence(sizes, context);
  const int64_t tokens = sizes.lookup("T");
  return [=](llvm::StringRef buffer, llvm::ArrayRef<int64_t> index) -> std::optional<int64_t> {
    if (buffer != "query_tiles" || queryTile == 0)
      return others(buffer, index);
    const int64_t first = index.front() * queryTile;
    return index.back() == 0 ? first : std::min(queryTile, tokens - first);
  };
}

} // namespace

void predictBytes(mlir::ModuleOp plan, codegen::KernelTable &table) {
  const int64_t queryTile = queryTileOf(plan);
  for (const codegen::TableStep &step : codegen::tableSteps) {
    StepSizes sizes = stepSizes(step.tokens, step.context);
    if (queryTile > 0)
      sizes["W"] = (step.tokens + queryTile - 1) / queryTile;
    for (const LaunchTraffic &launch : trafficOf(plan, sizes, inputsOf(sizes, step.context, queryTile)))
      for (codegen::KernelTableRow &row : table.rows)
        if (row.entry == launch.variant && !row.tokens) {
          row.tokens = step.tokens;
          row.predictedBytes = std::llround(launch.touchedBytes);
        }
  }
}

} // namespace fusec
