//===- HostLowering.h - tile kernels to LLVM functions ---------------------===//
//
// Turns one `tile.kernel` into
//
//   void entry(void *const *args, const int64_t *symbols, int64_t begin,
//              int64_t end, void *scratch)
//
// which runs the programs begin..end of the kernel's grid (last axis fastest).
// The arithmetic is exactly the kernel's: no reassociation, no contraction, one
// fused multiply-add per step of tile.dot. `sin`, `cos`, `log` and the like call
// the C library's libm, which the loading process has to provide.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/host/HostLevel.h"
#include "ir/tile/TileDialect.h"
#include "runtime/base/Status.h"
#include "runtime/schema/KvLayout.h"

#include "llvm/IR/Module.h"

#include <string>
#include <vector>

namespace fusec::codegen {

struct LoweringOptions {
  std::vector<std::string> symbols; ///< Size symbols in the order the entry gets them.
  int64_t pageTokens = 64;          ///< Positions per cache page; extents of paged dimensions are multiples of it.
  int64_t pageStride = 0;           ///< Bytes from a cache's page to its next; 0 = its pages lie side by side.
  /// Contiguous: a row of the block table counts up from its first entry, which is all that is read of it.
  KvLayout kvLayout = KvLayout::Paged;
  int64_t prefetchTiles = 1; ///< How many tiles ahead streamed weights are prefetched; 0 = not at all.
};

struct LoweredKernel {
  llvm::Function *function; ///< Owned by the module.
  int64_t scratchBytes;     ///< Per program, 64-byte aligned.
};

/// Adds the function of `kernel` to `module`. Unsupported names the operation.
Result<LoweredKernel> lowerKernel(tile::KernelOp kernel, const HostLevel &level, const LoweringOptions &options,
                                  llvm::Module &module);

} // namespace fusec::codegen
