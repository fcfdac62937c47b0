//===- AccessCount.h - bytes that the programs of a kernel load and store ---------------===//
//
// Walks a tile kernel as its programs run, at the sizes of a step, evaluating
// only what decides which accesses happen: origins, loop bounds, conditions and
// the integers read from the step's inputs. Whatever form a kernel has, its
// loops say what it reads; nothing here knows forms.
//
// A loop whose bound cannot be evaluated counts as one to its largest symbol; a
// condition as true. Of many programs a fixed selection is walked and scaled.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/tile/TileDialect.h"
#include "passes/report/OpWork.h"

#include <functional>
#include <optional>
#include <vector>

namespace fusec {

/// An integer that the step's input holds in argument `argument` at `index`, if it is known.
using InputValue = std::function<std::optional<int64_t>(unsigned argument, llvm::ArrayRef<int64_t> index)>;

/// What the programs of a launch do with one argument.
struct AccessCount {
  double loadedBytes = 0, storedBytes = 0; ///< Repeats included.
  double touchedBytes = 0;                 ///< What a program loads, each element once, and likewise stores.
};

/// One entry per argument. `maxPrograms` bounds the programs walked.
std::vector<AccessCount> countAccesses(tile::KernelOp kernel, const StepSizes &sizes, const InputValue &inputs,
                                       int64_t maxPrograms = 64);

} // namespace fusec
