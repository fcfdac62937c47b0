//===- StepShape.h - the sizes of a step, and whether it may run ----------------===//
//
// What every executor checks before kernels, which check nothing, see a step:
// sizes within the limits that memory was planned for, indices in range.
//
// Values; immutable, safe from any thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/exec/Manifest.h"
#include "runtime/exec/StepInput.h"
#include "runtime/kv/PageCopy.h"

#include <cstdint>

namespace fusec::runtime {

class StepShape {
public:
  /// `numPages`: pages of every buffer of the cache.
  StepShape(const Manifest &manifest, const StepLimits &limits, int64_t numPages);

  /// The symbols of the largest step: what memory is planned for.
  SymbolValues maxima() const;
  int64_t pageTokens() const { return tokensPerPage; }

  /// Internal error that names the first value beyond the limits.
  Status check(const StepInput &input) const;
  /// Internal error that names the first page that is not there.
  Status check(std::span<const PageCopy> copies) const;
  /// The symbols of a step that was checked.
  SymbolValues symbolsOf(const StepInput &input) const;

private:
  Status checkTokens(const StepInput &input) const;
  Status checkSampling(const StepInput &input) const;

  StepLimits limits;
  int64_t numPages, vocabSize, tokensPerPage, queryTile;
};

} // namespace fusec::runtime
