//===- TileChoice.h - tile shapes for a target's registers ---------------------===//
//
// The choices are made here once, before emission; kernels record them.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/fuse/FuseDialect.h"

#include <functional>
#include <string>

namespace fusec {

/// What tile selection knows of a target.
struct TileTarget {
  int64_t pieces = 32;         ///< Register file in vectors of 16 f32 (AVX-512: 32, AVX2: 8).
  int64_t page = 64;           ///< Positions per cache page.
  bool isGpu = false;          ///< A program is a block of threads, its lanes are spread over them.
  int64_t rung = 0;            ///< GPU: tiles of 2^rung fewer rows, for kernels that otherwise exceed the registers.
  bool streamsWeights = false; ///< GPU: packed matrices of few rows come through a ring in shared memory.
  /// GPU only: the graph's list of query tiles `[W, 2]` (first token, tokens), added to the graph when first asked for.
  std::function<mlir::Value()> queryTiles;
};

/// Shape of one contraction kernel: rows x lanes accumulators per contraction, `step` summed per iteration.
struct ContractTile {
  int64_t rows = 1;
  int64_t lanes = 16;
  int64_t step = 1;
  bool staged = false; ///< Stored weights are decoded once into scratch memory for all rows.
  int64_t limit = 0;   ///< For at most this many rows; 0: any.
  /// GPU: summed elements whose sum is one part; parts are added in ascending order. The same for every number of
  /// rows, so that a row's result does not depend on it. 0: one part.
  int64_t slice = 0;
  bool spread = false;   ///< GPU: each part on a warp of its own.
  int64_t threads = 0;   ///< GPU: of the block; 0: as many as lanes.
  bool streamed = false; ///< GPU: the stored matrices come through a ring in shared memory.
  /// A program walks all rows, so that weights it has read are in the cache for the next ones.
  bool inner = false;
};

/// Lanes for walking a row. Host: the widest of 64, 32, 16 that divides a static extent, else masked 16. GPU: a
/// block of up to 256 threads, masked at the end.
int64_t rowLanes(const fuse::Dim &dim, const TileTarget &target);

/// Tiles for contractions with stored weights, by number of rows; the last has no limit.
/// `contractions` are computed side by side, `lanes` is the extent along the lanes.
llvm::SmallVector<ContractTile> weightTiles(const TileTarget &target, int64_t contractions, const fuse::Dim &lanes,
                                            const fuse::Dim &summed);

/// The same for a GPU; `onTensorCores`: operands are rounded to 16 bits.
llvm::SmallVector<ContractTile> gpuWeightTiles(const TileTarget &target, int64_t contractions, const fuse::Dim &lanes,
                                               const fuse::Dim &summed, bool onTensorCores);

/// The tile for a contraction of two activations with `rows` rows in reach. It divides static extents:
/// rows and lanes may be merged into one dimension of the result (heads), where no bound masks the rest.
ContractTile activationTile(const TileTarget &target, int64_t rows, const fuse::Dim &lanes, const fuse::Dim &summed);

} // namespace fusec
