//===- Barriers.h - where the threads of a block must wait -----------------===//
//
// In a kernel's meaning the ops of a program run one after the other; on a block
// each thread moves its own elements. Before an op that touches a buffer which
// other threads have meanwhile read or written, the block has to wait: after a
// write for reads and writes, after a read for writes. Buffers that a kernel
// only reads need nothing.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/tile/TileDialect.h"

#include "llvm/ADT/DenseSet.h"

namespace fusec::codegen::cuda {

/// The ops of `kernel` that need a barrier before them.
llvm::DenseSet<mlir::Operation *> findBarriers(tile::KernelOp kernel);

} // namespace fusec::codegen::cuda
