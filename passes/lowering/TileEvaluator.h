//===- TileEvaluator.h - graph values as tiles inside a kernel ---------------===//
//
// A kernel is written by asking for values at tiles of indices. A value that
// this kernel computes is evaluated in place, by cloning scalar bodies onto
// vectors; index-only ops compose into the index map; everything else is a
// `tile.load` from an argument buffer, added on first use.
//
//   Frame row{indices = {t, c}, lanes = {64}};           // 64 elements of row t from c on
//   Value y = evaluator.evaluate(graphValue, identity, row);
//
//===----------------------------------------------------------------------===//
#pragma once

#include "ir/fuse/FuseDialect.h"
#include "ir/tile/TileDialect.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"

namespace fusec {

/// The buffers of one kernel, in argument order, keyed by the graph value each holds.
class KernelArguments {
public:
  explicit KernelArguments(mlir::Block &body) : body(body) {}
  /// The argument for a graph value; adds it when new.
  mlir::Value get(mlir::Value graphValue, mlir::Location loc);
  /// The block table that paged loads go through.
  mlir::Value pages(mlir::Location loc);
  /// Adds arguments for `values` in this order, so that variants of a kernel agree.
  void reserve(llvm::ArrayRef<mlir::Value> values, mlir::Location loc);
  /// Graph values by argument; null stands for the block table.
  llvm::ArrayRef<mlir::Value> graphValues() const { return order; }

private:
  mlir::Value add(mlir::Value graphValue, mlir::Type type, mlir::Location loc);
  mlir::Block &body;
  llvm::DenseMap<mlir::Value, mlir::Value> arguments;
  mlir::Value table;
  llvm::SmallVector<mlir::Value> order;
};

/// The buffer type that holds a graph value: stored matrices in panels, caches in pages, the rest in rows.
tile::BufferType bufferTypeFor(mlir::Value graphValue);
/// The type of the block table.
tile::BufferType blockTableType(mlir::MLIRContext *context);
/// The value whose buffer holds `value`: a merged reshape that is its only reader, else itself.
mlir::Value storedForm(mlir::Value value);
/// The index map from `value`'s dimensions to those of its stored form.
mlir::AffineMap storedMap(mlir::Value value);

/// A place in a kernel: index values, the last `lanes.size()` of which carry lanes.
struct Frame {
  llvm::SmallVector<mlir::Value> indices;
  llvm::SmallVector<int64_t> lanes;
  /// Tiles already there, by value and the map from this frame's indices to the value's.
  llvm::DenseMap<std::pair<mlir::Value, mlir::AffineMap>, mlir::Value> known;
  /// The frame of the same indices without lanes, for what is the same along them; may be null.
  Frame *scalar = nullptr;
  /// Where code of the scalar frame goes: before this op, when set.
  mlir::Operation *hoistBefore = nullptr;
  /// Rows of tiles that exist: others are zero when loaded and are not stored. Null: all.
  mlir::Value rows = {};
};

class TileEvaluator {
public:
  /// `computes` tells whether a graph op is computed in this kernel.
  TileEvaluator(mlir::OpBuilder &builder, KernelArguments &arguments, std::function<bool(mlir::Operation *)> computes)
      : builder(builder), arguments(arguments), computes(std::move(computes)) {}

  /// How a contraction of this kernel gives a tile, for kernels that compute it on the way.
  using Product = std::function<mlir::Value(fuse::ContractOp, mlir::AffineMap, Frame &)>;
  void onProduct(Product write) { product = std::move(write); }

  /// `value[map(frame)]` as a tile of the frame's lanes; null (with an error emitted) when it cannot be written.
  mlir::Value evaluate(mlir::Value value, mlir::AffineMap map, Frame &frame);
  /// A scalar region on tiles: block arguments bound to `operands`; yields the terminator's operands.
  /// `map` gives the coordinates for `fuse.index`.
  llvm::SmallVector<mlir::Value> inlineBody(mlir::Block &body, mlir::ValueRange operands, mlir::AffineMap map,
                                            Frame &frame);
  /// One scalar op of a body on tiles of the frame's shape; `mapping` has its operands.
  mlir::Value cloneOnTiles(mlir::Operation &op, mlir::IRMapping &mapping, Frame &frame);
  /// A scalar of a map's body, computed by itself; `map` gives the coordinates of the map's result.
  mlir::Value evaluateScalarOf(mlir::Value scalar, mlir::AffineMap map, Frame &frame);
  /// Writes a tile of `value` (a graph value's stored form) at map(frame).
  void store(mlir::Value tile, mlir::Value graphValue, mlir::AffineMap map, Frame &frame, mlir::Location loc);
  /// An i32 tile of an index expression over the frame.
  mlir::Value indexTile(mlir::AffineExpr expr, Frame &frame, mlir::Location loc);
  /// The scalar `value[map(frame)]` of i32 as an index; the map must not depend on lanes.
  mlir::Value scalarIndex(mlir::Value value, mlir::AffineMap map, Frame &frame, mlir::Location loc);

private:
  mlir::Value evaluateMap(fuse::MapOp op, mlir::AffineMap map, Frame &frame);
  mlir::Value evaluateScalar(mlir::Value value, mlir::AffineMap map, Frame &frame);
  mlir::Value load(mlir::Value value, mlir::AffineMap map, Frame &frame, mlir::Location loc);
  mlir::Type tileType(mlir::Type element, const Frame &frame);
  mlir::Value broadcast(mlir::Value scalar, const Frame &frame, mlir::Location loc);

  mlir::OpBuilder &builder;
  KernelArguments &arguments;
  std::function<bool(mlir::Operation *)> computes;
  Product product;
};

} // namespace fusec
