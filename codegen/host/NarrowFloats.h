//===- NarrowFloats.h - f32 to shorter floats in memory, and back -----------===//
//
// In instructions that every level has as vectors. Values are scalars or vectors.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/schema/StorageType.h"

#include "llvm/IR/IRBuilder.h"

namespace fusec::codegen {

/// The floats of E4M3 codes (i8). Exact.
llvm::Value *floatsOfE4m3(llvm::IRBuilder<> &b, llvm::Value *codes);

/// The bits of f32 values rounded, to nearest even, to f16, bf16 (i16) or E4M3 (i8).
llvm::Value *roundedBits(llvm::IRBuilder<> &b, llvm::Value *v, StorageType storage);

} // namespace fusec::codegen
