//===- CascadeKernel.h - reductions that share one loop -----------------------------===//
//
// One program handles a tile of rows; the loop runs over blocks of the folded
// dimension and carries one accumulator per member:
//
//   for j in [lower, upper) step block:
//     elements of the block: scores by nested products, masks, exp(t - m)
//     m' = combine(m, fold of the block)                    members others depend on
//     l' = combine(repair(m, m', l), elements)              lane partials
//     o' = repair(m, m', o) + dot(elements, V)              products
//   epilogue on (m, l, o)
//
// The folded dimension is cut into splits of a fixed size, whose carriers merge
// in ascending order by the members' own combine and repair:
//
//   whole:  for each split: loop; merge                     many rows
//   split:  one program per split leaves its carriers       few rows
//   merge:  merges what `split` left                        runs after `split`
//   tile:   as whole, for several tokens of one sequence    GPU, many rows
//
// All of them do the same arithmetic in the same order, so a row's result never
// depends on how many rows a step has.
//
// The class is the state of one emission; its parts are grouped by file:
//   CascadeKernel.cpp    frame, bounds, forms and their loops, epilogue
//   CascadeCarriers.cpp  accumulators: empty, repaired, combined, merged
//   CascadeBlock.cpp     one block: elements, products, nested products
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/lowering/CascadeShape.h"
#include "passes/lowering/KernelWriter.h"

namespace fusec {

enum class CascadeForm { Whole, Split, Merge, Tile };

/// The accumulators of one member.
struct Carrier {
  llvm::SmallVector<mlir::Value> tiles; ///< Per component; of a product: per group of lanes.
};

class CascadeKernel {
public:
  CascadeKernel(mlir::ModuleOp module, const KernelGroup &group, const CascadeShape &shape, const TileTarget &target,
                mlir::Value workspace, CascadeForm form)
      : module(module), group(group), shape(shape), target(target), workspace(workspace), form(form),
        builder(module.getContext()), loc(group.ops.back()->getLoc()), rank(shape.cascade.rows.size()) {}

  /// The kernel; empty with an error emitted on failure. Arguments begin as in `like`.
  std::optional<WrittenKernel> write(llvm::ArrayRef<mlir::Value> like);

private:
  // Frame.
  void begin(llvm::ArrayRef<mlir::Value> like);
  mlir::Value constantIndex(int64_t value) { return mlir::arith::ConstantIndexOp::create(builder, loc, value); }
  mlir::Value ceilDiv(mlir::Value value, int64_t by);
  llvm::SmallVector<std::pair<fuse::Dim, int64_t>> gridAxes();
  mlir::DictionaryAttr schedule();
  /// The origins of the row dimensions; a query tile's first token comes from the list of tiles.
  void findOrigins();
  bool isTile() const { return form == CascadeForm::Tile; }
  /// Rows of every tile here.
  int64_t tileRows() const { return isTile() ? shape.rows * shape.tokens : shape.rows; }
  /// Row coordinates from a tile frame's indices. Row r of a query tile is head r mod rows of token r div rows.
  mlir::AffineMap rowMap() { return elementMap().dropResult(rank); }
  mlir::AffineMap elementMap();
  /// A tile of rows x lanes at `last` along the last index.
  Frame tileFrame(mlir::Value last, int64_t lanes);

  // Bounds.
  /// The part of the folded dimension that is open for some row of the tile.
  void findBounds();
  /// The loosest of the rows' bounds.
  mlir::Value boundOverRows(const IndexBound &bound, bool least);
  bool dependsOnRow(const IndexBound &bound);
  /// Whether a scalar of a map's body changes along the tile's rows.
  bool dependsOnRow(mlir::Value scalar, mlir::AffineMap map);
  mlir::Value boundAtRow(const IndexBound &bound, int64_t row);
  /// The loosest bound of a query tile's rows: all of them side by side, then folded.
  mlir::Value boundOverTile(const IndexBound &bound, bool least);
  mlir::Value foldBounds(mlir::Value bounds, bool least);
  /// A map of row coordinates; results that name the folded dimension are not looked at.
  mlir::AffineMap withoutLast(mlir::AffineMap map);

