//===- IntegerOps.h - integer ops and index maps of a kernel, evaluated -------------------===//
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/AffineMap.h"

#include <cstdint>
#include <optional>

namespace fusec {

/// Nothing for a division by zero.
using IntegerOp = std::optional<int64_t> (*)(int64_t, int64_t);

/// The meaning of a binary op ("arith.addi", ...); null for others.
IntegerOp findIntegerOp(llvm::StringRef name);

/// The map's results for these dimensions; it has no symbols. (AffineMap::compose makes expressions of the numbers
/// first.)
llvm::SmallVector<int64_t> evaluate(mlir::AffineMap map, llvm::ArrayRef<int64_t> dims);

bool compare(mlir::arith::CmpIPredicate predicate, int64_t a, int64_t b);

} // namespace fusec
