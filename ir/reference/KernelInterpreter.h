//===- KernelInterpreter.h - runs tile kernels program by program -------------===//
//
// Runs every program of a kernel's grid over logical buffers:
//
//   rows      a tensor of the buffer's dimensions
//   panel     the decoded matrix [N, K] (the packing is codegen's affair)
//   paged_*   the page pool [pages, P, H, D], reached through the block table;
//             stores round to the storage type, if there is one
//
// What real memory would hide is an error here: an element that two programs
// write, a program that reads what another writes, a page id outside the pool,
// a store outside its buffer that no extent masks. Lanes loaded out of range
// are NaN, so that a kernel that uses them shows it.
//
// Threading: one call at a time per set of buffers.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/reference/Interpreter.h"

#include "ir/tile/TileDialect.h"

namespace fusec::reference {

/// What a launch moved between programs and one buffer. A lane that several
/// lanes broadcast from counts once per tile.
struct Traffic {
  int64_t loadedElements = 0, storedElements = 0;
  double loadedBytes = 0, storedBytes = 0;
};

struct KernelOptions {
  /// Runs the programs in an order drawn from this seed, not in ascending order.
  std::optional<uint32_t> shuffleSeed;
};

struct KernelRun {
  int64_t programs = 0;
  std::vector<Traffic> traffic; ///< Per buffer argument.
};

/// Runs the kernel; stores write into the storage of the given tensors.
/// `environment` gives every symbol of the kernel, and `page` for paged buffers.
Result<KernelRun> interpretKernel(tile::KernelOp kernel, llvm::ArrayRef<Tensor> buffers, const Environment &environment,
                                  Precision precision, const KernelOptions &options = {});

/// The buffer arguments that the kernel stores to.
llvm::SmallVector<bool> storedArguments(tile::KernelOp kernel);

} // namespace fusec::reference
