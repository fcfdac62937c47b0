//===- IndexBounds.h - where a mask that depends on indices alone is open ----------===//
//
// Interval analysis of the elements of a reduction along its folded dimension j:
// where an element is the reduction's identity whatever the data, nothing need
// be computed. From `select(j <= pos && j > pos - window, x, -inf)` come the
// bounds `j < pos + 1` and `j >= pos - window + 1`.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/derive/Cascade.h"

namespace fusec {

/// A bound on j: `sum of terms + constant`, where each term is +1 or -1 times a scalar of a map's body
/// that is the same for all j.
struct IndexBound {
  struct Part {
    mlir::Value scalar;    ///< An i32 value in a map's body.
    mlir::AffineMap frame; ///< From the element's coordinates to that map's result.
    int64_t sign = 1;
  };
  llvm::SmallVector<Part, 2> parts;
  int64_t constant = 0;
};

/// Elements with j < every `lower` or j >= some `upper` are the identity.
struct IndexBounds {
  llvm::SmallVector<IndexBound, 2> lower; ///< j >= bound, all of them.
  llvm::SmallVector<IndexBound, 2> upper; ///< j < bound, all of them.
};

/// Bounds for the elements of `r`, whose combiner has the identity `identity`.
IndexBounds boundsOf(const Reduction &r, mlir::TypedAttr identity);

} // namespace fusec
