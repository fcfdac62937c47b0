//===- OpWork.h - what a graph op moves and computes by itself -------------------------===//
#pragma once

#include "ir/fuse/FuseDialect.h"

#include "llvm/ADT/StringMap.h"

namespace fusec {

using StepSizes = llvm::StringMap<int64_t>; ///< T, S, B, R, C.

/// Sizes of a step of one sequence: `tokens` computed, `context` positions cached afterwards.
StepSizes stepSizes(int64_t tokens, int64_t context, int64_t page = 64);

/// Number of elements, and bytes as stored, of a graph tensor.
double elementsOf(fuse::GraphTensorType type, const StepSizes &sizes);
double bytesOf(fuse::GraphTensorType type, const StepSizes &sizes);

/// Bytes that a kernel with this op alone would read and write: what it sees of each value it
/// reads once, and its results. Tables that are gathered count the rows taken.
double unfusedBytes(mlir::Operation *op, const StepSizes &sizes);

/// Scalar operations of the op, weighed as by the cost model.
double operationsOf(mlir::Operation *op, const StepSizes &sizes);

} // namespace fusec
