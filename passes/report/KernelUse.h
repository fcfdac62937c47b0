//===- KernelUse.h - what a kernel does with its buffers -------------------------===//
#pragma once

#include "ir/tile/TileDialect.h"

namespace fusec {

/// What a kernel does with one argument.
struct ArgumentUse {
  bool read = false, written = false;
  bool gathered = false; ///< Slices of dimension 0 are taken by a loaded index.
};

/// One entry per argument.
llvm::SmallVector<ArgumentUse> usesOf(tile::KernelOp kernel);

} // namespace fusec
