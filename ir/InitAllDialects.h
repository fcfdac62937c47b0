//===- InitAllDialects.h - every dialect a fusec tool reads or writes -------===//
#pragma once

#include "mlir/IR/DialectRegistry.h"

namespace fusec {

/// Adds fuse, tile and plan and the upstream dialects they build on.
void registerAllDialects(mlir::DialectRegistry &registry);

} // namespace fusec
