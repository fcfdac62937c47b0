//===- InlineChoice.h - elementwise ops recomputed in their readers ---------------===//
#pragma once

#include "passes/fusion/Cost.h"
#include "passes/fusion/DataFlow.h"
#include "passes/fusion/Decision.h"
#include "passes/fusion/FusionControl.h"

#include "llvm/ADT/SmallPtrSet.h"

#include <vector>

namespace fusec {

/// The elementwise ops that every reader computes again for itself, because all
/// readers can and that costs less than storing the result. Each choice is
/// added to `decisions`. Ops in `placed` have a kernel already.
llvm::SmallPtrSet<mlir::Operation *, 16> chooseInlined(const DataFlow &flow, CostModel cost,
                                                       const llvm::SmallPtrSetImpl<mlir::Operation *> &placed,
                                                       FusionControl &control, std::vector<Decision> &decisions);

} // namespace fusec
