//===- ScalarBody.h - bodies of maps as functions ---------------------------------------===//
//
// A rule file writes the body of a `fuse.map` as a function of scalars:
//
//   func.func private @square(%x: f32) -> f32 {
//     %y = arith.mulf %x, %x : f32
//     return %y : f32
//   }
//
// A function may take the coordinates of the result element after its inputs,
// one i32 per dimension of the result; they stand for `fuse.index`.
//
// Here maps are compared with such functions, made from them, and composed.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/fuse/FuseDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"

#include <string>

namespace fusec {

/// Why a function cannot be a map's body; empty when it can.
std::string scalarFunctionObstacle(mlir::func::FuncOp function);

/// Whether the map computes the function of its inputs in order: the same ops on the same
/// constants; operands of commutative ops in either order.
bool computes(fuse::MapOp map, mlir::func::FuncOp function);

/// A map of `function` over `inputs` with the type of `like`. Each input is read as `like` reads
/// it, else by the dimensions it shares with the result: all, the leading or the trailing ones.
/// Returns null with the reason in `error` when that cannot be told.
fuse::MapOp mapLike(mlir::RewriterBase &rewriter, mlir::Operation *like, mlir::ValueRange inputs,
                    mlir::func::FuncOp function, std::string &error);

/// `consumer` with `producer`, whose result it reads, computed inside it. Returns null with the
/// reason in `error` when it does not read it or a coordinate cannot be followed.
fuse::MapOp inlineInto(mlir::RewriterBase &rewriter, fuse::MapOp consumer, fuse::MapOp producer, std::string &error);

} // namespace fusec
