//===- InitAllDialects.cpp ---------------------------------------------------===//
#include "ir/InitAllDialects.h"

#include "ir/fuse/FuseDialect.h"
#include "ir/plan/PlanDialect.h"
#include "ir/tile/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

void fusec::registerAllDialects(mlir::DialectRegistry &registry) {
  registry
      .insert<fuse::FuseDialect, plan::PlanDialect, tile::TileDialect, mlir::arith::ArithDialect,
              mlir::func::FuncDialect, mlir::math::MathDialect, mlir::scf::SCFDialect, mlir::vector::VectorDialect>();
}
