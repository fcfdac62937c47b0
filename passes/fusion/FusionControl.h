//===- FusionControl.h - what the user says about single fusions ----------------------===//
//
// Every fusion that is legal is asked for here, in an order that depends on
// the graph alone. The answer is the cost model's unless a replayed plan says
// otherwise, and is no once the limit is used up (bisection).
//
//   FusionControl control(options);
//   if (control.take({"epilogue", producer, consumer}, profitable)) ...
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/Operation.h"

#include <map>
#include <string>

namespace fusec {

/// What the user may say about fusion as a whole.
struct FusionOptions {
  bool enabled = true; ///< False: one op, one kernel, nothing derived.
  int64_t limit = -1;  ///< Take only the first so many fusions; negative: all.
  std::string plan;    ///< Text of a fusion plan to replay; empty: none. See docs/fusion-plan.md.
};

/// One fusion asked for: `kind` is derive, epilogue, prologue, inline, row, horizontal or side-by-side.
struct FusionCandidate {
  llvm::StringRef kind;
  mlir::Operation *producer = nullptr;
  mlir::Operation *consumer = nullptr;
};

class FusionControl {
public:
  explicit FusionControl(FusionOptions options) : options(std::move(options)) {}

  /// Whether to take a legal fusion; `profitable` is what the cost model says.
  bool take(const FusionCandidate &candidate, bool profitable);
  /// Fusions taken so far.
  int64_t taken() const { return count; }

private:
  FusionOptions options;
  int64_t count = 0;
};

} // namespace fusec
