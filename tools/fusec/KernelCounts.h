//===- KernelCounts.h - what kernels do on the virtual device --------------===//
//
// Runs the steps that a table of kernels is about (codegen::tableSteps) on the
// virtual device and fills the columns that only running them can.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/cuda/KernelTable.h"

namespace fusec {

/// What one line of a kernel's text, or of the device library, does per launch; in the steps of the table.
struct CountedLine {
  std::string entry;
  std::string source;                                           ///< "k3_v0.cu:31", "weight_fragment.cuh:151".
  int64_t askedBytes = 0, requestedBytes = 0, countedBytes = 0; ///< By threads; in sectors; in sectors that move.
  int64_t wavefronts = 0, idealWavefronts = 0;                  ///< Of shared memory.
};

/// Fills `countedBytes`, `requestedBytes` and `conflictFactor` of the rows whose `tokens` are known, running the
/// kernels of `table.target` in `artifact`. With `lines`, adds the lines that access memory, in program order.
/// Unsupported for a target that the virtual device does not have.
Status countKernels(const std::filesystem::path &artifact, codegen::KernelTable &table,
                    std::vector<CountedLine> *lines = nullptr);

/// For people: the lines of each kernel, those that request most first.
std::string countedLinesText(std::vector<CountedLine> lines);

} // namespace fusec
