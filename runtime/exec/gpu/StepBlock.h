//===- StepBlock.h - a step's inputs on a GPU -----------------------------------===//
//
// One block of memory, filled in pinned host memory and sent by one copy:
//
//   sizes [symbols] i64 | tokens [T] | positions [T] | sequences [T] |
//   output_rows [R] | query_tiles [W, 2] | block_table [S, B]      all i32
//
// and, before the table, sampling [R] SamplingRow (runtime/schema/SamplingMath.h).
// Each part starts where it does in the largest step, so its address never
// changes: captured graphs hold it. The table is last because only what a step
// uses of it is sent.
//
// Move-only; one user.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/base/Status.h"
#include "runtime/device/gpu/GpuDevice.h"
#include "runtime/exec/Manifest.h"
#include "runtime/exec/StepInput.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace fusec::runtime {

/// Offsets of the parts, for steps up to the maxima.
struct StepBlockLayout {
  /// `queryTile`: KvInfo::queryTile; `samples`: the plan reads sampling parameters.
  StepBlockLayout(const SymbolValues &maxima, int64_t queryTile, bool samples = false);

  std::array<int64_t, numInputs> offsets{}; ///< By InputKind; the sizes are at 0.
  int64_t bytes = 0;
  int64_t queryTile = 0;
  bool samples = false;
};

class StepBlock {
public:
  /// Pins host memory; `at` is device memory of layout.bytes. Ids below `sampleableIds` may be chosen.
  /// `sinkRange`: the first virtual page of padding in the contiguous layout, whose rows count up; none: every page of
  /// padding is the sink.
  static Result<StepBlock> create(GpuDevice &device, const StepBlockLayout &layout, GpuAddress at,
                                  int64_t sampleableIds = 0, std::optional<int64_t> sinkRange = std::nullopt);

  GpuAddress address(InputKind kind) const { return at + layout.offsets[static_cast<size_t>(kind)]; }
  GpuAddress sizes() const { return at; }

  /// Writes a step whose real sizes are `values`, laid out for `rows`: the same,
  /// or a graph's bucket. Rows of the bucket that the step does not have are
  /// padding: token 0 at position 0 of a sequence of their own, whose pages are
  /// all the sink; so is what the table's rows lack, and a query tile without tokens. Kernels see the real sizes,
  /// and B of the layout.
  void fill(const StepInput &input, const SymbolValues &values, const SymbolValues &rows,
            std::span<const Symbol> symbols);

  /// Sends what fill() wrote. The stream must get there before the next fill().
  Status send(GpuStream &stream) const;

private:
  StepBlock(const StepBlockLayout &layout, GpuAddress at, std::span<std::byte> staging, int64_t sampleableIds,
            std::optional<int64_t> sinkRange)
      : layout(layout), at(at), staging(staging), sampleableIds(sampleableIds), sinkRange(sinkRange) {}
  int32_t *part(InputKind kind);
  void fillQueryTiles(const StepInput &input, const SymbolValues &values, const SymbolValues &rows);
  void fillSampling(std::span<const RowSampling> rows);
  void fillTable(const StepInput &input, const SymbolValues &rows);

  StepBlockLayout layout;
  GpuAddress at;
  std::span<std::byte> staging; ///< Pinned; the device's.
  int64_t sampleableIds;
  std::optional<int64_t> sinkRange;
  int64_t used = 0;
};

} // namespace fusec::runtime
