//===- KernelPrediction.h - bytes each kernel should move ------------------===//
#pragma once

#include "codegen/cuda/KernelTable.h"

#include "mlir/IR/BuiltinOps.h"

namespace fusec {

/// Fills `tokens` and `predictedBytes` of the rows whose kernels some step of codegen::tableSteps runs, from the plan
/// alone: what the programs of one launch load and store.
void predictBytes(mlir::ModuleOp plan, codegen::KernelTable &table);

} // namespace fusec
