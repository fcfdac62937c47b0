//===- EmitMma.cpp - products on tensor cores ------------------------------===//
//
// The place where dots with rounded operands and loops whose iterations may run
// on different warps get their own text. Until they do, both are printed as what
// they mean in order, which gives the same bits.
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/KernelPrinter.h"

namespace fusec::codegen::cuda {

/// Prints a dot that has `operands` for tensor cores; false leaves it to the SIMT units.
bool KernelPrinter::emitMma(tile::DotOp) { return false; }

/// Prints a loop that has `spread` over the warps of the block; false leaves it to run in order.
bool KernelPrinter::emitSpread(mlir::scf::ForOp) { return false; }

} // namespace fusec::codegen::cuda
