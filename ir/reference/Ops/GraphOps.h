//===- GraphOps.h - one function per fuse op -----------------------------------===//
//
// Each reads its operands from the frame and sets its results. The ops have
// passed their verifiers; what only run-time sizes can break is an error.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/reference/Interpreter.h"

namespace fusec::reference {

// Leaves.cpp
Status runConstant(GraphFrame &frame, mlir::Operation *op);
Status runWeight(GraphFrame &frame, mlir::Operation *op);
/// Tensors of equal trailing dimensions, one below the other; copies unless there is one.
Result<Tensor> stackRows(llvm::ArrayRef<Tensor> parts);

// Map.cpp, Reduce.cpp
Status runMap(GraphFrame &frame, mlir::Operation *op);
Status runReduce(GraphFrame &frame, mlir::Operation *op);

// Contract.cpp
Status runContract(GraphFrame &frame, mlir::Operation *op);

// Movement.cpp
Status runGather(GraphFrame &frame, mlir::Operation *op);
Status runKVAppend(GraphFrame &frame, mlir::Operation *op);
Status runReshape(GraphFrame &frame, mlir::Operation *op);
Status runScatter(GraphFrame &frame, mlir::Operation *op);
Status runView(GraphFrame &frame, mlir::Operation *op);
/// The values of an i32 vector, each checked to lie in [0, limit).
Result<std::vector<int64_t>> indexValues(const Tensor &indices, int64_t limit, const std::string &what);

// Rows.cpp (sugar over rows)
Status runLinear(GraphFrame &frame, mlir::Operation *op);
Status runRMSNorm(GraphFrame &frame, mlir::Operation *op);
Status runRope(GraphFrame &frame, mlir::Operation *op);
Status runSoftmax(GraphFrame &frame, mlir::Operation *op);
Status runSwiglu(GraphFrame &frame, mlir::Operation *op);

// Attention.cpp
Status runAttention(GraphFrame &frame, mlir::Operation *op);

} // namespace fusec::reference
