//===- FuseDialect.h - the fuse dialect's classes ---------------------------===//
#pragma once

#include "ir/fuse/Dim.h"
#include "runtime/schema/StorageType.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "ir/fuse/FuseDialect.h.inc"
namespace fusec::fuse {
/// Whether caches of `element` may be stored rounded to `storage`.
inline bool isNarrowing(StorageType storage, mlir::Type element) {
  return element.isF32() && isCacheType(storage) && storage != StorageType::F32;
}

/// Trait of the named ops, which one pass decomposes.
template <typename Op> class Named : public mlir::OpTrait::TraitBase<Op, Named> {};
} // namespace fusec::fuse

#include "ir/fuse/FuseEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/fuse/FuseAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "ir/fuse/FuseTypes.h.inc"
#define GET_OP_CLASSES
#include "ir/fuse/FuseOps.h.inc"
