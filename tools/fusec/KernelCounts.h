//===- KernelCounts.h - what kernels do on the virtual device --------------===//
//
// Runs the steps that a table of kernels is about (codegen::tableSteps) on the
// virtual device and fills the columns that only running them can.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cuda/KernelTable.h"

namespace fusec {

/// Fills `countedBytes` and `conflictFactor` of the rows whose `tokens` are known, running the kernels of
/// `table.target` in `artifact`. Unsupported for a target that the virtual device does not have.
Status countKernels(const std::filesystem::path &artifact, codegen::KernelTable &table);

} // namespace fusec
