//===- StepInputs.h - device memory of a step's inputs ------------------------===//
//
// Fixed addresses that kernels read tokens, positions, block tables from; filled
// before each step. Owns the memory; move-only.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/device/Buffer.h"
#include "runtime/exec/Manifest.h"
#include "runtime/exec/StepInput.h"

#include <array>
#include <cstdint>

namespace fusec::runtime {

class StepInputs {
public:
  /// `queryTile`: KvInfo::queryTile.
  static Result<StepInputs> create(const SymbolValues &maxima, int64_t queryTile);

  std::byte *address(InputKind kind) const { return memory.data() + offsets[static_cast<size_t>(kind)]; }
  int64_t bytes() const { return memory.bytes(); }

  /// Copies the arrays; the caller has checked them against the maxima.
  void fill(const StepInput &input);

private:
  std::array<int64_t, numInputs> offsets{}; ///< By InputKind.
  int64_t queryTile = 0;
  Buffer memory;
};

} // namespace fusec::runtime
