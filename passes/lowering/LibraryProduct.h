//===- LibraryProduct.h - a group's products as calls of a library -----------------===//
//
// The second way to compute a group that multiplies all tokens by stored matrices,
// for steps with many of them:
//
//   round     x16[t, k] = rows, with the ops of the group in front of the product
//   unpack    w16[n, k] = the stored matrix, decoded            (per product)
//   call      y[t, n]   = x16 w16^T (+ bias or addend)          (per product)
//   epilogue  the group's other results from y                  (where they are more)
//
// The kernels are written by the same machinery as all others: x16 and w16 are maps
// of the graph whose results are stored in 16 bits.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/lowering/KernelWriter.h"
#include "passes/lowering/ProductRates.h"

#include <optional>

namespace fusec {

/// y = rows * weights^T + addend or bias; graph values, the last two may be null.
struct ProductCall {
  mlir::Value rows, weights, addend, bias, result;
};

/// One launch of kernels, or one call.
struct LibraryStep {
  std::string name; ///< "blk.0.ffn_down.weight:unpack".
  KernelGroup group;
  LaunchKernels kernels; ///< Empty for a call.
  std::optional<ProductCall> call;
};

struct LibraryPath {
  int64_t from = 0; ///< Tokens.
  std::vector<LibraryStep> steps;
};

/// The group by a library, or nothing where the library cannot compute it or is not faster for any number of tokens.
/// Adds maps to the graph and kernels to `module`. Failure with an error emitted when a kernel cannot be written.
mlir::FailureOr<std::optional<LibraryPath>> writeLibraryPath(mlir::ModuleOp module, const KernelGroup &group,
                                                             const TileTarget &target, const ProductRates &rates);

} // namespace fusec
