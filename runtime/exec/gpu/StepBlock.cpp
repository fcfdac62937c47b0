//===- StepBlock.cpp -----------------------------------------------------------===//

#include "runtime/exec/gpu/StepBlock.h"

#include "runtime/exec/QueryTiles.h"
#include "runtime/kv/BlockAllocator.h"
#include "runtime/schema/SamplingMath.h"

#include <algorithm>

namespace fusec::runtime {

namespace {

constexpr int64_t alignment = 256;
/// Kernels may load whole vectors.
constexpr int64_t slackBytes = 64;

int64_t padded(int64_t bytes) { return (bytes + slackBytes + alignment - 1) / alignment * alignment; }

/// `values`, then `pad(i)` for rows up to `rows`.
template <typename Pad> void copyPadded(int32_t *to, std::span<const int32_t> values, int64_t rows, Pad pad) {
  std::copy(values.begin(), values.end(), to);
  for (int64_t i = static_cast<int64_t>(values.size()); i < rows; ++i)
    to[i] = pad(i);
}

} // namespace

StepBlockLayout::StepBlockLayout(const SymbolValues &maxima, int64_t queryTile, bool samples)
    : queryTile(queryTile), samples(samples) {
  bytes = padded(static_cast<int64_t>(numSymbols * sizeof(int64_t)));
  auto place = [&](InputKind kind, int64_t elements) {
    offsets[static_cast<size_t>(kind)] = bytes;
    bytes += padded(elements * static_cast<int64_t>(sizeof(int32_t)));
  };
  place(InputKind::Tokens, maxima[Symbol::Tokens]);
  place(InputKind::Positions, maxima[Symbol::Tokens]);
  place(InputKind::Sequences, maxima[Symbol::Tokens]);
  place(InputKind::OutputRows, maxima[Symbol::OutputRows]);
  place(InputKind::QueryTiles, 2 * maxima[Symbol::QueryTiles]);
  place(InputKind::Sampling, samples ? samplingRowWords * maxima[Symbol::OutputRows] : 0);
  place(InputKind::BlockTable, maxima[Symbol::Sequences] * maxima[Symbol::Blocks]);
}

Result<StepBlock> StepBlock::create(GpuDevice &device, const StepBlockLayout &layout, GpuAddress at,
                                    int64_t sampleableIds, std::optional<int64_t> sinkRange) {
  FUSEC_ASSIGN_OR_RETURN(std::span<std::byte> staging, device.allocatePinned(layout.bytes, "step inputs"));
  std::fill(staging.begin(), staging.end(), std::byte{0});
  return StepBlock(layout, at, staging, sampleableIds, sinkRange);
}

int32_t *StepBlock::part(InputKind kind) {
  return reinterpret_cast<int32_t *>(staging.data() + layout.offsets[static_cast<size_t>(kind)]);
}

void StepBlock::fill(const StepInput &input, const SymbolValues &values, const SymbolValues &rows,
                     std::span<const Symbol> symbols) {
  SymbolValues sizes = values;
  sizes[Symbol::Blocks] = rows[Symbol::Blocks];
  auto *out = reinterpret_cast<int64_t *>(staging.data());
  for (size_t i = 0; i < symbols.size(); ++i)
    out[i] = sizes[symbols[i]];
  auto zero = [](int64_t) { return 0; };
  auto own = [](int64_t row) { return static_cast<int32_t>(row); };
  copyPadded(part(InputKind::Tokens), input.tokens, rows[Symbol::Tokens], zero);
  copyPadded(part(InputKind::Positions), input.positions, rows[Symbol::Tokens], zero);
  copyPadded(part(InputKind::Sequences), input.sequences, rows[Symbol::Tokens], own);
  copyPadded(part(InputKind::OutputRows), input.outputRows, rows[Symbol::OutputRows], own);
  fillQueryTiles(input, values, rows);
  fillSampling(input.sampling);
  fillTable(input, rows);
}

void StepBlock::fillQueryTiles(const StepInput &input, const SymbolValues &values, const SymbolValues &rows) {
  if (layout.queryTile == 0)
    return;
  int32_t *list = part(InputKind::QueryTiles);
  writeQueryTiles(input.sequences, layout.queryTile, list);
  std::fill(list + 2 * values[Symbol::QueryTiles], list + 2 * rows[Symbol::QueryTiles], 0);
}

void StepBlock::fillSampling(std::span<const RowSampling> rows) {
  auto *out = reinterpret_cast<SamplingRow *>(part(InputKind::Sampling));
  for (const RowSampling &row : rows)
    *out++ = {row.seed, row.draw, row.temperature, row.topK, row.topP, row.minP, static_cast<int>(sampleableIds), 0};
}

void StepBlock::fillTable(const StepInput &input, const SymbolValues &rows) {
  const int64_t stride = rows[Symbol::Blocks], given = input.blockStride, kept = std::min(stride, given);
  const int64_t real = static_cast<int64_t>(input.blockTable.size()) / given, all = rows[Symbol::Sequences];
  int32_t *table = part(InputKind::BlockTable);
  for (int64_t row = 0; row < all; ++row) {
    const std::span<const int32_t> line =
        row < real ? input.blockTable.subspan(row * given, kept) : std::span<const int32_t>();
    const int64_t first = line.empty() ? sinkRange.value_or(0) : line.front();
    copyPadded(table + row * stride, line, stride,
               [&](int64_t i) { return sinkRange ? static_cast<int32_t>(first + i) : toIndex(sinkBlock); });
  }
  used =
      layout.offsets[static_cast<size_t>(InputKind::BlockTable)] + all * stride * static_cast<int64_t>(sizeof(int32_t));
}

Status StepBlock::send(GpuStream &stream) const { return stream.copyToDevice(at, staging.data(), used); }

} // namespace fusec::runtime
