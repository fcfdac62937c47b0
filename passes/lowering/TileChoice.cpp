//===- TileChoice.cpp --------------------------------------------------------------===//
#include "passes/lowering/TileChoice.h"

#include "runtime/schema/PanelLayout.h"

#include <algorithm>

using fusec::fuse::Dim;
using fusec::fuse::DimKind;

namespace fusec {

namespace {

/// Largest power of two up to `limit` that divides a static extent; `dynamic` for a dynamic one.
int64_t stepFor(const Dim &dim, int64_t limit, int64_t dynamic) {
  if (!dim.isStatic())
    return dynamic;
  int64_t step = limit;
  while (step > 1 && dim.size % step != 0)
    step /= 2;
  return step;
}

/// `wanted` lanes, or fewer when the extent is small: whole vectors, or a power of two below one.
int64_t clampLanes(int64_t wanted, const Dim &dim) {
  if (!dim.isStatic() || dim.size >= wanted)
    return wanted;
  if (dim.size < 16 && (dim.size & (dim.size - 1)) == 0)
    return std::max<int64_t>(dim.size, 1);
  int64_t lanes = 16;
  while (lanes < dim.size)
    lanes *= 2;
  return std::min(lanes, wanted);
}

/// Rows such that accumulators, one operand row and a broadcast fit the registers.
int64_t rowsFor(const TileTarget &target, int64_t contractions, int64_t lanes, int64_t most) {
  int64_t vectors = std::max<int64_t>(lanes / 16, 1);
  int64_t spare = target.pieces >= 32 ? vectors + 2 : vectors + 1;
  return std::clamp<int64_t>((target.pieces - spare) / (contractions * vectors), 1, most);
}

} // namespace

/// Threads walk a row side by side: as many as it has elements, rounded up to a power of two.
static int64_t gpuRowLanes(const Dim &dim) {
  constexpr int64_t mostThreads = 256, dynamic = 128;
  if (!dim.isStatic())
    return dynamic;
  int64_t lanes = 1;
  while (lanes < dim.size && lanes < mostThreads)
    lanes *= 2;
  return lanes;
}

int64_t rowLanes(const Dim &dim, const TileTarget &target) {
  if (dim.kind == DimKind::Paged)
    return std::min<int64_t>(target.page, 64);
  if (target.isGpu)
    return gpuRowLanes(dim);
  if (!dim.isStatic())
    return 16;
  for (int64_t lanes : {64, 32, 16})
    if (dim.size % lanes == 0 && dim.size > 0)
      return lanes;
  return clampLanes(16, dim);
}

llvm::SmallVector<ContractTile> weightTiles(const TileTarget &target, int64_t contractions, const Dim &lanes,
                                            const Dim &summed) {
  bool wide = target.pieces >= 32;
  // Half a code chunk: measured as fast as a whole one or faster, at half the code.
  int64_t direct = stepFor(summed, codeChunk / 2, codeChunk / 2);
  auto shaped = [&](int64_t rows, int64_t width, int64_t limit) {
    ContractTile tile;
    tile.lanes = clampLanes(width, lanes);
    tile.rows = rowsFor(target, contractions, tile.lanes, rows);
    tile.step = direct;
    tile.limit = limit;
    tile.inner = rows > 1;
    return tile;
  };
  ContractTile one = shaped(1, (wide ? 64 : 32) / contractions, 1);
  ContractTile many = shaped(contractions == 2 && wide ? 6 : 12, wide ? 32 : 16, 0);
  many.step = stepFor(summed, 8, 8);
  many.staged = true;
  if (!wide) // Decoding costs more than the products: once for all rows, as soon as there are some.
    return {one, shaped(4, 32, 8), many};
  // A step of a few sequences: decoded for each tile of rows, which beside 8 rows costs an eighth; enough sums to hide
  // the latency of an addition.
  return {one, shaped(4, 64 / contractions, 4), shaped(8, 32 / contractions, 64), many};
}

llvm::SmallVector<ContractTile> gpuWeightTiles(const TileTarget &target, int64_t contractions, const Dim &lanes,
                                               const Dim &summed, bool onTensorCores) {
  constexpr int64_t mostWarps = 8, warp = 32, panel = 16;
  int64_t step = stepFor(summed, onTensorCores ? codeChunk : 16, 1);
  bool fits = summed.isStatic() && (!onTensorCores || step == codeChunk);
  if (!fits) // nothing to cut: rows of plain fused multiply-adds
    return {{1, warp, 1, false, 1}, {8, warp, 1, false, 0}};
  int64_t steps = summed.size / step, slice = (steps + mostWarps - 1) / mostWarps * step;
  int64_t warps = (summed.size + slice - 1) / slice;
  auto fewer = [&](int64_t rows) { return std::max<int64_t>(rows >> target.rung, 1); };
  auto spread = [&](int64_t rows, int64_t width) {
    return ContractTile{fewer(rows), clampLanes(width, lanes), step, false, rows, slice, true, warps * warp};
  };
  if (!onTensorCores)
    return {spread(1, warp), spread(8, warp), {fewer(16), clampLanes(128, lanes), step, false, 0, slice, false, 0}};
  int64_t wide = clampLanes(mostWarps * panel, lanes);
  return {spread(8, panel),
          spread(32, panel),
          {fewer(64 / contractions), wide, step, false, 0, slice, false, wide / panel * warp}};
}

ContractTile activationTile(const TileTarget &target, int64_t rows, const Dim &lanes, const Dim &summed) {
  ContractTile tile;
  // Cached positions come in whole pages; nothing else dynamic is known to be a multiple of a step.
  tile.step = stepFor(summed, 16, summed.kind == DimKind::Paged ? 16 : 1);
  for (int64_t wanted : {64, 32, 16}) {
    tile.lanes = lanes.isStatic() ? stepFor(lanes, wanted, wanted) : clampLanes(wanted, lanes);
    tile.rows = rowsFor(target, 1, tile.lanes, rows);
    while (rows % tile.rows != 0)
      --tile.rows;
    if (tile.rows == rows)
      break;
  }
  return tile;
}

} // namespace fusec
