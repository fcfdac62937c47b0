//===- SamplingPlan.h - the kernels of a target that choose tokens -------------===//
//
// What stands behind the head where a step asks for ids and not for logits:
//
//   sampled   head -> logits -> sample -> ids
//   greedy    best of head -> words -> merge -> ids      (no logits are stored)
//
// Values; the attributes are the context's.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/CompiledKernel.h"

#include "mlir/IR/BuiltinAttributes.h"

#include <string>
#include <vector>

namespace fusec::codegen {

/// A variant of the head's kernel that finds the best ids.
struct BestVariant {
  CompiledKernel kernel;
  mlir::ArrayAttr grid;    ///< A tile.axis each.
  mlir::StringAttr symbol; ///< Runs when this is at most `limit`; null: always.
  int64_t limit = 0;
};

struct SamplingPlan {
  CompiledKernel sample; ///< (logits, parameters, ids), a program per row.
  std::vector<BestVariant>
      best;             ///< The head's arguments with words for logits, then parameters. Empty: no greedy form.
  CompiledKernel merge; ///< (words, ids), a program per row.
};

} // namespace fusec::codegen
