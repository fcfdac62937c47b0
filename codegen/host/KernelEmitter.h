//===- KernelEmitter.h - one tile kernel to one LLVM function --------------===//
//
// Tiles live in registers: a value vector<MxN> is M * ceil(N/W) pieces, row by
// row, each one LLVM vector of W = min(level's lanes, N rounded up to a power of
// two) lanes; lanes beyond N hold anything. Operands of tile.dot that are loads are
// not materialised: the dot reads them element by element.
//
// The class is the state of one emission; its parts are grouped by file:
//   KernelEmitter.cpp  frame, grid loop, regions, loops, index values
//   EmitElementwise.cpp  arith, vector and math ops; EmitExp.cpp  exp
//   EmitReduce.cpp     tile.reduce
//   EmitMemory.cpp     tile.load and tile.store through affine maps
//   EmitPanel.cpp      decoding of packed weights
//   EmitDot.cpp        tile.dot
//
// Errors are sticky: the first one is kept, emission goes on with poison.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "codegen/host/HostLevel.h"
#include "codegen/host/HostLowering.h"
#include "codegen/host/IndexMath.h"
#include "ir/tile/TileDialect.h"
#include "runtime/schema/PanelLayout.h"

#include "llvm/ADT/DenseMap.h"

namespace fusec::codegen {

/// How a scalar or vector value is cut into pieces.
struct TileShape {
  int64_t rows = 1, lanes = 1, width = 1;
  bool isVector = false;
  int64_t piecesPerRow() const { return (lanes + width - 1) / width; }
  int64_t pieces() const { return rows * piecesPerRow(); }
};

using Pieces = llvm::SmallVector<llvm::Value *, 4>;

/// A buffer inside the function.
struct BufferView {
  llvm::Value *pointer = nullptr;
  tile::BufferType type;
};

/// One tile.load or tile.store: what it touches and where lane 0 is.
struct Access {
  BufferView buffer, pages;
  mlir::AffineMap map;
  llvm::SmallVector<IndexValue> indices;
  TileShape shape;
  int64_t rank = 0; ///< Rank of the moved value.
  mlir::Type element;
  std::optional<IndexValue> rows; ///< Rows from this number on are not touched.
};

class KernelEmitter {
public:
  KernelEmitter(tile::KernelOp kernel, const HostLevel &level, const LoweringOptions &options, llvm::Module &module);
  Status emit();
  int64_t scratchBytes() const { return scratchSize; }

private:
  // Frame and control flow.
  void emitGridLoop();
  void emitOrigins(llvm::Value *program);
  void emitBlock(mlir::Block &block);
  void emitOp(mlir::Operation &op);
  void emitFor(mlir::scf::ForOp op);
  void emitIf(mlir::scf::IfOp op);
  void emitScratch(tile::ScratchOp op);
  void emitIndexArith(mlir::Operation &op);
  IndexValue emitDifference(mlir::arith::SubIOp op, const IndexValue &x, const IndexValue &y);
  IndexValue emitIndexDivision(mlir::Operation &op, const IndexValue &x, const IndexValue &y);
  bool isIndexArith(mlir::Operation &op);
  llvm::Value *symbolValue(mlir::StringAttr symbol);
  IndexValue extent(const fuse::Dim &dim);
  IndexValue extentMinus(const fuse::Dim &dim, int64_t amount);
  int64_t symbolAlignment(mlir::StringAttr symbol);
  IndexValue loopCounter(mlir::scf::ForOp op, llvm::Value *phi);

  // Values.
  TileShape shapeOf(mlir::Type type) const;
  llvm::Type *llvmType(mlir::Type scalar);
  llvm::Type *pieceType(mlir::Type type);
  Pieces pieces(mlir::Value value);
  IndexValue index(mlir::Value value);
  void bind(mlir::Value value, Pieces p);
  void bindOpaque(mlir::Value value, llvm::ArrayRef<llvm::Value *> p);
  llvm::Value *splat(llvm::Value *scalar, int64_t width);
  llvm::Value *fail(mlir::Operation *op, const llvm::Twine &what);

  // Elementwise.
  bool emitElementwise(mlir::Operation &op);
  bool emitVectorOp(mlir::Operation &op);
  void emitConstant(mlir::arith::ConstantOp op);
  void emitTileIndex(tile::IndexOp op);
  llvm::Value *emitLane(mlir::Operation &op, llvm::ArrayRef<llvm::Value *> x, llvm::Type *result);
  llvm::Value *emitExp(llvm::Value *x);
  llvm::Value *emitTanh(llvm::Value *x);
  llvm::Value *callPerLane(llvm::StringRef name, llvm::ArrayRef<llvm::Value *> x);
  using Carrier = llvm::SmallVector<llvm::Value *>; ///< One piece of each input of a tile.reduce.
  void emitReduce(tile::ReduceOp op);
  Carrier combine(tile::ReduceOp op, const Carrier &a, const Carrier &c);
  Carrier foldHalves(tile::ReduceOp op, const Carrier &carrier, int width);