  // Loops.
  bool writeLoops();
  bool writeSplit();
  /// Whole form: every split by itself, merged in ascending order.
  llvm::SmallVector<Carrier> writeSplitLoop();
  bool writeMerge();
  /// A loop that carries accumulators; `body` gets the counter and gives the next ones (none: failure).
  llvm::SmallVector<Carrier>
  carryLoop(mlir::Value from, mlir::Value to, mlir::Value step, const llvm::SmallVector<Carrier> &init,
            llvm::function_ref<llvm::SmallVector<Carrier>(mlir::Value, llvm::SmallVector<Carrier>)> body);
  static llvm::SmallVector<mlir::Value> flatten(const llvm::SmallVector<Carrier> &carriers);
  static llvm::SmallVector<Carrier> unflatten(mlir::ValueRange values, const llvm::SmallVector<Carrier> &like);

  // Carriers.
  mlir::Value splat(mlir::TypedAttr value, int64_t lanes);
  bool isProduct(unsigned i) { return mlir::isa<fuse::ContractOp>(shape.cascade.members[i].reduction.op); }
  fuse::ReduceOp reduceOf(unsigned i) { return mlir::cast<fuse::ReduceOp>(shape.cascade.members[i].reduction.op); }
  /// Empty carriers; `lanes` for members that keep lane partials while the loop runs.
  llvm::SmallVector<Carrier> emptyCarriers(bool lanePartials);
  llvm::SmallVector<Carrier> foldedCarriers() { return emptyCarriers(false); }
  /// Each row value of a finished or partial carrier, for whoever reads the member's results.
  void know(Frame &frame, const llvm::SmallVector<Carrier> &carriers);
  /// A row value over lanes.
  mlir::Value spread(mlir::Value value, int64_t lanes);
  /// The row value that member `i` is repaired for, while the carriers are `carriers`.
  mlir::Value dependencyAt(unsigned i, const llvm::SmallVector<Carrier> &carriers);
  /// Lane partials are no row values yet: only roots are known inside the loop.
  llvm::SmallVector<Carrier> rootsOf(const llvm::SmallVector<Carrier> &carriers);
  /// Applies a member's repair. What depends on the row values alone is computed per row, then spread.
  mlir::Value repaired(unsigned i, mlir::Value old, mlir::Value now, mlir::Value accumulator);
  llvm::SmallVector<mlir::Value> combined(unsigned i, mlir::ValueRange a, mlir::ValueRange b);
  /// The combine of two carriers: roots first, then what depends on them, repaired to the common row value.
  llvm::SmallVector<Carrier> merge(const llvm::SmallVector<Carrier> &a, const llvm::SmallVector<Carrier> &b);
  /// Calls `visit` with each part of folded carriers and its place in a workspace row.
  void forEachPart(llvm::SmallVector<Carrier> &carriers, llvm::function_ref<void(mlir::Value &, int64_t)> visit);
  /// workspace[rows..., split, at + lane]
  void moveThroughWorkspace(mlir::Value &part, int64_t at, bool out);

