//===- Remark.h - the one way a fusion decision is reported -----------------===//
#pragma once

#include "passes/fusion/Decision.h"

namespace fusec {

/// A remark of category `fusion`: the op at `loc` was fused (kind = how).
void passedFusion(mlir::Location loc, llvm::StringRef kind, const llvm::Twine &why);
/// The op at `loc` was not fused in this way; `why` is the condition that failed.
void missedFusion(mlir::Location loc, llvm::StringRef kind, const llvm::Twine &why);

/// The remark of a decision, with the names of both ops.
void reportFusion(const Decision &decision);

} // namespace fusec