  // Memory.
  Access access(tile::LoadOp op);
  Access access(tile::StoreOp op);
  void emitPrefetch(tile::PrefetchOp op);
  void emitPrefetchAt(llvm::Value *address, int nearness);
  void emitLoad(tile::LoadOp op);
  void emitStore(tile::StoreOp op);
  struct Limit;
  llvm::SmallVector<Limit, 2> limitsOf(const Access &a);
  llvm::Value *laneMask(const Access &a, llvm::ArrayRef<Limit> limits, int64_t lane);
  void storeEdge(const Access &a, llvm::ArrayRef<Limit> limits, llvm::ArrayRef<llvm::Value *> value);
  void storeFull(const Access &a, llvm::ArrayRef<llvm::Value *> value);
  void storePiece(const Access &a, int64_t row, int64_t lane, llvm::Value *value, llvm::Value *mask);
  llvm::SmallVector<LaneIndex> laneDims(const Access &a, int64_t row, int64_t lane);
  std::optional<llvm::SmallVector<LaneIndex>> bufferIndices(const Access &a, int64_t row, int64_t lane, int64_t width,
                                                            bool clampRange);
  bool inRange(const LaneIndex &index, int64_t width, const fuse::Dim &dim);
  struct Address {
    llvm::Value *pointer;
    int64_t stride; ///< Bytes from lane to lane.
  };
  std::optional<Address> address(const Access &a, int64_t row, int64_t lane, int64_t width, bool clampRange);
  std::optional<Address> rowsAddress(const Access &a, llvm::ArrayRef<LaneIndex> at);
  IndexValue pageNumber(const BufferView &table, const IndexValue &sequence, const IndexValue &block);
  std::optional<Address> pagedAddress(const Access &a, llvm::ArrayRef<LaneIndex> at, int64_t width);
  llvm::Value *loadPiece(const Access &a, int64_t row, int64_t lane, int64_t width);
  llvm::Value *loadScalar(const Access &a, int64_t row, int64_t lane);
  llvm::Value *loadPieceAnyway(const Access &a, int64_t row, int64_t lane, int64_t width);
  llvm::Value *loadScalarAnyway(const Access &a, int64_t row, int64_t lane);
  llvm::Value *zeroBeyondRows(const Access &a, int64_t row, llvm::Value *loaded);
  llvm::Value *loadElements(const Access &a, llvm::Value *pointer, int64_t width);
  llvm::Type *memoryType(const BufferView &buffer);
  int64_t memoryBytes(const BufferView &buffer);

  // Packed weights.
  llvm::Value *loadPanel(const Access &a, int64_t row, int64_t lane, int64_t width);
  llvm::Value *decodePanelLanes(const BufferView &buffer, const IndexValue &n, const IndexValue &k, int64_t width);
  llvm::Value *decodePanelRow(const BufferView &buffer, const IndexValue &n, const IndexValue &k, int64_t width);
  struct PanelPoint; ///< Where one k (or one element) of a panel lies.
  PanelPoint panelPoint(const BufferView &buffer, const IndexValue &n, const IndexValue &k, int64_t width);
  llvm::Value *panelCode(const PanelPoint &p, bool asTable);
  llvm::Value *panelScale(const PanelPoint &p, bool minimum);
  llvm::Value *panelSection(const PanelPoint &p, const IndexValue &bytes, llvm::Type *scalar, int64_t unit);
  llvm::Value *panelWords(const PanelPoint &p, const IndexValue &bytes);
  llvm::Value *shiftWords(llvm::Value *words, const IndexValue &bits, int64_t left);

  // Products.
  struct DotOperand;
  struct DotTask;
  llvm::SmallVector<tile::DotOp> together(tile::DotOp op);
  DotOperand dotOperand(mlir::Value v);
  llvm::Value *dotElement(const DotOperand &lhs, int64_t m, int64_t k);
  llvm::Value *roundOperand(tile::DotOp op, llvm::Value *v);
  void emitDot(tile::DotOp op);
  void emitPrefetch(const Access &rhs);

  tile::KernelOp kernel;
  const HostLevel &level;
  const LoweringOptions &options;
  llvm::Module &module;
  llvm::LLVMContext &context;
  llvm::IRBuilder<> b;
  IndexMath math;
  llvm::Function *function = nullptr;
  llvm::BasicBlock *entry = nullptr;
  llvm::DenseMap<mlir::Value, Pieces> values;
  llvm::DenseMap<mlir::Value, IndexValue> indexValues;
  llvm::DenseMap<mlir::Value, BufferView> buffers;
  llvm::DenseMap<mlir::StringAttr, llvm::Value *> symbols;
  llvm::SmallVector<IndexValue> origins;
  int64_t scratchSize = 0;
  Status status;
};

} // namespace fusec::codegen
