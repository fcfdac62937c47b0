//===- VerifyBisect.h - the first fusion that exceeds its contract ---------===//
//
// Fusions are asked for in an order that depends on the graph alone, so "the
// first n" is well defined, and n = 0 is the graph without any. The search
// keeps a passing and a failing count and halves what lies between:
//
//   FUSEC_ASSIGN_OR_RETURN(BisectResult found, bisect(total, exceeds));
//
// What it returns was measured on both sides: with `index` fusions the error
// is within its bound, with one more it is not. Where errors grow and shrink
// (one fusion undoing what another did) there may be several such places; it
// finds one of them.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <functional>
#include <string>

namespace fusec {

/// The error with the first so many fusions.
struct BisectSample {
  double error = 0; ///< Relative to the row's range.
  bool exceeds = false;
};

using BisectMeasure = std::function<Result<BisectSample>(int64_t fusions)>;

struct BisectResult {
  int64_t index = -1;         ///< Of the guilty fusion, counted from 0.
  BisectSample before, after; ///< With `index` fusions, and with one more.
  int64_t measured = 0;       ///< How many counts were tried.
};

/// Finds the border between a passing count (0 unless it fails, too) and the failing `total`.
/// InvalidArgument when `total` does not fail or 0 does; else the errors of `measure`.
Result<BisectResult> bisect(int64_t total, const BisectMeasure &measure);

} // namespace fusec
