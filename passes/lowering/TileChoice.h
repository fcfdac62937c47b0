//===- TileChoice.h - tile shapes for a target's registers ---------------------===//
//
// The choices are made here once, before emission; kernels record them.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/fuse/FuseDialect.h"

#include <string>

namespace fusec {

/// What tile selection knows of a target.
struct TileTarget {
  int64_t pieces = 32; ///< Register file in vectors of 16 f32 (AVX-512: 32, AVX2: 8).
  int64_t page = 64;   ///< Positions per cache page.
};

/// Shape of one contraction kernel: rows x lanes accumulators per contraction, `step` summed per iteration.
struct ContractTile {
  int64_t rows = 1;
  int64_t lanes = 16;
  int64_t step = 1;
  bool staged = false; ///< Stored weights are decoded once into scratch memory for all rows.
  int64_t limit = 0;   ///< For at most this many rows; 0: any.
};

/// Lanes for walking a row: the widest of 64, 32, 16 that divides a static extent, else masked 16.
int64_t rowLanes(const fuse::Dim &dim, int64_t page);

/// Tiles for contractions with stored weights, by number of rows; the last has no limit.
/// `contractions` are computed side by side, `lanes` is the extent along the lanes.
llvm::SmallVector<ContractTile> weightTiles(const TileTarget &target, int64_t contractions, const fuse::Dim &lanes,
                                            const fuse::Dim &summed);

/// The tile for a contraction of two activations with `rows` rows in reach. It divides static extents:
/// rows and lanes may be merged into one dimension of the result (heads), where no bound masks the rest.
ContractTile activationTile(const TileTarget &target, int64_t rows, const fuse::Dim &lanes, const fuse::Dim &summed);

} // namespace fusec