  // One block.
  /// The loop over blocks in [from, to); gives folded carriers.
  llvm::SmallVector<Carrier> writeBlockLoop(mlir::Value from, mlir::Value to);
  /// The block after `j`, of this program or the next split's; the last block stands for itself.
  mlir::Value blockAfter(mlir::Value j);
  /// Asks for the tile that `loaded` will read with `there` in place of `here`, when it is read from memory as is.
  void prefetch(mlir::Value loaded, mlir::Value here, mlir::Value there);
  llvm::SmallVector<Carrier> writeBlock(mlir::Value j, mlir::Value end, const llvm::SmallVector<Carrier> &old);
  /// While nothing was seen (the row value is infinite) elements are taken relative to 0: exp(-inf - 0) = 0.
  void guardEmpty(mlir::Value dependency, mlir::Value now, unsigned i, Frame &frame);
  /// A block of a reduction's elements, the identity beyond the folded dimension.
  llvm::SmallVector<mlir::Value> elementsOf(unsigned i, Frame &frame);
  llvm::SmallVector<mlir::Value> addElements(unsigned i, llvm::ArrayRef<mlir::Value> kept, Frame &frame);
  /// acc + dot(elements, other operand): the elements go through scratch memory, from where a product reads
  /// them one by one; positions outside the bounds are not touched, so that nothing stale is read.
  llvm::SmallVector<mlir::Value> addProduct(unsigned i, mlir::Value j, mlir::Value end,
                                            llvm::SmallVector<mlir::Value> kept, Frame &frame);
  llvm::SmallVector<mlir::Value> productLoop(unsigned i, mlir::Value j, mlir::Value from, mlir::Value to, int64_t step,
                                             llvm::ArrayRef<mlir::Value> init);
  /// step positions x lanes of the operand that the elements multiply.
  mlir::Value otherOperand(unsigned i, mlir::Value position, int64_t step, int64_t lane, int64_t lanes,
                           mlir::Value rows = {});

  // Nested products.
  /// A tile of two indices behind the rows' first ones; rows of the tile share it.
  /// Rows from number `rows` on are zero, when given.
  mlir::Value inRowFrame(mlir::Value value, mlir::AffineMap map, mlir::Value first, mlir::Value second,
                         llvm::ArrayRef<int64_t> lanes, mlir::Value rows = {});
  struct ProductMaps {
    mlir::Value rowOperand, laneOperand;
    mlir::AffineMap row;  ///< From (rows..., k).
    mlir::AffineMap lane; ///< From (rows..., k, j).
  };
  ProductMaps mapsOf(fuse::ContractOp op);
  /// Rows that must be computed are computed once, into scratch memory, before the loops.
  void stageRows();
  bool isComputedHere(mlir::Value value);
  mlir::Value nestedProduct(fuse::ContractOp op, mlir::AffineMap map, Frame &frame);
  mlir::Value rowTile(fuse::ContractOp op, const ProductMaps &maps, mlir::Value k, int64_t step);
  /// Tensor cores: the rows of every nested product, loaded once before the loops.
  void loadRows();
  mlir::Value product(fuse::ContractOp op, mlir::Value rows, mlir::Value other, mlir::Value sum);
  mlir::Value scratch(llvm::ArrayRef<int64_t> sizes);

  // Epilogue.
  bool writeEpilogue(const llvm::SmallVector<Carrier> &carriers);
  bool storeRowValue(mlir::Value value, const llvm::SmallVector<Carrier> &carriers);
  bool storeProduct(mlir::Value value, const llvm::SmallVector<Carrier> &carriers);

  mlir::ModuleOp module;
  const KernelGroup &group;
  const CascadeShape &shape;
  const TileTarget &target;
  mlir::Value workspace;
  CascadeForm form;
  mlir::OpBuilder builder;
  mlir::Location loc;
  unsigned rank; ///< Number of row dimensions.
  tile::KernelOp kernel;
  std::optional<KernelArguments> arguments;
  std::optional<TileEvaluator> evaluator;
  llvm::SmallVector<mlir::Value> origins;
  Frame outer;    ///< Scalars of all row dimensions but the last.
  Frame rowStart; ///< Scalars at the tile's first row.
  mlir::Operation *hoistBefore = nullptr;
  mlir::Value zero, lower, upper, firstBlock, split;
  mlir::Value rowLimit; ///< Rows of a query tile that exist.
  mlir::Value next;     ///< Where the block after the current one begins.
  bool hasLower = false;
  llvm::DenseMap<mlir::Operation *, mlir::Value> stagedRows, elementScratch, loadedRows;
};

} // namespace fusec
