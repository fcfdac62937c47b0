//===- EmitLayout.h - how each tile of a kernel lies in registers ----------===//
//
// Every tile value has a layout of the device library (device/layout.cuh). It is
// the kernel's Lanes<threads>, called L, unless something says otherwise: what a
// product on tensor cores leaves lies as the instruction wants it, and what is
// combined with it follows.
//
//   TileLayouts layouts(threads);
//   const TileLayout *sums = layouts.add({.name = "Sums", .type = "MmaLanes<8>", .rowUnit = 8, .laneUnit = 128});
//   layouts.assignAfter(loop, sums);      // the loop's results and all tiles made after it in its block
//   layouts.of(value).name                // "Sums"
//
// A layout may hold whole units of rows and lanes only. Extents that are no
// multiple are padded (paddedShape): loads of the rest read what is there, or
// zero; stores leave it out.
//
// Threading: one kernel, one thread.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

#include <deque>
#include <string>

namespace fusec::codegen::cuda {

/// M rows of N lanes; a vector of rank 1 is one row.
struct TileShape {
  int64_t rows = 1, lanes = 1;
  bool operator==(const TileShape &) const = default;
};

/// A layout as the text of a kernel says it.
struct TileLayout {
  std::string name;                  ///< "L": what `using` calls it.
  std::string type;                  ///< "Lanes<256>".
  int64_t rowUnit = 1, laneUnit = 1; ///< Extents above 1 are padded to multiples of these.
  /// Whether rows x 1 and 1 x lanes tiles in this layout are operands of full ones. Where not, such values are written
  /// out as expressions of the place.
  bool hasSlots = true;
  /// Whether an extent of 1 is padded too: a full tile of one row or one lane, not a row or column value.
  bool padsOneRow = false, padsOneLane = false;

  TileShape padded(TileShape shape) const;
};

class TileLayouts {
public:
  explicit TileLayouts(int threads);

  /// The kernel's own: Lanes<threads>.
  const TileLayout &lanes() const { return all.front(); }
  const TileLayout &of(mlir::Value value) const;
  /// Keeps a layout; its address stays.
  const TileLayout *add(TileLayout layout);
  void assign(mlir::Value value, const TileLayout *layout) { assigned[value] = layout; }
  /// The results of `op`, and every tile that ops after it in its block make, in regions too.
  void assignAfter(mlir::Operation *op, const TileLayout *layout);
  /// In the order in which they came; the first is lanes().
  const std::deque<TileLayout> &list() const { return all; }

private:
  std::deque<TileLayout> all;
  llvm::DenseMap<mlir::Value, const TileLayout *> assigned;
};

/// The rows and lanes of a type; a scalar is 1 x 1.
TileShape shapeOf(mlir::Type type);

} // namespace fusec::codegen::cuda
