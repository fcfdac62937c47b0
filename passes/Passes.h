//===- Passes.h - declarations and registration of all passes ---------------===//
#pragma once

#include "mlir/Pass/Pass.h"

namespace mlir {
class ModuleOp;
}

namespace fusec {

#define GEN_PASS_DECL
#include "passes/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Passes.h.inc"

} // namespace fusec
