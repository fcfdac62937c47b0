//===- IntegerOps.h - integer ops of a kernel, evaluated ----------------------------------===//
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cstdint>
#include <optional>

namespace fusec {

/// Nothing for a division by zero.
using IntegerOp = std::optional<int64_t> (*)(int64_t, int64_t);

/// The meaning of a binary op ("arith.addi", ...); null for others.
IntegerOp findIntegerOp(llvm::StringRef name);

bool compare(mlir::arith::CmpIPredicate predicate, int64_t a, int64_t b);

} // namespace fusec
