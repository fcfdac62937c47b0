//===- Moments.h - mean and variance in one pass ------------------------------------===//
//
// sum (x - d)^2 with d = sum(x) / n needs d first. Around any shift s of the row
//
//   d = s + sum(x - s) / n,   sum (x - d)^2 = sum (x - s)^2 - (sum(x - s))^2 / n
//
// both sums are free of each other: one reduction with two components. With s
// the row's first element the subtraction loses at most a factor n of
// precision, since (s - d)^2 <= sum (x - d)^2; that bounds the rows it is for.
// Source of the shifted form: T. F. Chan, G. H. Golub, R. J. LeVeque,
// "Algorithms for computing the sample variance", 1983.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/fuse/FuseDialect.h"

#include <string>

namespace fusec {

/// A sum and the sum of squared differences from its mean.
struct Moments {
  fuse::ReduceOp sum, squares;
  mlir::Value mean;  ///< sum / n, one per row.
  int64_t count = 0; ///< n.
};

/// The moments that `squares` is the second of, if it is; `obstacle` says what is missing when it nearly is.
std::optional<Moments> findMoments(fuse::ReduceOp squares, std::string &obstacle);

/// Replaces both by one reduction, which is returned; `beforeErase` is called with each op that dies.
fuse::ReduceOp joinMoments(const Moments &moments, llvm::function_ref<void(mlir::Operation *)> beforeErase);

} // namespace fusec
