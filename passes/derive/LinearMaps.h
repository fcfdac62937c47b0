//===- LinearMaps.h - row factors moved behind a sum --------------------------------===//
//
// sum_k (x[k] * w[k] * r) * v[k]  =  r * sum_k (x[k] * w[k]) * v[k]
//
// when r is the same for all k and comes from a reduction: the normalised
// softmax before a product, the root of a norm before a projection.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/fuse/FuseDialect.h"

#include <string>

namespace fusec {

/// One operand of a contraction whose elements carry row factors.
struct RowFactors {
  fuse::MapOp map;                       ///< The operand.
  unsigned operand = 0;                  ///< 0: lhs, 1: rhs.
  llvm::SmallVector<unsigned> rowInputs; ///< Inputs of `map` that are the same along the sum.
  mlir::Operation *reduction = nullptr;  ///< The reduction behind the first of them.
};

/// The row factors of a contraction that come from a reduction, if any; `obstacle` says why they cannot
/// move although there are some.
std::optional<RowFactors> findRowFactors(fuse::ContractOp op, std::string &obstacle);

/// Moves them; returns the map behind the contraction, which keeps its place. A dead operand is erased.
fuse::MapOp moveBehindSum(fuse::ContractOp op, const RowFactors &factors);

} // namespace fusec
